package programs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// How bytes are collected.
//
// A reference is a row: of an artifact, or of another noun that names bytes by their
// digest and is known to artifactsInUse. A transition that relies on bytes commits the
// reference first, asks then whether they are being removed, and looks for them
// last. A removal of bytes commits that it begins, asks then again whether there
// is a reference, and removes them last. So either it sees the reference, or the
// other sees that it has begun, whatever happens in between and on which node.

// removalDead is the age from which a removal is one whose node has died. The
// engine stops one after half of that.
const removalDead = 10 * time.Minute

// notBeingRemoved refuses to rely on bytes that are being removed now. A node
// that died in the midst of that must not keep them from coming back for ever.
func (s *Store) notBeingRemoved(ctx context.Context, name string) error {
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	return s.DB().Read(ctx, func(tx base.Tx) error {
		_, found, err := base.First(ctx, tx, base.ScanInt, `select begun_at from belfry.artifact_removals where name = $1 and begun_at >= $2`, name, base.Micros(now.Add(-removalDead)))
		if err == nil && found {
			err = core.Errorf(core.Unavailable, "older bytes of artifact %s are being removed just now", name[strings.IndexByte(name, '/')+1:]).WithHint("try again in a minute")
		}
		return err
	})
}

// ArtifactsInUse answers which of some bytes anything refers to.
func (s *Store) ArtifactsInUse(ctx context.Context, names []string) (used []string, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		used, err = s.artifactsInUse(ctx, tx, names)
		return err
	})
	return used, err
}

// references are the queries that find the names of bytes that something refers
// to, by their digests. Every kind of reference stands here.
var references = []string{
	`select namespace || '/' || sha256 from belfry.artifacts where `, // of tasks, of uploads under way, and of attempts within retention
	`select namespace || '/' || sha256 from belfry.outputs where `,
}

func (s *Store) artifactsInUse(ctx context.Context, tx base.Tx, names []string) ([]string, error) {
	asked, digests := make(map[string]bool, len(names)), make([]string, len(names))
	for i, name := range names {
		asked[name], digests[i] = true, name[strings.IndexByte(name, '/')+1:]
	}
	var used []string
	for _, query := range references {
		found, err := base.Collect(ctx, tx, base.ScanString, query+s.SQL.In("sha256", 1), s.SQL.List(base.Unique(digests)))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if asked[name] {
				used = append(used, name)
			}
		}
	}
	return base.Unique(used), nil
}

// pruneBatch bounds the artifacts that are given up in one transaction.
const pruneBatch = 500

// PruneArtifacts gives up artifacts that no task names: those that were never
// uploaded [base.Keep.Uploads] after they were announced or let go of, and the others
// when no attempt within retention can have run them. It does a bounded part.
func (s *Store) PruneArtifacts(ctx context.Context) (more bool, err error) {
	err = s.write(ctx, "prune artifacts", func(c *Change) error {
		unposted, posted := base.Micros(c.Now.Add(-s.Opt.Keep.Uploads)), base.Micros(c.Now.Add(-max(s.Opt.Keep.Age, 24*time.Hour)))
		// A task that is saved now holds the row that it names, and is seen once we
		// have it: whether there is one is asked again under the lock.
		rows, err := base.Collect(ctx, c.Tx, scanArtifact, `
			select `+artifactColumns+`
			from belfry.artifacts a
			where (a.posted_at = 0 and a.created_at < $1 and a.freed_at < $1 or a.posted_at > 0 and a.posted_at < $2 and a.freed_at < $2)
				and not exists (select 1 from belfry.tasks t where t.namespace = a.namespace and t.artifact = a.sha256 and t.artifact <> '')
			order by a.namespace, a.sha256
			limit $3`+s.SQL.SkipLocked("a"), unposted, posted, pruneBatch)
		if err != nil {
			return err
		}
		more = len(rows) == pruneBatch
		for _, a := range rows {
			n, err := c.Tx.Exec(ctx, `
				delete from belfry.artifacts
				where namespace = $1 and sha256 = $2
					and not exists (select 1 from belfry.tasks t where t.namespace = $1 and t.artifact = $2 and t.artifact <> '')`, a.Namespace, a.SHA256)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := c.Audit("collect", "artifact", a.Namespace, a.SHA256, "no task names it", a, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return more, err
}

// BeginRemoval answers which of some bytes may be removed: nothing refers to
// them, and nothing will rely on their bytes until [base.Store.EndRemoval].
func (s *Store) BeginRemoval(ctx context.Context, names []string) (free []string, err error) {
	used, err := s.ArtifactsInUse(ctx, names)
	if err != nil {
		return nil, err
	}
	names = Without(names, used)
	if len(names) == 0 {
		return nil, nil
	}
	type row struct {
		Name string `json:"name"`
	}
	err = s.write(ctx, "begin removal", func(c *Change) error {
		rows := make([]row, len(names))
		for i, d := range names {
			rows[i] = row{d}
		}
		from, args := s.SQL.Table(3, "t", base.BatchOf(rows))
		free, err = base.Collect(ctx, c.Tx, base.ScanString, `
			insert into belfry.artifact_removals (name, begun_at)
			select name, $1
			from `+from+`
			where true
			on conflict (name) do update
			set begun_at = excluded.begun_at
			where belfry.artifact_removals.begun_at < $2
			returning name`, append([]any{base.Micros(c.Now), base.Micros(c.Now.Add(-removalDead))}, args...)...)
		return err
	})
	if err != nil || len(free) == 0 {
		return nil, err
	}
	if used, err = s.ArtifactsInUse(ctx, free); err != nil || len(used) == 0 {
		return free, err
	}
	return Without(free, used), s.EndRemoval(ctx, used)
}

// EndRemoval says that a removal is over, whatever came of it.
func (s *Store) EndRemoval(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return s.write(ctx, "end removal", func(c *Change) error {
		_, err := c.Tx.Exec(ctx, `delete from belfry.artifact_removals where `+c.SQL.In("name", 1), c.SQL.List(names))
		return err
	})
}

func Without(all, some []string) []string {
	var rest []string
	for _, v := range all {
		if !slices.Contains(some, v) {
			rest = append(rest, v)
		}
	}
	return rest
}
