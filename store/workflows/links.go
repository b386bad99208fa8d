package workflows

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/links"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

// MakeLink creates an address that answers a signal or approval of a run without a token, until it expires.
func (s *Store) MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (out job.NewLink, err error) {
	if err := l.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "make link", func(c *Change) error {
		p, _, err := c.lockEarly(namespace, id)
		if err != nil {
			return err
		}
		if err := p.checkName(l.Name); err != nil {
			return err
		}
		if !p.EndedAt.IsZero() {
			return hasEnded(id)
		}
		made, note, err := links.Make(c.Change, id, l, "belfry workflow unlink")
		if out = made; err != nil {
			return err
		}
		return c.Audit("link", "workflow-run", p.Namespace, strconv.FormatInt(id, 10), note, nil, nil)
	})
	return out, err
}

// DeleteLinks revokes the links of a run, or the links of one signal or approval.
func (s *Store) DeleteLinks(ctx context.Context, namespace string, id int64, name string) (out job.Unlinked, err error) {
	err = s.write(ctx, "delete links", func(c *Change) error {
		p, _, err := c.lockEarly(namespace, id)
		switch {
		case core.CodeOf(err) == core.Conflict: // it ended before it began, or its task is no longer a workflow: no plan has names
			j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, namespace, id)
			if err != nil {
				return err
			}
			p.Namespace = j.Namespace
		case err != nil:
			return err
		case name != "":
			if err := p.checkName(name); err != nil {
				return err
			}
		}
		valid, all, err := links.Delete(c.Change, id, name)
		if out.Links = valid; err != nil || all == 0 {
			return err
		}
		return c.Audit("unlink", "workflow-run", p.Namespace, strconv.FormatInt(id, 10), name, nil, nil)
	})
	return out, err
}

// Linked returns the question of the link with a key, for a run of a workflow or for a job. It changes nothing.
func (s *Store) Linked(ctx context.Context, key string) (out workflow.Linked, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		l, err := links.Find(ctx, tx, key, now)
		if err != nil {
			return err
		}
		out = workflow.Linked{Name: l.Name, ExpiresAt: l.ExpiresAt}
		p, found, err := base.First(ctx, tx, scanProgress, selectRuns+` where job_id = $1`, l.JobID)
		if err != nil {
			return err
		}
		if !found {
			j, err := s.jobs.ReadJob(ctx, tx, core.AnyNamespace, l.JobID)
			if err != nil {
				return err
			}
			if j.Kind == task.KindWorkflow {
				out, err = s.linkedEarly(ctx, tx, l, j)
				return err
			}
			asked, err := s.steps.Asked(ctx, tx, l, now)
			out.JobID, out.Task, out.Answered, out.Late, out.Ended = l.JobID, asked.Task, asked.Answered, asked.Late, asked.Ended
			return err
		}
		if _, err := p.retried(ctx, tx, now); err != nil {
			return err
		}
		out.RunID, out.Workflow, out.Ended = l.JobID, p.Workflow, !p.EndedAt.IsZero()
		if at := p.plan.Workflow.Find(l.Name); at >= 0 {
			out.Approval, out.State, out.Note = p.plan.Workflow.Steps[at].Approval, p.Steps[at].State, p.Steps[at].Note
		}
		return nil
	})
	return out, err
}

// SendByLink answers the question of the link with a key. The name of the signal is that of the link.
func (s *Store) SendByLink(ctx context.Context, key string, sig workflow.Signal) (out workflow.Sent, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	// The link is looked up by a reader first: guessed keys must not hold up writers.
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		_, err := links.Find(ctx, tx, key, now)
		return err
	}); err != nil {
		return out, err
	}
	err = s.write(ctx, "answer by link", func(c *Change) error {
		l, err := links.Find(ctx, c.Tx, key, c.Now)
		if err != nil {
			return err
		}
		run, err := ofRun(ctx, c.Tx, l.JobID)
		if err != nil {
			return err
		}
		if !run {
			if sig.Reject {
				return core.InvalidField("reject", "true", "is for approvals", fmt.Sprintf("%s is a signal", l.Name))
			}
			sent, err := s.steps.In(c.Change).SignalByLink(l, job.Signal{Input: sig.Input})
			out = workflow.Sent{Taken: sent.Taken && !sent.Existing, Existing: sent.Existing}
			return err
		}
		sig.Name = l.Name
		if err := sig.Validate(); err != nil {
			return err
		}
		links.As(c.Change, l)
		out, err = c.send(core.AnyNamespace, l.JobID, sig)
		return err
	})
	return out, err
}

// checkName rejects a name that is not a signal or approval of the run's workflow.
func (p *progress) checkName(name string) error {
	if slices.Contains(p.plan.Signals(), name) {
		return nil
	}
	return core.InvalidField("name", name, fmt.Sprintf("is not a signal of workflow %q", p.Workflow), "it waits for "+core.Or(core.List(p.plan.Signals()), "none"))
}

func hasEnded(run int64) error {
	return core.Errorf(core.Conflict, "workflow run %d has ended", run).WithHint("belfry workflow show %d", run)
}
