package jobs

import (
	"maps"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
	"github.com/belfry-run/belfry/store/windows"
)

// takeKeys claims the idempotency keys of the batch, and then the windows of throttles and debounces for the remaining jobs.
func (e *enqueue) takeKeys() (err error) {
	e.taken, err = keys.Claim(e.Change.Change, len(e.ins), func(i int) (keys.Asked, bool) {
		in := e.ins[i]
		until := e.Now.Add(core.Or(in.window, job.DefaultKeyWindow).D())
		return keys.Asked{Namespace: in.Namespace, Name: in.Key, Job: in.ID, Until: base.Micros(until), Asked: in.asked}, in.Key != ""
	})
	if err != nil {
		return err
	}
	e.shared, err = windows.Take(e.Change.Change, len(e.ins), func(i int) (windows.Request, bool) {
		_, taken := e.taken[i]
		return e.ins[i].request(), !taken
	})
	if err != nil {
		return err
	}
	keys.Follow(e.taken, e.shared.InsteadOf)
	maps.Copy(e.taken, e.shared.Instead)
	return nil
}

// heldBy returns the job that has the active key of a job that was not made; 0: the job was made.
func (e *enqueue) heldBy(in *Insertion) int64 {
	if id := e.held[keys.Active{Namespace: in.Namespace, Key: in.ActiveKey}]; in.ActiveKey != "" && id != in.ID {
		return id
	}
	return 0
}

func (in *Insertion) request() windows.Request {
	return windows.Request{Job: &in.Job, Window: in.shares}
}

// holders finds the jobs that hold the active keys of blocked jobs, and passes the idempotency keys of the blocked jobs on to
// them.
func (c *Change) holders(blocked []*Insertion) (map[keys.Active]int64, error) {
	asked := make([]keys.Active, len(blocked))
	for i, in := range blocked {
		asked[i] = keys.Active{Namespace: in.Namespace, Key: in.ActiveKey}
	}
	held, err := keys.HeldBy(c.Change, asked)
	if err != nil {
		return nil, err
	}
	for i, in := range blocked {
		id, is := held[asked[i]]
		if !is { // the holder ended after the insert; a new try makes a new job
			return nil, base.Freed{Err: core.Errorf(core.Unavailable, "the job with active key %q ended just now", in.ActiveKey).WithHint("try again")}
		}
		if err := keys.Pass(c.Change, in.Namespace, in.Key, id); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// answer returns the requested jobs: new jobs, and jobs that existed already.
func (e *enqueue) answer() ([]job.Enqueued, error) {
	out := make([]job.Enqueued, len(e.ins))
	existing := map[int]int64{}
	instead := map[int64]int64{} // id that was not written -> id that holds its active key
	for i := range e.ins {
		out[i] = job.Enqueued{Job: e.ins[i].Job, Joined: e.shared.Joined(i)}
		if id, ok := e.taken[i]; ok {
			existing[i] = id
		} else if id := e.heldBy(&e.ins[i]); id != 0 {
			existing[i], instead[out[i].Job.ID] = id, id
		}
	}
	for i, id := range existing {
		if holder, ok := instead[id]; ok {
			existing[i] = holder
		}
	}
	if len(existing) == 0 {
		return out, nil
	}
	ids := make([]int64, 0, len(existing))
	for _, id := range existing {
		ids = append(ids, id)
	}
	found, err := e.s.JobsByID(e.Ctx, e.Tx, ids)
	if err != nil {
		return nil, err
	}
	byID := map[int64]job.Job{}
	for _, j := range found {
		byID[j.ID] = j.Job
	}
	for i, id := range existing {
		j, ok := byID[id]
		if !ok { // the job was deleted since; its id shows that it existed
			j = job.Job{ID: id, Namespace: e.ins[i].Namespace, Task: e.ins[i].Task}
		}
		out[i] = job.Enqueued{Job: j, Existing: true, Removed: !ok, Reason: e.shared.Reason(i), Joined: e.shared.Joined(i)}
	}
	return out, nil
}
