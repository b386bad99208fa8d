// Package links keeps addresses that answer a signal to a job, or an approval, without a token. The rows hold a hash of each
// address, not the address. A link answers until its signal has come, it expires, it is taken back or the job ends.
package links

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Row is a stored link.
type Row struct {
	JobID     int64 // also for a workflow run
	Name      string
	For       string
	ExpiresAt time.Time
}

// Actor returns the actor of an answer by the link.
func (r Row) Actor() string {
	if r.For == "" {
		return "link"
	}
	return "link:" + r.For
}

// Make creates a link to a signal of a job that the transition has locked, and returns a note for the audit log.
func Make(c *base.Change, id int64, l job.Link, unlink string) (out job.NewLink, note string, err error) {
	now := base.Micros(c.Now)
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.links where job_id = $1 and expires_at <= $2`, id, now); err != nil {
		return out, "", err
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select count(*) from belfry.links where job_id = $1`, id)
	if err != nil {
		return out, "", err
	}
	if n >= job.MaxLinks {
		return out, "", core.Errorf(core.TooLarge, "job %d has %d links, the most is %d", id, n, job.MaxLinks).WithHint("take them back: %s %d", unlink, id)
	}
	key := base.NewSecret("")
	out = job.NewLink{Name: l.Name, For: l.For, Path: job.AnswerPath + key, ExpiresAt: c.Now.Add(l.Valid.D())}
	note = l.Name + " until " + core.Stamp(out.ExpiresAt)
	if l.For != "" {
		note += " for " + l.For
	}
	_, err = c.Tx.Exec(c.Ctx, `
		insert into belfry.links (secret_hash, job_id, name, made_for, expires_at)
		values ($1, $2, $3, $4, $5)`, base.HashSecret(key), id, l.Name, l.For, base.Micros(out.ExpiresAt))
	return out, note, err
}

// Delete deletes the links of a job, or those of one signal. It returns how many of them were valid.
func Delete(c *base.Change, id int64, name string) (valid, all int, err error) {
	gone, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		delete from belfry.links
		where job_id = $1 and (name = $2 or $2 = '')
		returning expires_at`, id, name)
	for _, expires := range gone {
		if expires > base.Micros(c.Now) {
			valid++
		}
	}
	return valid, len(gone), err
}

// Find returns the link with a key.
func Find(ctx context.Context, tx base.Tx, key string, now time.Time) (Row, error) {
	l, found, err := base.First(ctx, tx, func(r base.Rows) (l Row, err error) {
		return l, r.Scan(&l.JobID, &l.Name, &l.For, base.ScanTime(&l.ExpiresAt))
	}, `select job_id, name, made_for, expires_at from belfry.links where secret_hash = $1`, base.HashSecret(key))
	if err == nil && (!found || !l.ExpiresAt.After(now)) {
		err = core.Errorf(core.NotFound, "no such link is valid").WithHint("ask the sender for another")
	}
	return l, err
}

// As makes a transition act as the actor of a link.
func As(c *base.Change, l Row) { c.Ctx = access.WithActor(c.Ctx, l.Actor()) }
