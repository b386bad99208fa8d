package jobs

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/keys"
)

// takeKeys claims the idempotency keys of the batch, as far as no job has them already: an earlier one of the batch
// counts.
func (e *enqueue) takeKeys() error {
	taken, places := map[int]int64{}, map[[2]string]int{}
	e.taken = taken
	var rows []keys.Row
	for i, in := range e.ins {
		if in.Key == "" {
			continue
		}
		key := [2]string{in.Namespace, in.Key}
		if k, dup := places[key]; dup {
			if e.ins[k].asked != in.asked {
				return base.ErrOtherRequest(in.Key, e.ins[k].ID)
			}
			taken[i] = e.ins[k].ID
			continue
		}
		places[key] = i
		window := in.window
		if window == 0 {
			window = job.DefaultKeyWindow
		}
		rows = append(rows, keys.Row{Namespace: in.Namespace, Name: in.Key, JobID: in.ID, ExpiresAt: base.Micros(e.Now.Add(window.D())), Asked: in.asked})
	}
	if len(rows) == 0 {
		return nil
	}
	holders, err := keys.Take(e.Change.Change, rows)
	if err != nil {
		return err
	}
	first := map[int64]int64{} // id that was meant for a key -> id that has it
	for _, h := range holders {
		i := places[[2]string{h.Namespace, h.Name}]
		if h.JobID != e.ins[i].ID {
			if h.Asked != e.ins[i].asked {
				return base.ErrOtherRequest(h.Name, h.JobID)
			}
			taken[i] = h.JobID
			first[e.ins[i].ID] = h.JobID
		}
	}
	for i, id := range taken {
		if holder, ok := first[id]; ok {
			taken[i] = holder
		}
	}
	return nil
}

// holders finds who has the active keys of jobs that were not written, and
// passes on to them the idempotency keys that were taken for those.
func (c *Change) holders(blocked []*Insertion) (map[[2]string]int64, error) {
	held := map[[2]string]int64{}
	for _, in := range blocked {
		id, found, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.jobs
			where namespace = $1 and active_key = $2`, in.Namespace, in.ActiveKey)
		if err != nil {
			return nil, err
		}
		if !found { // it ended between our insert and this look, and asking again makes a new job
			return nil, base.Freed{Err: core.Errorf(core.Unavailable, "the job with active key %q ended just now", in.ActiveKey).WithHint("try again")}
		}
		held[[2]string{in.Namespace, in.ActiveKey}] = id
		if in.Key != "" {
			if err := keys.Pass(c.Change, in.Namespace, in.Key, id); err != nil {
				return nil, err
			}
		}
	}
	return held, nil
}

// answer is the jobs that were asked for: new ones, and those that were there already.
func (e *enqueue) answer() ([]job.Enqueued, error) {
	out := make([]job.Enqueued, len(e.ins))
	existing := map[int]int64{}
	instead := map[int64]int64{} // id that was not written -> id that holds its active key
	for i, in := range e.ins {
		out[i].Job = in.Job
		if id, ok := e.taken[i]; ok {
			existing[i] = id
		} else if id, ok := e.held[[2]string{in.Namespace, in.ActiveKey}]; ok && in.ActiveKey != "" && id != in.ID {
			existing[i], instead[in.ID] = id, id
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
		if !ok { // retention took the row; its id still says that it ran
			j = job.Job{ID: id, Namespace: e.ins[i].Namespace, Task: e.ins[i].Task}
		}
		out[i] = job.Enqueued{Job: j, Existing: true}
	}
	return out, nil
}
