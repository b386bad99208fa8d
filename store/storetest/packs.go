package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Packing is a store and a worker that has claimed jobs in one pack.
type Packing struct {
	*testing.T
	Store   *store.Store
	Clock   *Clock
	Session string
	Lease   int64   // of the last claim
	Jobs    []int64 // ascending
}

// NewPacking enqueues jobs and claims them in a store that packs each claim.
func NewPacking(t *testing.T, st *store.Store, clock *Clock, jobs int) *Packing {
	t.Helper()
	p := &Packing{T: t, Store: st, Clock: clock}
	for range jobs {
		p.Jobs = append(p.Jobs, p.Enqueue(job.NewJob{}))
	}
	token, _, err := st.CreateToken(t.Context(), access.Token{Name: "elsewhere", Scopes: []access.Scope{access.ScopeWorker}})
	ok(t, err) // a remote worker outlives the process of the store
	p.Session = must(st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Token: token.ID, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": jobs}}))(t).ID
	p.wantIDs("claimed", p.Claim(jobs), p.Jobs)
	p.Holds(1, 0)
	return p
}

// Enqueue enqueues a job that the worker can run.
func (p *Packing) Enqueue(n job.NewJob) int64 {
	p.Helper()
	n.Task, n.Kind = "t", task.KindFunc
	return must(p.Store.Enqueue(p.Context(), []job.NewJob{n}))(p)[0].Job.ID
}

// Claim claims up to so many jobs, and stores their lease.
func (p *Packing) Claim(jobs int) (ids []int64) {
	p.Helper()
	c := must(p.Store.Claim(p.Context(), job.ClaimRequest{Session: p.Session, Want: map[string]int{"default": jobs}}))(p)
	for _, j := range c.Jobs {
		ids = append(ids, j.Job.ID)
	}
	slices.Sort(ids)
	p.Lease = c.Lease
	return ids
}

// Holds checks the numbers of packs and of rows of leases.
func (p *Packing) Holds(packs, rows int64) {
	p.Helper()
	want(p, "packs", p.Count("select count(*) from belfry.packs"), packs)
	want(p, "rows of leases", p.Count("select count(*) from belfry.leases"), rows)
}

// Count returns the number that a query selects.
func (p *Packing) Count(query string) int64 {
	p.Helper()
	return count(p, context.WithoutCancel(p.Context()), p.Store, query)
}

// Refs returns refs of jobs under the last lease.
func (p *Packing) Refs(jobs ...int64) []job.Ref {
	refs := make([]job.Ref, len(jobs))
	for i, id := range jobs {
		refs[i] = job.Ref{JobID: id, Lease: p.Lease}
	}
	return refs
}

// Finish settles jobs under the last lease, and returns the number of stale ones.
func (p *Packing) Finish(outcome job.Outcome, jobs ...int64) (stale int) {
	p.Helper()
	return p.FinishAll(finishes(outcome, p.Refs(jobs...)))
}

// FinishAll settles attempts in one call, and returns the number of stale ones.
func (p *Packing) FinishAll(fs []job.Finish) (stale int) {
	p.Helper()
	for _, f := range must(p.Store.Finish(context.WithoutCancel(p.Context()), p.Session, fs))(p) {
		if f.Stale {
			stale++
		}
	}
	return stale
}

func finishes(outcome job.Outcome, refs []job.Ref) []job.Finish {
	fs := make([]job.Finish, len(refs))
	for i, ref := range refs {
		fs[i] = job.Finish{Ref: ref, Outcome: outcome}
	}
	return fs
}

// RunPacks runs the cases of leases that share a row, on stores that pack each claim. A few jobs and many may take different
// paths.
func RunPacks(t *testing.T, open Open) {
	for sentence, fn := range packCases {
		for _, jobs := range []int{3, 60} {
			t.Run(fmt.Sprintf("%s (%d)", sentence, jobs), func(t *testing.T) {
				t.Parallel()
				clock := NewClock()
				fn(NewPacking(t, open(t, store.Options{Clock: clock.Now}), clock, jobs))
			})
		}
	}
}

var packCases = map[string]func(p *Packing){
	"a pack lasts until its last job has succeeded": func(p *Packing) {
		all := len(p.Jobs)
		j := must(p.Store.Job(p.Context(), "default", p.Jobs[1]))(p)
		want(p, "state", j.State, job.Running)
		want(p, "session", j.Session, p.Session)
		want(p, "lease", j.Lease, p.Lease)
		want(p, "attempt", j.Attempt, 1)
		want(p, "deadline", j.DeadlineAt.Sub(j.ClaimedAt), j.Timeout.D()+job.DeadlineGrace)
		want(p, "stale the first time", p.Finish(job.OutcomeOK, p.Jobs[1:]...), 0)
		p.Holds(1, 0)
		want(p, "stale the second time, repeated", p.Finish(job.OutcomeOK, p.Jobs[1:]...), 0)
		p.Holds(1, 0)
		want(p, "stale the third time", p.Finish(job.OutcomeOK, p.Jobs...), 0)
		p.Holds(0, 0)
		want(p, "in the history", p.Count("select count(*) from belfry.jobs_done where state = 'succeeded' and lease > 0 and worker = 'w' and claimed_at > 0"), int64(all))
	},

	"an error takes a pack apart": func(p *Packing) {
		p.Finish(job.OutcomeError, p.Jobs[0])
		p.apart(1)
	},
	"a job that is handed back takes its pack apart": func(p *Packing) {
		p.Finish(job.OutcomeHandedBack, p.Jobs[0])
		p.apart(1)
	},
	"a cancel takes a pack apart": func(p *Packing) {
		must(p.Store.CancelJobs(p.Context(), "default", view.Selection{IDs: p.Jobs[:1]}))(p)
		p.apart(0)
	},
	"a renewal that comes later takes a pack apart": func(p *Packing) {
		p.Clock.Move(job.ClaimSettled + time.Second)
		want(p, "taken away", len(must(p.Store.Renew(p.Context(), p.Session, job.Held(p.Refs(p.Jobs...)...)))(p).Cancel), 0)
		p.apart(0)
	},
	"a clock that is set takes packs apart": func(p *Packing) {
		ok(p, p.Store.ShiftClock(p.Context(), -time.Hour))
		p.apart(0)
	},
	"the end of a session takes its packs apart": func(p *Packing) {
		ok(p, p.Store.CloseSession(p.Context(), p.Session))
		p.apart(len(p.Jobs))
	},

	"a batch of a pack may hold failures": func(p *Packing) {
		fs := finishes(job.OutcomeOK, p.Refs(p.Jobs...))
		for i := range fs {
			if i%2 == 1 {
				fs[i].Outcome = job.OutcomeError
			}
		}
		want(p, "stale", p.FinishAll(fs), 0)
		p.Holds(0, 0)
		want(p, "that wait for a retry", p.Count("select count(*) from belfry.jobs where state = 'scheduled' and lease > 0"), int64(len(fs)/2))
	},

	"a batch may hold several packs, and jobs of none": func(p *Packing) {
		fs := finishes(job.OutcomeOK, p.Refs(p.Jobs...))
		p.Enqueue(job.NewJob{})
		p.Enqueue(job.NewJob{})
		p.Jobs = p.Claim(2)
		must(p.Store.CancelJobs(p.Context(), "default", view.Selection{IDs: p.Jobs[:1]}))(p)
		p.Holds(1, 2)
		want(p, "stale", p.FinishAll(append(finishes(job.OutcomeOK, p.Refs(p.Jobs...)), fs[1:]...)), 0)
		p.Holds(1, 0)
	},

	"a finish under a pack that has not the job is stale": func(p *Packing) {
		other := p.Enqueue(job.NewJob{})
		want(p, "stale", p.Finish(job.OutcomeOK, append([]int64{other}, p.Jobs...)...), 1)
		want(p, "ready", p.Count("select count(*) from belfry.jobs where state = 'ready'"), 1)
	},

	"jobs that lie between those of a pack are claimed, and those in it are not": func(p *Packing) {
		high := 5
		first := p.Enqueue(job.NewJob{Priority: &high})
		between := []int64{p.Enqueue(job.NewJob{}), p.Enqueue(job.NewJob{})}
		last := p.Enqueue(job.NewJob{Priority: &high})
		p.wantIDs("claimed first", p.Claim(2), []int64{first, last})
		p.Holds(2, 0)
		p.wantIDs("claimed next", p.Claim(10), between)
		p.Holds(3, 0)
		p.wantIDs("claimed twice", p.Claim(10), nil)
	},

	"of two successes of a job, under a lease that ended and under the one it has in a pack, the second counts": func(p *Packing) {
		old := p.Refs(p.Jobs...)
		p.Finish(job.OutcomeHandedBack, p.Jobs...)
		p.wantIDs("claimed again", p.Claim(len(p.Jobs)), p.Jobs)
		p.Holds(1, 0)
		for _, f := range must(p.Store.Finish(p.Context(), p.Session, finishes(job.OutcomeOK, slices.Concat(old, p.Refs(p.Jobs...)))))(p) {
			want(p, fmt.Sprint("stale: ", f.Ref), f.Stale, f.Lease != p.Lease)
		}
		p.Holds(0, 0)
	},

	"leases by which something is counted have rows": func(p *Packing) {
		must(p.Store.SaveQueue(p.Context(), job.Queue{Name: "default", GlobalLimit: 100}))(p)
		p.Enqueue(job.NewJob{})
		p.Claim(1)
		p.Holds(1, 1)
	},
}

// apart checks that the pack was split: each job that has not ended has a row of leases, under which it can succeed.
func (p *Packing) apart(ended int) {
	p.Helper()
	p.Holds(0, int64(len(p.Jobs)-ended))
	want(p, "stale then", p.Finish(job.OutcomeOK, p.Jobs...), ended)
	p.Holds(0, 0)
}

func (p *Packing) wantIDs(what string, got, wanted []int64) {
	p.Helper()
	if !slices.Equal(got, wanted) {
		p.Fatalf("%s: got %v, want %v", what, got, wanted)
	}
}
