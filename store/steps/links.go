package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/links"
	"github.com/belfry-run/belfry/task"
)

// MakeSignalLink creates an address that sends a signal to a job without a token, until it expires.
func (s *Store) MakeSignalLink(ctx context.Context, namespace string, id int64, l job.Link) (out job.NewLink, err error) {
	if err := l.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "make signal link", func(c *Change) error {
		var namespaceOf, note string
		if out, namespaceOf, note, err = c.link(namespace, id, l); err != nil {
			return err
		}
		return c.Audit("link", "job", namespaceOf, fmt.Sprint(id), note, nil, nil)
	})
	return out, err
}

// LinkSignal creates a signal link for the session that holds the job. A lost lease is a [core.Conflict].
func (s *Store) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (out job.NewLink, err error) {
	if err := l.Validate(); err != nil {
		return out, err
	}
	err = s.write(ctx, "link signal", func(c *Change) error {
		if err := c.hold(ref.JobID); err != nil {
			return err
		}
		_, held, err := holderOf(ctx, c.Tx, session, ref)
		if err != nil {
			return err
		}
		if !held {
			return core.Errorf(core.Conflict, "the lease %d on job %d was lost", ref.Lease, ref.JobID).WithHint("stop: another worker may have the job")
		}
		out, _, _, err = c.link(core.AnyNamespace, ref.JobID, l) // not audited: the audit log is for people, and a handler may create many links
		return err
	})
	return out, err
}

func (c *Change) link(namespace string, id int64, l job.Link) (out job.NewLink, of, note string, err error) {
	if err := c.hold(id); err != nil {
		return out, "", "", err
	}
	j, err := c.s.jobs.ReadJob(c.Ctx, c.Tx, namespace, id)
	if err != nil {
		return out, "", "", err
	}
	if err := ofWorkflow(j.Job, "link"); err != nil {
		return out, "", "", err
	}
	if was, found, err := c.signalOf(id, l.Name); err != nil {
		return out, "", "", err
	} else if found {
		return out, "", "", core.Errorf(core.Conflict, "signal %q was sent to job %d already, by %s", l.Name, id, was.By).WithHint("a job takes one signal of each name")
	}
	wait, waits, err := c.stepOf(id, l.Name)
	if err != nil {
		return out, "", "", err
	}
	if err := c.checkSignal(j.Job, l.Name, wait, waits); err != nil {
		return out, "", "", err
	}
	out, note, err = links.Make(c.Change, id, l, "belfry job unlink")
	return out, j.Namespace, note, err
}

// DeleteSignalLinks revokes the links of a job, or the links of one signal.
func (s *Store) DeleteSignalLinks(ctx context.Context, namespace string, id int64, name string) (out job.Unlinked, err error) {
	err = s.write(ctx, "delete signal links", func(c *Change) error {
		if err := c.hold(id); err != nil {
			return err
		}
		j, err := s.jobs.ReadJob(ctx, c.Tx, namespace, id)
		if err != nil {
			return err
		}
		if err := ofWorkflow(j.Job, "unlink"); err != nil {
			return err
		}
		valid, all, err := links.Delete(c.Change, id, name)
		if out.Links = valid; err != nil || all == 0 {
			return err
		}
		return c.Audit("unlink", "job", j.Namespace, fmt.Sprint(id), name, nil, nil)
	})
	return out, err
}

// ofWorkflow rejects a workflow run, whose links have commands of their own.
func ofWorkflow(j job.Job, verb string) error {
	if j.Kind != task.KindWorkflow {
		return nil
	}
	return core.Errorf(core.Conflict, "job %d is a run of a workflow", j.ID).WithHint("belfry workflow %s %d", verb, j.ID)
}

// Asked is the state of the signal that a link is for.
type Asked struct {
	Task     string
	Answered bool // a signal of that name exists
	Late     bool // the wait timed out without a signal
	Ended    bool // the job has ended
}

// Asked returns the state of the signal that a link is for.
func (s *Store) Asked(ctx context.Context, tx base.Tx, l links.Row, now time.Time) (out Asked, err error) {
	j, err := s.jobs.ReadJob(ctx, tx, core.AnyNamespace, l.JobID)
	if err != nil {
		return out, err
	}
	out = Asked{Task: j.Task, Ended: j.State.Final()}
	if _, out.Answered, err = base.First(ctx, tx, scanSignal, selectSignal, l.JobID, l.Name); err != nil || out.Answered {
		return out, err
	}
	step, recorded, err := base.First(ctx, tx, scan, selectNamed, l.JobID, l.Name)
	out.Late = recorded && (step.Kind != job.StepSignal || !step.EndedAt.IsZero() || !step.WakeAt.After(now))
	return out, err
}

// SignalByLink sends the signal of a link.
func (c *Change) SignalByLink(l links.Row, sig job.Signal) (job.SentSignal, error) {
	sig = sig.WithDefaults()
	sig.Name = l.Name
	if err := sig.Validate(); err != nil {
		return job.SentSignal{}, err
	}
	links.As(c.Change, l)
	return c.signal(core.AnyNamespace, l.JobID, sig)
}
