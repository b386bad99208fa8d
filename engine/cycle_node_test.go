package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// clockwork is a node with cycles: a store on a file, an engine, and two workers.
// A script sets the duration and outcome of members.
type clockwork struct {
	*testing.T
	path    string
	st      *store.Store
	engine  func() // stops it
	workers func()
	links   []*link

	mu      sync.Mutex
	diary   []stint
	unheard map[job.Ref]bool // results that a cut kept from the store
}

// stint is one attempt of a member, as logged by its handler.
type stint struct {
	task       string
	job        int64
	lease      int64
	attempt    int
	start, end time.Time
	ok         bool
}

// well reports whether an attempt succeeded and its result reached the store. The
// attempt of a worker that is cut off is lost, whatever its outcome.
func (w *clockwork) well(s stint) bool {
	return s.ok && !w.unheard[job.Ref{JobID: s.job, Lease: s.lease}]
}

// deed is the behaviour of a member in one attempt.
type deed struct {
	takes time.Duration
	ends  error
	hangs bool
}

// deeds is the script: the behaviour of a member by the number of its job and
// attempt.
var deeds = map[string]func(n uint64, try int) deed{
	"hourly": func(uint64, int) deed { return deed{takes: 2 * time.Minute} },
	"daily":  func(uint64, int) deed { return deed{takes: 20 * time.Minute} },
	"any":    func(n uint64, _ int) deed { return deed{takes: time.Duration(n%7) * time.Minute} },
	"shaky": func(n uint64, try int) deed { // succeeds at the second attempt, the third, or never
		d := deed{takes: time.Minute}
		if uint64(try) <= n%4 {
			d.ends = errors.New("out of order")
		}
		return d
	},
	"stuck": func(n uint64, try int) deed {
		return deed{takes: 3 * time.Minute, hangs: n%3 == 0 && try == 1 || n%5 == 0}
	},
	"doomed": func(n uint64, _ int) deed {
		d := deed{takes: 30 * time.Second}
		if n%3 == 0 {
			d.ends = core.Errorf(core.Invalid, "it cannot be done")
		}
		return d
	},
}

// unsaid records results that did not reach the store.
func (w *clockwork) unsaid(fs []job.Finish) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range fs {
		w.unheard[f.Ref] = true
	}
}

func (w *clockwork) run(ctx context.Context, name string) (int, error) {
	j, _ := worker.JobFrom(ctx)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", name, j.ID)
	d := deeds[name](h.Sum64()>>7, j.Attempt)
	w.mu.Lock()
	at := len(w.diary)
	w.diary = append(w.diary, stint{task: name, job: j.ID, lease: j.Lease, attempt: j.Attempt, start: time.Now()})
	w.mu.Unlock()
	err := d.ends
	timer := time.NewTimer(d.takes)
	defer timer.Stop()
	if d.hangs {
		<-ctx.Done()
		err = ctx.Err()
	} else {
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diary[at].end, w.diary[at].ok = time.Now(), err == nil
	return 0, err
}

// rotary runs fn on a node that starts at an instant.
func rotary(t *testing.T, from time.Time, fn func(w *clockwork)) {
	t.Helper()
	path := t.TempDir() + "/belfry.db"
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(from))
		w := &clockwork{T: t, path: path, unheard: map[job.Ref]bool{}}
		w.open()
		for name := range deeds {
			w.must(w.st.CreateTask(w.Context(), task.Task{
				Name: name, Kind: task.KindFunc, Timeout: core.Duration(10 * time.Minute), Retry: task.Retry{MaxAttempts: 3, Delay: core.Duration(time.Minute), Jitter: -1},
			}))
		}
		must(t, w.st.DeleteTask(w.Context(), "default", "daily")) // which needs longer
		w.must(w.st.CreateTask(w.Context(), task.Task{Name: "daily", Kind: task.KindFunc, Timeout: core.Duration(time.Hour)}))
		w.startEngine()
		w.startWorkers()
		fn(w)
		w.close()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *clockwork) must(_ any, err error) {
	w.Helper()
	must(w.T, err)
}

func (w *clockwork) open() {
	w.Helper()
	n := &news{changed: make(chan struct{})}
	st, err := sqlite.Open(w.Context(), w.path, sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Observer: n}})
	must(w.T, err)
	w.st = st
	w.links = nil
	for range 2 {
		w.links = append(w.links, &link{Store: st, news: n, unheard: w.unsaid})
	}
}

// close stops everything and closes the file.
func (w *clockwork) close() {
	w.Helper()
	w.workers()
	w.engine()
	must(w.T, w.st.Close())
}

func (w *clockwork) startEngine() {
	w.Helper()
	e, err := engine.New(engine.Options{Store: struct{ ringing }{&quiet{Store: w.st}}, Release: 5 * time.Minute, Prune: 100 * 24 * time.Hour})
	must(w.T, err)
	w.engine = loop(w.T, e.Run)
}

func (w *clockwork) startWorkers() {
	w.Helper()
	var stops []func()
	for i, l := range w.links {
		h := &worker.Handlers{}
		for name := range deeds {
			worker.Handle(h, name, func(ctx context.Context, _ struct{}) (int, error) { return w.run(ctx, name) })
		}
		wk, err := worker.New(worker.Options{
			Leaser: l, Name: fmt.Sprint("w", i), Handlers: h, Poll: 5 * time.Second, Lease: job.MaxSessionTTL.D(), Grace: -1, Queues: map[string]int{"default": 20},
		})
		must(w.T, err)
		stops = append(stops, loop(w.T, wk.Run))
	}
	w.workers = func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// ringing is the part of the store for the engine. It has no FollowClock, because
// the clock of the bubble is never set.
type ringing interface {
	engine.Store
	engine.Cycles
}

// quiet is a store whose passes block until a row is due, so that a simulated week
// costs only its events.
type quiet struct {
	*store.Store
	firing, promoting, starting, backfills rest
}

func (q *quiet) FireDue(ctx context.Context) (job.Fired, error) {
	q.firing.wait(ctx)
	woken := q.Woken()
	f, err := q.Store.FireDue(ctx)
	q.firing = rest{woken, f.NextAt, time.Now()}
	return f, err
}

func (q *quiet) Promote(ctx context.Context) (job.Promoted, error) {
	q.promoting.wait(ctx)
	woken := q.Woken()
	p, err := q.Store.Promote(ctx)
	q.promoting = rest{woken, p.NextAt, time.Now()}
	return p, err
}

func (q *quiet) StartCycles(ctx context.Context) (job.Promoted, error) {
	q.starting.wait(ctx)
	woken := q.Woken()
	p, err := q.Store.StartCycles(ctx)
	if q.starting = (rest{woken: woken, since: time.Now()}); p.Jobs > 0 {
		q.starting = rest{}
	}
	return p, err
}

func (q *quiet) Refill(ctx context.Context) (bool, error) { // there are no backfills
	q.backfills.wait(ctx)
	q.backfills = rest{since: time.Now()}
	return q.Store.Refill(ctx)
}

// news signals that jobs may be ready, after any write other than a worker's claim.
type news struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced
}

func (n *news) now() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func (n *news) Took(transition string, _ time.Duration, _ bool) {
	if transition == "claim" || transition == "renew" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (*news) Claimed(string, int)                                      {}
func (*news) Waited(string, task.Kind, time.Duration)                  {}
func (*news) Released(int, time.Duration)                              {}
func (*news) Checked(task.Kind, task.CheckOutcome, time.Duration)      {}
func (*news) Tried(string, alert.State)                                {}
func (*news) Delivered(string, int)                                    {}
func (*news) KeptOut(string, core.Reason, int)                         {}
func (*news) OverQuota(string, string)                                 {}
func (*news) Settled(string, job.Outcome, job.State, time.Duration)    {}
func (*news) Fired(schedule.Decision, core.Reason, int, time.Duration) {}
func (*news) Stale(int)                                                {}
func (*news) Lost(int)                                                 {}

// link is the connection of a worker to the store, which can be cut.
type link struct {
	*store.Store
	news    *news
	unheard func([]job.Finish)
	cut     atomic.Bool
	empty   <-chan struct{} // the state of news when a claim found nothing
}

func (l *link) down() error {
	if l.cut.Load() {
		return core.Errorf(core.Unavailable, "the cable is cut")
	}
	return nil
}

// Claim claims only when there may be jobs, not every second.
func (l *link) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	wait := time.NewTimer(r.Wait.D())
	defer wait.Stop()
	r.Wait = 0
	for {
		now := l.news.now()
		if err := l.down(); err != nil {
			<-wait.C
			return job.Claim{}, err
		}
		if l.empty != now {
			got, err := l.Store.Claim(ctx, r)
			if err != nil || len(got.Jobs) > 0 {
				return got, err
			}
			l.empty = now
		}
		select {
		case <-now:
		case <-wait.C:
			return job.Claim{}, nil
		case <-ctx.Done():
			return job.Claim{}, ctx.Err()
		}
	}
}

func (l *link) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	if err := l.down(); err != nil {
		return job.Session{}, err
	}
	return l.Store.OpenSession(ctx, w)
}

func (l *link) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	if err := l.down(); err != nil {
		return job.Renewal{}, err
	}
	return l.Store.Renew(ctx, session, has)
}

func (l *link) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	if err := l.down(); err != nil {
		l.unheard(fs)
		return nil, err
	}
	return l.Store.Finish(ctx, session, fs)
}

func (l *link) CloseSession(ctx context.Context, session string) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Store.CloseSession(ctx, session)
}
