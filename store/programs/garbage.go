package programs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// Collection of bytes.
//
// A reference is a row: an artifact, or another object that names bytes by their digest and is known to artifactsInUse. A
// transition that relies on bytes first commits the reference, then asks whether the bytes are being removed, and last looks
// for the bytes. A removal first commits its begin, then asks again whether there is a reference, and last removes the bytes.
// So either the removal sees the reference, or the other side sees the removal, in any order and on any nodes.

// removalDead is the age at which a removal counts as abandoned by a dead node. The engine stops a removal after half of that.
const removalDead = 10 * time.Minute

// notBeingRemoved returns an error for bytes that are being removed now. A removal by a dead node does not block the bytes for
// ever.
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

// ArtifactsInUse returns the names of the bytes that have a reference.
func (s *Store) ArtifactsInUse(ctx context.Context, names []string) (used []string, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		used, err = s.artifactsInUse(ctx, tx, names)
		return err
	})
	return used, err
}

// references are the queries for the names of bytes that have a reference, by digest. Every kind of reference is listed here.
var references = []string{
	`select namespace || '/' || sha256 from belfry.artifacts where `, // of tasks, uploads in progress, and attempts within retention
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

// pruneBatch bounds the artifacts that one transaction deletes.
const pruneBatch = 500

// PruneArtifacts deletes artifacts that no task refers to, a bounded number at a time. An artifact that was never uploaded is
// deleted [base.Keep.Uploads] after its announcement or its release by a task. An uploaded one is deleted when no attempt
// within retention can have run it.
func (s *Store) PruneArtifacts(ctx context.Context) (more bool, err error) {
	err = s.write(ctx, "prune artifacts", func(c *Change) error {
		unposted, posted := base.Micros(c.Now.Add(-s.Opt.Keep.Uploads)), base.Micros(c.Now.Add(-max(s.Opt.Keep.Age, 24*time.Hour)))
		// A task that is being saved holds the row of its artifact, and is visible after this lock. So the condition is checked
		// again under the lock.
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

// BeginRemoval returns the names of the bytes that may be removed: they have no reference, and nothing will rely on them until
// [Store.EndRemoval].
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

// EndRemoval records that a removal is over, whatever its outcome.
func (s *Store) EndRemoval(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return s.write(ctx, "end removal", func(c *Change) error {
		_, err := c.Tx.Exec(ctx, `delete from belfry.artifact_removals where `+c.SQL.In("name", 1), c.SQL.List(names))
		return err
	})
}

// Without returns the elements of all that are not in some, in their order.
func Without(all, some []string) []string {
	var rest []string
	for _, v := range all {
		if !slices.Contains(some, v) {
			rest = append(rest, v)
		}
	}
	return rest
}
