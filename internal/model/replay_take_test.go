package model

import (
	"math"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// take takes a step of the model with the real store, and compares the answers with
// those of the model.
func (r *replay) take(from State, act Act, to State) {
	w, ctx := int(act.Who), r.Context()
	switch act.Verb {
	case Tick:
		r.clock.Move(tick)
	case Open:
		r.open(w)
	case Crash:
		r.sessions[w] = ""
	case Close:
		r.ok(r.st.CloseSession(ctx, r.sessions[w]))
		r.sessions[w] = ""
	case GiveUp:
		_, err := r.st.Claim(ctx, r.want(w))
		if core.CodeOf(err) != core.Unauthorized {
			r.fatal("a claim of a session that has ended: %v", err)
		}
		r.sessions[w] = ""
	case Claim:
		r.claim(w, from, to)
	case Renew:
		r.renew(w, from, to, true)
	case RenewEmpty:
		r.renew(w, from, to, false)
	case Succeed:
		r.finish(act, from, to, job.OutcomeOK)
	case Fail:
		r.finish(act, from, to, job.OutcomeError)
	case HandBack:
		r.finish(act, from, to, job.OutcomeHandedBack)
	case Release:
		got, err := r.st.ReleaseLost(ctx)
		r.ok(err)
		if want := from.running() - to.running(); got.Jobs != want {
			r.fatal("release settles %d jobs, want %d", got.Jobs, want)
		}
	case Promote:
		r.must(r.st.Promote(ctx))
	case Cancel:
		got, err := r.st.CancelJobs(ctx, r.name, view.Selection{IDs: []int64{r.jobs[act.Job]}})
		r.ok(err)
		if len(got.IDs) != 1 {
			r.fatal("nothing is canceled: %v", got.Left)
		}
	case Ask:
		r.ask(int(act.Job))
	case Pause:
		_, err := r.st.PauseSchedule(ctx, r.name, "s", "")
		if refused := to.Schedule.State == Active; refused != (core.CodeOf(err) == core.Conflict) || !refused && err != nil {
			r.fatal("pause: %v", err)
		}
	case Resume:
		r.must(r.st.ResumeSchedule(ctx, r.name, "s", false))
	case Fire:
		got, err := r.st.FireDue(ctx)
		r.ok(err)
		if want := max(0, r.active(&to)-r.active(&from)); got.Schedules != 1 || got.Jobs != want {
			r.fatal("firing makes %d jobs, want %d", got.Jobs, want)
		}
	default:
		r.fatal("nobody knows how to replay %q", act)
	}
	r.noteJobs()
	r.noteEnds(from, act, to)
}

func (r *replay) open(w int) {
	s, err := r.st.OpenSession(r.Context(), job.WorkerInfo{
		Name: "w", Namespace: r.name, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{r.queue(): 10},
	})
	r.ok(err)
	r.sessions[w] = s.ID
	r.opened = append(r.opened, s.ID)
}

func (r *replay) queue() string {
	if r.Limit > 0 {
		return "limited"
	}
	return task.DefaultQueue
}

func (r *replay) want(w int) job.ClaimRequest {
	return job.ClaimRequest{Session: r.sessions[w], Want: map[string]int{r.queue(): 10}}
}

// claim checks that a claim leases exactly the jobs of the model, under a number above
// all earlier ones.
func (r *replay) claim(w int, from, to State) {
	got, err := r.st.Claim(r.Context(), r.want(w))
	r.ok(err)
	var ids []int64
	for _, j := range got.Jobs {
		ids = append(ids, j.Job.ID)
	}
	n := 0
	for j := range MaxJobs {
		if from.leased(j) || !to.leased(j) {
			continue
		}
		n++
		if !slices.Contains(ids, r.jobs[j]) {
			r.fatal("job %d is not claimed, but %v", j+1, ids)
		}
		ref := job.Ref{JobID: r.jobs[j], Lease: got.Lease}
		r.refs[w][j], r.under[w][j], r.leases[j] = ref, r.sessions[w], realLease{r.sessions[w], ref}
	}
	if n != len(ids) || got.Lease <= r.highest {
		r.fatal("%d jobs are claimed under %d after %d, want %d", len(ids), got.Lease, r.highest, n)
	}
	r.highest = got.Lease
}

// renew names all jobs that the worker ever had, or none, and checks which of them
// the store reports as lost.
func (r *replay) renew(w int, from, to State, all bool) {
	var holding []job.Ref
	var ended []job.Ref
	for j, n := range from.Workers[w].Runs {
		if !all || n == 0 {
			continue
		}
		ref := r.refs[w][j]
		holding = append(holding, ref)
		if r.leases[j] != (realLease{r.sessions[w], ref}) || from.Leases[j][0].Cancel {
			ended = append(ended, ref)
		}
	}
	has := job.Held(holding...)
	has.Settled = math.MaxInt64 // as in the model: the worker has the latest answer
	got, err := r.st.Renew(r.Context(), r.sessions[w], has)
	r.ok(err)
	if lost := to.Workers[w].Session == 0; got.Lost != lost {
		r.fatal("the session is lost: %v", got.Lost)
	} else if lost {
		r.sessions[w] = ""
		return
	}
	if !slices.Equal(got.Cancel, ended) {
		r.fatal("told to end %v, want %v", got.Cancel, ended)
	}
}

// finish checks that the answer is Stale exactly if the job has another lease in the
// model, or none. A worker reports under the session in which it claimed.
func (r *replay) finish(act Act, from, to State, out job.Outcome) {
	j := act.Job
	ref := r.refs[act.Who][j]
	got, err := r.st.Finish(r.Context(), r.under[act.Who][j], []job.Finish{{Ref: ref, Outcome: out, Error: "it broke"}})
	r.ok(err)
	stale := from.Leases[j][0].Number != from.Workers[act.Who].Runs[j]
	if got[0].Stale != stale || !stale && got[0].State != states[to.Jobs[j].State] {
		r.fatal("finish answers %+v, want stale: %v", got[0], stale)
	}
}

// noteJobs finds new jobs. A loop has one job at a time, and its jobs use the same
// place.
func (r *replay) noteJobs() {
	if r.Plan == 0 && !r.Loop {
		return
	}
	p, err := r.st.Jobs(r.Context(), job.Filter{Namespace: r.name, Schedule: "s", Paging: core.Paging{Limit: 1000}})
	r.ok(err)
	for _, j := range p.Items {
		if r.known[j.ID] {
			continue
		}
		r.known[j.ID] = true
		slot := r.Jobs // the place of jobs of a loop
		if r.Plan > 0 {
			slot += int(j.Nominal.Sub(r.base)/tick) - 1
		}
		if r.jobs[slot] > 0 && !r.Loop {
			r.fatal("nominal time %v has another job", j.Nominal)
		}
		r.jobs[slot], r.attempts[slot], r.leases[slot] = j.ID, nil, realLease{}
	}
}

// noteEnds records the attempts that ended in a step.
func (r *replay) noteEnds(from State, act Act, to State) {
	out := map[Verb]job.Outcome{Succeed: job.OutcomeOK, Fail: job.OutcomeError, Release: job.OutcomeLost}[act.Verb]
	if out == "" {
		out = job.OutcomeHandedBack
	}
	for j := range MaxJobs {
		if from.leased(j) && !to.leased(j) {
			l := r.leases[j]
			r.attempts[j] = append(r.attempts[j], job.Attempt{JobID: r.jobs[j], Lease: l.ref.Lease, Session: l.session, Outcome: out})
			r.leases[j] = realLease{}
		}
	}
}
