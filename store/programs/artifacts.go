package programs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// BytesName returns the storage name of bytes of a namespace.
func BytesName(namespace, digest string) string { return namespace + "/" + digest }

// Bytes returns the store of artifact bytes, or [core.Unavailable] if the installation has none.
func (s *Store) Bytes() (base.Bytes, error) {
	if s.Opt.Bytes == nil {
		return nil, core.Errorf(core.Unavailable, "this installation keeps no artifacts").
			WithHint("set artifacts to s3://BUCKET?region=…, or to a folder that all nodes share")
	}
	return s.Opt.Bytes, nil
}

const artifactColumns = `a.namespace, a.sha256, a.size, a.created_at, a.posted_at, a.posted_by`

func scanArtifact(rows base.Rows) (a task.Artifact, err error) {
	return a, rows.Scan(&a.Namespace, &a.SHA256, &a.Size, base.ScanTime(&a.CreatedAt), base.ScanTime(&a.PostedAt), &a.PostedBy)
}

func noArtifact(namespace, digest string) error {
	return core.Errorf(core.NotFound, "no artifact %s in namespace %q", digest, namespace).WithHint("see: belfry artifact list")
}

// CreateArtifact announces bytes by their digest and size. It returns a link for the upload, unless the bytes are uploaded. A
// repeated announcement returns another link.
func (s *Store) CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error) {
	a = a.WithDefaults()
	if err := a.Validate(); err != nil {
		return task.Upload{}, err
	}
	if _, err := s.Bytes(); err != nil { // before a row is created that cannot be filled
		return task.Upload{}, err
	}
	err := s.write(ctx, "create artifact", func(c *Change) error {
		made, err := c.refer(a.Namespace, a.SHA256, a.Size)
		if err != nil || !made {
			return err
		}
		return c.Audit("create", "artifact", a.Namespace, a.SHA256, "", nil, a)
	})
	if err != nil {
		return task.Upload{}, err
	}
	return s.ArtifactUpload(ctx, a.Namespace, a.SHA256)
}

// ArtifactUpload returns an artifact with a link for its upload, unless its bytes are stored. An uploaded artifact whose bytes
// have disappeared from the disk also gets a link, so that another push restores it.
func (s *Store) ArtifactUpload(ctx context.Context, namespace, digest string) (u task.Upload, err error) {
	if u.Artifact, err = s.Artifact(ctx, namespace, digest); err != nil {
		return u, err
	}
	bytes, err := s.Bytes()
	if err != nil {
		return u, err
	}
	if !u.Artifact.PostedAt.IsZero() {
		there, err := bytes.Has(ctx, BytesName(namespace, digest), u.Artifact.Size)
		if err != nil || there {
			return u, err
		}
	}
	link, err := bytes.SignPut(ctx, BytesName(namespace, digest), u.Artifact.Size, task.UploadLink)
	u.Link = &link
	return u, err
}

// refer creates a namespace's row of an artifact, or locks the existing row: it cannot be deleted until this transaction ends.
// It rejects a size that differs from the known one. It reports whether the row is new.
func (c *Change) refer(namespace, digest string, size int64) (made bool, err error) {
	type found struct{ size, created, posted int64 }
	a, there, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (f found, err error) {
		return f, r.Scan(&f.size, &f.created, &f.posted)
	}, `
		insert into belfry.artifacts (namespace, sha256, size, created_at)
		values ($1, $2, $3, $4)
		on conflict (namespace, sha256) do update
		set size = belfry.artifacts.size
		returning size, created_at, posted_at`, namespace, digest, size, base.Micros(c.Now))
	if err != nil || !there {
		return false, err
	}
	if a.size != size {
		e := core.Errorf(core.Conflict, "artifact %s has %d bytes, not %d", digest, a.size, size)
		if a.posted == 0 {
			return false, e.WithHint("that is what was announced; if it was wrong: belfry artifact delete %s", digest)
		}
		return false, e.WithHint("use the size that sha256sum's file has")
	}
	return a.created == base.Micros(c.Now) && a.posted == 0, nil
}

// ConfirmArtifact verifies that the bytes of an artifact have arrived and match its digest, and releases the jobs that wait for
// them. It is idempotent.
func (s *Store) ConfirmArtifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if a, err = s.Artifact(ctx, namespace, digest); err != nil || !a.PostedAt.IsZero() {
		return a, err
	}
	bytes, err := s.Bytes()
	if err != nil {
		return a, err
	}
	// The row was committed before this look. A removal of the bytes either has begun and is seen here, or will see the row and
	// keep the bytes.
	if err := s.notBeingRemoved(ctx, BytesName(namespace, digest)); err != nil {
		return a, err
	}
	if err := bytes.Verify(ctx, BytesName(namespace, digest), a.Size); core.CodeOf(err) == core.NotFound {
		return a, core.Errorf(core.Conflict, "the bytes of artifact %s have not arrived", digest).
			WithHint("send them to the link that the upload was answered with; belfry program push does all of it")
	} else if err != nil {
		return a, err
	}
	err = s.write(ctx, "confirm artifact", func(c *Change) error {
		n, err := c.Tx.Exec(ctx, `
			update belfry.artifacts
			set posted_at = $3, posted_by = $4
			where namespace = $1 and sha256 = $2 and posted_at = 0`, namespace, digest, base.Micros(c.Now), access.ActorOf(ctx))
		if err != nil || n == 0 { // another transaction confirmed or deleted it: the read below shows which
			return err
		}
		if err := c.releaseUploads(`(select id from belfry.tasks where namespace = $2 and artifact = $3 and artifact <> '')`, namespace, digest); err != nil {
			return err
		}
		return c.Audit("post", "artifact", namespace, digest, "", nil, nil)
	})
	if err != nil {
		return a, err
	}
	return s.Artifact(ctx, namespace, digest)
}

// Artifact returns one artifact, with the tasks that run it.
func (s *Store) Artifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if err := task.CheckDigest(digest); err != nil {
		return a, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		found := false
		a, found, err = base.First(ctx, tx, scanArtifact, `select `+artifactColumns+` from belfry.artifacts a where a.namespace = $1 and a.sha256 = $2`, namespace, digest)
		if err == nil && !found {
			err = noArtifact(namespace, digest)
		}
		if err != nil {
			return err
		}
		a.Tasks, err = tasksOf(ctx, tx, namespace, digest)
		return err
	})
	return a, err
}

// shownTasks bounds the tasks listed for an artifact or secret.
const shownTasks = 10

func tasksOf(ctx context.Context, tx base.Tx, namespace, digest string) ([]string, error) {
	return base.Collect(ctx, tx, base.ScanString, `
		select name
		from belfry.tasks
		where namespace = $1 and artifact = $2 and artifact <> ''
		order by name
		limit `+strconv.Itoa(shownTasks), namespace, digest)
}

// Artifacts lists artifacts by namespace and digest.
func (s *Store) Artifacts(ctx context.Context, f view.DocumentFilter) (p core.Page[task.Artifact], err error) {
	w, limit, err := base.PairWhere(f.Namespace, "sha256", f.Paging)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err := base.Collect(ctx, tx, scanArtifact, `
			select `+artifactColumns+`
			from belfry.artifacts a
			where `+w.Sql()+`
			order by a.namespace, a.sha256
			limit `+strconv.Itoa(limit+1), w.Args...)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Tasks, err = tasksOf(ctx, tx, all[i].Namespace, all[i].SHA256); err != nil {
				return err
			}
		}
		p = base.Page(all, limit, func(a task.Artifact) string { return base.EncodeCursor(a.Namespace, a.SHA256) })
		return nil
	})
	return p, err
}

// DeleteArtifact deletes a namespace's artifact that no task refers to. The next collection deletes its bytes.
func (s *Store) DeleteArtifact(ctx context.Context, namespace, digest string) error {
	if err := task.CheckDigest(digest); err != nil {
		return err
	}
	return s.write(ctx, "delete artifact", func(c *Change) error {
		a, found, err := base.First(ctx, c.Tx, scanArtifact, `select `+artifactColumns+` from belfry.artifacts a where a.namespace = $1 and a.sha256 = $2`+c.SQL.ForUpdate("a"), namespace, digest)
		if err == nil && !found {
			err = noArtifact(namespace, digest)
		}
		if err != nil {
			return err
		}
		users, err := tasksOf(ctx, c.Tx, namespace, digest)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return core.Errorf(core.Conflict, "task %q runs artifact %s", users[0], digest).
				WithHint("give the task another program first, or delete it: belfry program delete %s", users[0])
		}
		if _, err := c.Tx.Exec(ctx, `delete from belfry.artifacts where namespace = $1 and sha256 = $2`, namespace, digest); err != nil {
			return err
		}
		return c.Audit("delete", "artifact", namespace, digest, "", a, nil)
	})
}

// ReferTask ensures that the artifact of a task has a row.
func (c *Change) ReferTask(t task.Task) error {
	digest := tasks.ArtifactOf(t)
	if digest == "" {
		return nil
	}
	_, err := c.refer(t.Namespace, digest, t.Program.Size)
	var refused *core.Error
	if errors.As(err, &refused) && refused.Code == core.Conflict {
		refused.Message = fmt.Sprintf("program.size of task %q: %s", t.Name, refused.Message)
	}
	return err
}

// ReleaseArtifact records that a task no longer runs an artifact. The artifact is kept as long as attempts that may have run
// it.
func (c *Change) ReleaseArtifact(t task.Task) error {
	digest := tasks.ArtifactOf(t)
	if digest == "" {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `update belfry.artifacts set freed_at = $3 where namespace = $1 and sha256 = $2`, t.Namespace, digest, base.Micros(c.Now))
	return err
}
