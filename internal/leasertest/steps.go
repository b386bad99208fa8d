package leasertest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Steps implements [job.StepKeeper].
func (b *Leaser) Steps(ctx context.Context, session string, ref job.Ref) (job.StepList, error) {
	if err := b.before(ctx, "steps"); err != nil {
		return job.StepList{}, err
	}
	b.mu.Lock()
	b.releaseLost()
	out := job.StepList{Now: time.Now(), Stale: !holds(b, session, ref)}
	if !out.Stale {
		out.Steps = append(out.Steps, b.steps[ref.JobID]...)
	}
	b.mu.Unlock()
	return out, b.after(ctx, "steps")
}

// SaveStep implements [job.StepKeeper].
func (b *Leaser) SaveStep(ctx context.Context, session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	if err := b.before(ctx, "save step"); err != nil {
		return out, err
	}
	b.mu.Lock()
	b.releaseLost()
	out, err = saveStep(b, session, ref, n.WithDefaults())
	b.mu.Unlock()
	if err != nil {
		return out, err
	}
	return out, b.after(ctx, "save step")
}

func saveStep(b *Leaser, session string, ref job.Ref, n job.NewStep) (out job.SavedStep, err error) {
	if err := n.Validate(); err != nil {
		return out, err
	}
	have := b.steps[ref.JobID]
	if n.Number <= len(have) && holds(b, session, ref) && (n.Kind == job.StepSignal || n.Kind == job.StepAwait) && have[n.Number-1].Kind == n.Kind && have[n.Number-1].Name == n.Name {
		look(b, &have[n.Number-1], ref)
		return job.SavedStep{Step: have[n.Number-1]}, nil
	}
	if n.Number <= len(have) && have[n.Number-1].Is(n, ref.Lease) {
		return job.SavedStep{Step: have[n.Number-1]}, nil
	}
	if !holds(b, session, ref) {
		return job.SavedStep{Stale: true}, nil
	}
	if n.Number != len(have)+1 {
		return out, core.Errorf(core.Conflict, "step %d of job %d must be number %d", n.Number, ref.JobID, len(have)+1)
	}
	s := job.Step{Number: n.Number, Name: n.Name, Kind: n.Kind, Type: n.Type, Result: n.Result, Attempt: b.jobs[ref.JobID].Attempt, Lease: ref.Lease, Took: n.Took, SavedAt: core.Micro(time.Now())}
	if n.Kind == job.StepSleep || n.Kind == job.StepSignal {
		s.WakeAt = s.SavedAt.Add(n.Sleep.D().Truncate(time.Microsecond))
	}
	if s.Child = max(s.Child, n.Child); n.Kind == job.StepSignal || n.Kind == job.StepAwait {
		look(b, &s, ref)
	}
	if n.Kind == job.StepSpawn {
		s.Child = enqueue(b, *n.Job).ID
		s.Result = json.RawMessage(strconv.FormatInt(s.Child, 10))
	}
	b.steps[ref.JobID] = append(have, s)
	return job.SavedStep{Step: s}, nil
}

// holds needs the caller to hold the lock.
func holds(b *Leaser, session string, ref job.Ref) bool {
	j := b.jobs[ref.JobID]
	return j != nil && j.State == job.Running && j.Lease == ref.Lease && j.Session == session
}

// Recorded returns the recorded steps of a job.
func (b *Leaser) Recorded(id int64) []job.Step {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]job.Step(nil), b.steps[id]...)
}

// SaveProgress implements [job.ProgressKeeper].
func (b *Leaser) SaveProgress(ctx context.Context, session string, ps []job.AttemptProgress) error {
	if err := b.before(ctx, "progress"); err != nil {
		return err
	}
	b.mu.Lock()
	b.releaseLost()
	for _, p := range ps {
		if holds(b, session, p.Ref) {
			b.jobs[p.JobID].Progress = &job.JobProgress{Progress: p.Progress, At: time.Now(), Lease: p.Lease}
		}
	}
	b.mu.Unlock()
	return b.after(ctx, "progress")
}

// LinkSignal implements [job.StepKeeper]. Its links have no target.
func (b *Leaser) LinkSignal(ctx context.Context, session string, ref job.Ref, l job.Link) (out job.NewLink, err error) {
	if err := b.before(ctx, "link"); err != nil {
		return out, err
	}
	b.mu.Lock()
	b.releaseLost()
	if holds(b, session, ref) {
		out = job.NewLink{Name: l.Name, For: l.For, Path: job.AnswerPath + l.Name, ExpiresAt: time.Now().Add(l.Valid.D())}
	} else {
		err = core.Errorf(core.Conflict, "the lease %d on job %d was lost", ref.Lease, ref.JobID)
	}
	b.mu.Unlock()
	return out, errors.Join(err, b.after(ctx, "link"))
}

type signalKey struct {
	job  int64
	name string
}

// SignalJob sends a signal to a job as a store does.
func (b *Leaser) SignalJob(id int64, sig job.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := signalKey{id, sig.Name}
	if _, there := b.signals[key]; there {
		return
	}
	b.signals[key] = sig.WithDefaults().Input
	wakeWaits(b, id, func(s job.Step) bool { return s.Kind == job.StepSignal && s.Name == sig.Name })
	b.wake()
}

// wakeWaits ends the waits of a job that are over. The caller holds the lock.
func wakeWaits(b *Leaser, id int64, which func(s job.Step) bool) {
	all := b.steps[id]
	for i := range all {
		if !all[i].EndedAt.IsZero() || !which(all[i]) {
			continue
		}
		look(b, &all[i], job.Ref{JobID: id})
		if j := b.jobs[id]; j.State == job.Scheduled && b.waiting[job.Ref{JobID: id, Lease: j.Lease}] == all[i].Number {
			j.DueAt = time.Now()
		}
	}
}

// look ends a wait if it is over. The caller holds the lock.
func look(b *Leaser, s *job.Step, ref job.Ref) {
	if j := b.jobs[s.Child]; s.Kind == job.StepAwait && s.EndedAt.IsZero() {
		if j.State.Final() {
			s.EndedAt = core.Micro(time.Now())
			s.Result, _ = json.Marshal(job.EndedOf(*j))
		} else {
			b.waiting[ref] = s.Number
		}
		return
	}
	input, came := b.signals[signalKey{ref.JobID, s.Name}]
	switch {
	case !s.EndedAt.IsZero():
	case came:
		s.EndedAt, s.Result = core.Micro(time.Now()), input
	case !s.WakeAt.After(time.Now()):
		s.EndedAt, s.TimedOut = core.Micro(time.Now()), true
	default:
		b.waiting[ref] = s.Number
		return
	}
	delete(b.waiting, ref)
}
