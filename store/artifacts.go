package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Bytes is where artifacts lie. Package blob has it; app plugs it in. A name is a
// namespace, a slash and a digest: bytes that one namespace has sent are not
// there for another, which so learns nothing of them and gets none.
type Bytes interface {
	// SignPut makes a link that takes exactly these bytes.
	SignPut(ctx context.Context, name string, size int64, expires time.Duration) (task.SignedRequest, error)
	// SignGet makes a link that gives them.
	SignGet(ctx context.Context, name string, expires time.Duration) (task.SignedRequest, error)
	// Has tells whether bytes of this size are there, without reading them.
	Has(ctx context.Context, name string, size int64) (bool, error)
	// Verify makes sure that exactly these bytes are there: [core.NotFound] or
	// [core.Conflict] otherwise.
	Verify(ctx context.Context, name string, size int64) error
}

// bytesName is what a namespace's bytes are called by.
func bytesName(namespace, digest string) string { return namespace + "/" + digest }

func (s *Store) bytes() (Bytes, error) {
	if s.opt.Bytes == nil {
		return nil, core.Errorf(core.Unavailable, "this installation keeps no artifacts").
			WithHint("set artifacts to s3://BUCKET?region=…, or to a folder that all nodes share")
	}
	return s.opt.Bytes, nil
}

const artifactColumns = `a.namespace, a.sha256, a.size, a.created_at, a.posted_at, a.posted_by`

func scanArtifact(rows Rows) (a task.Artifact, err error) {
	return a, rows.Scan(&a.Namespace, &a.SHA256, &a.Size, scanTime(&a.CreatedAt), scanTime(&a.PostedAt), &a.PostedBy)
}

func noArtifact(namespace, digest string) error {
	return core.Errorf(core.NotFound, "no artifact %s in namespace %q", digest, namespace).WithHint("see: belfry artifact list")
}

// CreateArtifact announces bytes by their digest and size, and answers a link
// to send them, unless they are there. Announced again, it gives another link.
func (s *Store) CreateArtifact(ctx context.Context, a task.Artifact) (task.Upload, error) {
	a = a.WithDefaults()
	if err := a.Validate(); err != nil {
		return task.Upload{}, err
	}
	if _, err := s.bytes(); err != nil { // before there is a row that nobody could fill
		return task.Upload{}, err
	}
	err := s.write(ctx, "create artifact", func(c *change) error {
		made, err := c.refer(a.Namespace, a.SHA256, a.Size)
		if err != nil || !made {
			return err
		}
		return c.audit("create", "artifact", a.Namespace, a.SHA256, "", nil, a)
	})
	if err != nil {
		return task.Upload{}, err
	}
	return s.ArtifactUpload(ctx, a.Namespace, a.SHA256)
}

// ArtifactUpload is an artifact with a link to send it, unless it is there. One
// that was posted and has gone from the disk since gets a link as well, so that
// pushing it again mends it.
func (s *Store) ArtifactUpload(ctx context.Context, namespace, digest string) (u task.Upload, err error) {
	if u.Artifact, err = s.Artifact(ctx, namespace, digest); err != nil {
		return u, err
	}
	bytes, err := s.bytes()
	if err != nil {
		return u, err
	}
	if !u.Artifact.PostedAt.IsZero() {
		there, err := bytes.Has(ctx, bytesName(namespace, digest), u.Artifact.Size)
		if err != nil || there {
			return u, err
		}
	}
	link, err := bytes.SignPut(ctx, bytesName(namespace, digest), u.Artifact.Size, task.UploadLink)
	u.Link = &link
	return u, err
}

// refer makes a namespace's row of an artifact, or locks the one that is there:
// until this transaction ends nobody deletes it. It refuses another size than
// the one that is known. It answers whether the row is new.
func (c *change) refer(namespace, digest string, size int64) (made bool, err error) {
	type found struct{ size, created, posted int64 }
	a, there, err := first(c.ctx, c.tx, func(r Rows) (f found, err error) {
		return f, r.Scan(&f.size, &f.created, &f.posted)
	}, `
		insert into belfry.artifacts (namespace, sha256, size, created_at)
		values ($1, $2, $3, $4)
		on conflict (namespace, sha256) do update
		set size = belfry.artifacts.size
		returning size, created_at, posted_at`, namespace, digest, size, micros(c.now))
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
	return a.created == micros(c.now) && a.posted == 0, nil
}

// ConfirmArtifact looks whether the bytes of an artifact have arrived, compares
// them with its digest, and lets the jobs go that waited for them. Asked again,
// it answers the same.
func (s *Store) ConfirmArtifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if a, err = s.Artifact(ctx, namespace, digest); err != nil || !a.PostedAt.IsZero() {
		return a, err
	}
	bytes, err := s.bytes()
	if err != nil {
		return a, err
	}
	// The row is there, and it was committed before this look: who removes bytes
	// either has begun, and is seen, or will see the row and leave them alone.
	if err := s.notBeingRemoved(ctx, bytesName(namespace, digest)); err != nil {
		return a, err
	}
	if err := bytes.Verify(ctx, bytesName(namespace, digest), a.Size); core.CodeOf(err) == core.NotFound {
		return a, core.Errorf(core.Conflict, "the bytes of artifact %s have not arrived", digest).
			WithHint("send them to the link that the upload was answered with; belfry program push does all of it")
	} else if err != nil {
		return a, err
	}
	err = s.write(ctx, "confirm artifact", func(c *change) error {
		n, err := c.tx.Exec(ctx, `
			update belfry.artifacts
			set posted_at = $3, posted_by = $4
			where namespace = $1 and sha256 = $2 and posted_at = 0`, namespace, digest, micros(c.now), access.ActorOf(ctx))
		if err != nil || n == 0 { // somebody else did, or it was deleted: the look below tells
			return err
		}
		if err := c.releaseUploads(`(select id from belfry.tasks where namespace = $2 and artifact = $3 and artifact <> '')`, namespace, digest); err != nil {
			return err
		}
		return c.audit("post", "artifact", namespace, digest, "", nil, nil)
	})
	if err != nil {
		return a, err
	}
	return s.Artifact(ctx, namespace, digest)
}

// Artifact is one artifact, with the tasks that run it.
func (s *Store) Artifact(ctx context.Context, namespace, digest string) (a task.Artifact, err error) {
	if err := task.CheckDigest(digest); err != nil {
		return a, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		found := false
		a, found, err = first(ctx, tx, scanArtifact, `select `+artifactColumns+` from belfry.artifacts a where a.namespace = $1 and a.sha256 = $2`, namespace, digest)
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

// shownTasks bounds the tasks that are shown of a thing they use.
const shownTasks = 10

func tasksOf(ctx context.Context, tx Tx, namespace, digest string) ([]string, error) {
	return collect(ctx, tx, scanString, `
		select name
		from belfry.tasks
		where namespace = $1 and artifact = $2 and artifact <> ''
		order by name
		limit `+strconv.Itoa(shownTasks), namespace, digest)
}

// Artifacts lists artifacts by namespace and digest.
func (s *Store) Artifacts(ctx context.Context, f view.DocumentFilter) (p core.Page[task.Artifact], err error) {
	w, limit, err := pairWhere(f.Namespace, "sha256", f.Paging)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, scanArtifact, `
			select `+artifactColumns+`
			from belfry.artifacts a
			where `+w.sql()+`
			order by a.namespace, a.sha256
			limit `+strconv.Itoa(limit+1), w.args...)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Tasks, err = tasksOf(ctx, tx, all[i].Namespace, all[i].SHA256); err != nil {
				return err
			}
		}
		p = page(all, limit, func(a task.Artifact) string { return encodeCursor(a.Namespace, a.SHA256) })
		return nil
	})
	return p, err
}

// DeleteArtifact gives up a namespace's artifact that no task names. Its bytes
// go at the next collection.
func (s *Store) DeleteArtifact(ctx context.Context, namespace, digest string) error {
	if err := task.CheckDigest(digest); err != nil {
		return err
	}
	return s.write(ctx, "delete artifact", func(c *change) error {
		a, found, err := first(ctx, c.tx, scanArtifact, `select `+artifactColumns+` from belfry.artifacts a where a.namespace = $1 and a.sha256 = $2`+c.sql.ForUpdate("a"), namespace, digest)
		if err == nil && !found {
			err = noArtifact(namespace, digest)
		}
		if err != nil {
			return err
		}
		users, err := tasksOf(ctx, c.tx, namespace, digest)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return core.Errorf(core.Conflict, "task %q runs artifact %s", users[0], digest).
				WithHint("give the task another program first, or delete it: belfry program delete %s", users[0])
		}
		if _, err := c.tx.Exec(ctx, `delete from belfry.artifacts where namespace = $1 and sha256 = $2`, namespace, digest); err != nil {
			return err
		}
		return c.audit("delete", "artifact", namespace, digest, "", a, nil)
	})
}

// artifactOf is the digest of what a task runs, or nothing.
func artifactOf(t task.Task) string {
	if t.Program == nil || t.Kind != task.KindProgram {
		return ""
	}
	return t.Program.SHA256
}

// referTask makes sure that there is a row for what a task runs.
func (c *change) referTask(t task.Task) error {
	digest := artifactOf(t)
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

// letGo notes that a task does not run an artifact any more. It is kept for as
// long as attempts are that may have run it.
func (c *change) letGo(t task.Task) error {
	digest := artifactOf(t)
	if digest == "" {
		return nil
	}
	_, err := c.tx.Exec(c.ctx, `update belfry.artifacts set freed_at = $3 where namespace = $1 and sha256 = $2`, t.Namespace, digest, micros(c.now))
	return err
}
