package brokertest

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Steps implements [job.StepKeeper].
func (b *Broker) Steps(ctx context.Context, session string, ref job.Ref) (job.StepList, error) {
	if err := b.before(ctx, "steps"); err != nil {
		return job.StepList{}, err
	}
	b.mu.Lock()
	b.releaseLost()
	out := job.StepList{Now: time.Now(), Stale: !b.holds(session, ref)}
	if !out.Stale {
		out.Steps = append(out.Steps, b.steps[ref.JobID]...)
	}
	b.mu.Unlock()
	return out, b.after(ctx, "steps")
}

// SaveStep implements [job.StepKeeper].
func (b *Broker) SaveStep(ctx context.Context, session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	if err := b.before(ctx, "save step"); err != nil {
		return out, err
	}
	b.mu.Lock()
	b.releaseLost()
	out, err = b.saveStep(session, ref, n.WithDefaults())
	b.mu.Unlock()
	if err != nil {
		return out, err
	}
	return out, b.after(ctx, "save step")
}

func (b *Broker) saveStep(session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	if err := n.Validate(); err != nil {
		return out, err
	}
	have := b.steps[ref.JobID]
	if n.Number <= len(have) && have[n.Number-1].Is(n, ref.Lease) {
		return job.SavedStep{Step: have[n.Number-1]}, nil
	}
	if !b.holds(session, ref) {
		return job.SavedStep{Stale: true}, nil
	}
	if n.Number != len(have)+1 {
		return out, core.Errorf(core.Conflict, "step %d of job %d must be number %d", n.Number, ref.JobID, len(have)+1)
	}
	s := job.Step{Number: n.Number, Name: n.Name, Kind: n.Kind, Type: n.Type, Result: n.Result, Attempt: b.jobs[ref.JobID].Attempt, Lease: ref.Lease, Took: n.Took, SavedAt: core.Micro(time.Now())}
	if n.Kind == job.StepSleep {
		s.WakeAt = s.SavedAt.Add(n.Sleep.D().Truncate(time.Microsecond))
	}
	b.steps[ref.JobID] = append(have, s)
	return job.SavedStep{Step: s}, nil
}

// holds needs the lock.
func (b *Broker) holds(session string, ref job.Ref) bool {
	j := b.jobs[ref.JobID]
	return j != nil && j.State == job.Running && j.Lease == ref.Lease && j.Session == session
}

// Recorded are the steps of a job.
func (b *Broker) Recorded(id int64) []job.Step {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]job.Step(nil), b.steps[id]...)
}

// SaveProgress implements [job.ProgressKeeper].
func (b *Broker) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	if err := b.before(ctx, "progress"); err != nil {
		return err
	}
	b.mu.Lock()
	b.releaseLost()
	for _, p := range ps {
		if b.holds(session, p.Ref) {
			b.jobs[p.JobID].Progress = &job.JobProgress{Progress: p.Progress, At: time.Now(), Lease: p.Lease}
		}
	}
	b.mu.Unlock()
	return b.after(ctx, "progress")
}
