package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("random histories of debounced requests end as the model says", debounceRandom)
	addNodes("nodes that enqueue for a debounced task at the same moment make one job of a key, and count each", debounceOverNodes)
	addNodes("nodes that enqueue for a debounced task while its jobs begin lose no request", debounceWhileJobsBegin)
}

// waitingModel is the model's job that waits for its window.
type waitingModel struct {
	id     int64
	first  time.Time
	due    time.Time
	n      int
	joined int64
}

// debounceRandom compares random histories with a model that has no rows.
func debounceRandom(b *bench) {
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	window, most := time.Second, 3*time.Second
	t := b.task("t", debounced("input.customer", window, most))
	s := b.session("t")
	waiting, begun := map[string]*waitingModel{}, map[int64]int{} // inputs of jobs that run or have run
	past := func() {                                              // windows end by time
		for customer, w := range waiting {
			if !w.due.After(b.clock.Now()) {
				begun[w.id] = w.n
				delete(waiting, customer)
			}
		}
	}
	n := 0
	for range 150 {
		past()
		switch what := r.IntN(12); {
		case what < 6:
			var batch []job.NewJob
			var customers []string
			for range 1 + r.IntN(3) {
				n++
				customers = append(customers, string(rune('a'+r.IntN(3))))
				batch = append(batch, numbered(customers[len(customers)-1], n))
			}
			fresh := map[string]bool{}
			now := b.clock.Now()
			for i, customer := range customers {
				w := waiting[customer]
				if w == nil {
					w = &waitingModel{first: now, joined: -1}
					waiting[customer], fresh[customer] = w, true
				}
				w.joined++
				w.n = n - len(customers) + 1 + i
				if w.due = now.Add(window); w.due.Sub(w.first) > most {
					w.due = w.first.Add(most)
				}
				if !w.due.After(now) {
					w.due = now.Add(time.Millisecond)
				}
			}
			for i, e := range must(b.st.Enqueue(b.ctx, batch))(b) {
				w := waiting[customers[i]]
				if !e.Existing {
					want(b, "a new job where the model has one", fresh[customers[i]], true)
					w.id, fresh[customers[i]] = e.Job.ID, false
				}
				want(b, "the answer", words(e.Job.ID, string(e.Job.Input), e.Job.DueAt.Sub(now), e.Joined),
					words(w.id, string(numbered(customers[i], w.n).Input), w.due.Sub(now), w.joined))
			}
		case what < 9:
			b.clock.Move(time.Duration(r.IntN(1200)) * time.Millisecond)
			past()
			b.promote()
		case what < 10:
			for _, j := range b.claim(s, 1+r.IntN(3)).Jobs {
				want(b, "input of the started job", string(j.Job.Input[len(`{"customer":"a","n":`):]), fmt.Sprint(begun[j.Job.ID], "}"))
				b.finish(s, j, []job.Outcome{job.OutcomeOK, job.OutcomeError, job.OutcomeHandedBack}[r.IntN(3)])
			}
		case what < 11:
			for customer, w := range waiting {
				b.cancel(w.id)
				delete(waiting, customer)
				break
			}
		default:
			window = time.Duration(200+r.IntN(1500)) * time.Millisecond
			most = window + time.Duration(r.IntN(3000))*time.Millisecond
			debounced("input.customer", window, most)(&t)
			t = must(b.st.UpdateTask(b.ctx, t))(b)
		}
		for _, w := range waiting {
			j := b.job(w.id)
			want(b, "a job that waits", words(j.State, j.DueAt, j.Debounced.Joined), words(job.Scheduled, w.due, w.joined))
		}
	}
}

func debounceOverNodes(b *bench, nodes []*store.Store) {
	b.task("t", debounced("input.customer", time.Hour, 0))
	const each = 20
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) error {
		_, err := st.Enqueue(ctx, []job.NewJob{numbered("a", i), numbered("b", i), numbered(words(i%3), i), numbered("b", i+1000)})
		return err
	})
	asked := int64(4 * each * len(nodes))
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 5)
	want(b, "requests", b.count(`select sum(joined + 1) from belfry.debounced`), asked)
	want(b, "windows", b.count(`select count(*) from belfry.job_keys k join belfry.jobs j on j.id = k.job_id and j.due_at = k.expires_at`), 5)
}

func debounceWhileJobsBegin(b *bench, nodes []*store.Store) {
	b.task("t", debounced("", 100*time.Millisecond, 0))
	const each = 40
	b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) error {
		switch i % 4 {
		case 0:
			b.clock.Move(99 * time.Millisecond)
			_, err := st.Promote(ctx)
			return err
		case 1:
			page, err := st.Jobs(ctx, job.Filter{States: []job.State{job.Scheduled}})
			if err != nil || len(page.Items) == 0 {
				return err
			}
			_, err = st.CancelJobs(ctx, "default", view.Selection{IDs: []int64{page.Items[0].ID}})
			return err
		}
		_, err := st.Enqueue(ctx, []job.NewJob{numbered("a", i)})
		return err
	})
	want(b, "requests", b.count(`select sum(joined + 1) from belfry.debounced`), int64(each*len(nodes)/2))
	want(b, "jobs", b.count(`select (select count(*) from belfry.jobs) + (select count(*) from belfry.jobs_done)`), b.count(`select count(*) from belfry.debounced`))
	if n := b.count(`select count(*) from belfry.jobs where state = 'scheduled' and due_at > ` + fmt.Sprint(base.Micros(b.clock.Now()))); n > 1 {
		b.Fatalf("jobs that wait for one window: got %d, want at most 1", n)
	}
}
