package workflows

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/workflow"
)

// MakeLink makes an address at which a signal or approval of a run is answered without a token, until it expires.
func (s *Store) MakeLink(ctx context.Context, namespace string, id int64, l workflow.Link) (out workflow.NewLink, err error) {
	if err := l.Validate(); err != nil {
		return out, err
	}
	key := base.NewSecret("")
	out = workflow.NewLink{Name: l.Name, For: l.For, Path: workflow.AnswerPath + key}
	err = s.write(ctx, "make link", func(c *Change) error {
		p, err := c.lockRun(namespace, id)
		if err != nil {
			return err
		}
		if err := p.knows(l.Name); err != nil {
			return err
		}
		if !p.EndedAt.IsZero() {
			return hasEnded(id)
		}
		now := base.Micros(c.Now)
		if _, err := c.Tx.Exec(ctx, `delete from belfry.workflow_links where run_id = $1 and expires_at <= $2`, id, now); err != nil {
			return err
		}
		n, _, err := base.First(ctx, c.Tx, base.ScanInt, `select count(*) from belfry.workflow_links where run_id = $1`, id)
		if err != nil {
			return err
		}
		if n >= workflow.MaxLinks {
			return core.Errorf(core.TooLarge, "workflow run %d has %d links, the most is %d", id, n, workflow.MaxLinks).WithHint("take them back: belfry workflow unlink %d", id)
		}
		out.ExpiresAt = c.Now.Add(l.Valid.D())
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.workflow_links (secret_hash, run_id, name, made_for, expires_at)
			values ($1, $2, $3, $4, $5)`, base.HashSecret(key), id, l.Name, l.For, base.Micros(out.ExpiresAt)); err != nil {
			return err
		}
		note := l.Name + " until " + out.ExpiresAt.UTC().Format(time.RFC3339)
		if l.For != "" {
			note += " for " + l.For
		}
		return c.Audit("link", "workflow-run", p.Namespace, strconv.FormatInt(id, 10), note, nil, nil)
	})
	return out, err
}

// DeleteLinks takes back the links of a run, or those of one signal or approval.
func (s *Store) DeleteLinks(ctx context.Context, namespace string, id int64, name string) (out workflow.Unlinked, err error) {
	err = s.write(ctx, "delete links", func(c *Change) error {
		out = workflow.Unlinked{}
		p, err := c.lockRun(namespace, id)
		if err != nil {
			return err
		}
		if name != "" {
			if err := p.knows(name); err != nil {
				return err
			}
		}
		gone, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			delete from belfry.workflow_links
			where run_id = $1 and (name = $2 or $2 = '')
			returning expires_at`, id, name)
		for _, expires := range gone {
			if expires > base.Micros(c.Now) {
				out.Links++
			}
		}
		if err != nil || len(gone) == 0 {
			return err
		}
		return c.Audit("unlink", "workflow-run", p.Namespace, strconv.FormatInt(id, 10), name, nil, nil)
	})
	return out, err
}

// linkRow is a link as it is kept.
type linkRow struct {
	run       int64
	name, who string
	expiresAt time.Time
}

// link is the link with a key.
func link(ctx context.Context, tx base.Tx, key string, now time.Time) (linkRow, error) {
	l, found, err := base.First(ctx, tx, func(r base.Rows) (l linkRow, err error) {
		var expires int64
		err = r.Scan(&l.run, &l.name, &l.who, &expires)
		l.expiresAt = base.Instant(expires)
		return l, err
	}, `select run_id, name, made_for, expires_at from belfry.workflow_links where secret_hash = $1`, base.HashSecret(key))
	if err == nil && (!found || !l.expiresAt.After(now)) {
		err = core.Errorf(core.NotFound, "no such link is valid").WithHint("ask the sender for another")
	}
	return l, err
}

// Linked is what the link with a key asks. Looking changes nothing.
func (s *Store) Linked(ctx context.Context, key string) (out workflow.Linked, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		l, err := link(ctx, tx, key, now)
		if err != nil {
			return err
		}
		p, found, err := base.First(ctx, tx, scanProgress, selectRuns+` where job_id = $1`, l.run)
		if err != nil {
			return err
		}
		if !found {
			return core.Errorf(core.NotFound, "run %d is no longer kept", l.run)
		}
		out = workflow.Linked{RunID: l.run, Workflow: p.Workflow, Name: l.name, Ended: !p.EndedAt.IsZero(), ExpiresAt: l.expiresAt}
		if at := p.plan.Workflow.Find(l.name); at >= 0 {
			out.Approval, out.State, out.Note = p.plan.Workflow.Steps[at].Approval, p.Steps[at].State, p.Steps[at].Note
		}
		return nil
	})
	return out, err
}

// SendByLink answers what the link with a key asks. The name is that of the link.
func (s *Store) SendByLink(ctx context.Context, key string, sig workflow.Signal) (out workflow.Sent, err error) {
	err = s.write(ctx, "answer by link", func(c *Change) error {
		l, err := link(ctx, c.Tx, key, c.Now)
		if err != nil {
			return err
		}
		sig.Name = l.name
		if err := sig.Validate(); err != nil {
			return err
		}
		actor := "link"
		if l.who != "" {
			actor += ":" + l.who
		}
		c.Ctx = access.WithActor(c.Ctx, actor)
		out, err = c.send(core.AnyNamespace, l.run, sig)
		return err
	})
	return out, err
}

// knows refuses a name that is no signal or approval of the run's workflow.
func (p *progress) knows(name string) error {
	if slices.Contains(p.plan.Signals(), name) {
		return nil
	}
	return core.InvalidField("name", name, fmt.Sprintf("is not a signal of workflow %q", p.Workflow), "it waits for "+core.Or(core.List(p.plan.Signals()), "none"))
}

func hasEnded(run int64) error {
	return core.Errorf(core.Conflict, "workflow run %d has ended", run).WithHint("belfry workflow show %d", run)
}
