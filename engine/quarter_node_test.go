package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// station is a node that monitors targets for a quarter of a year: a store on a
// file, an engine, a worker whose check results follow a script, and a pager.
type station struct {
	*testing.T
	path  string
	world *world
	st    *store.Store
	stop  func()
	diary map[string][]glance // all checks of the worker, by monitor
	mu    sync.Mutex
	pager *pager
}

// glance is one check of a target.
type glance struct {
	nominal time.Time
	at      time.Time
	outcome task.CheckOutcome
}

// start opens the file and starts the loops, like a node.
func (s *station) start() {
	s.Helper()
	st, err := sqlite.Open(s.Context(), s.path, sqlite.Options{Synchronous: "NORMAL", Options: store.Options{Keep: store.Keep{Results: 3 * 24 * time.Hour}}})
	if err != nil {
		s.Fatal(err)
	}
	s.st = st
	sleepy := &sleepy{Store: st, news: make(chan struct{})}
	e, err := engine.New(engine.Options{Store: struct{ watching }{sleepy}, Release: 6 * time.Hour, Prune: 6 * time.Hour, Sender: s.pager})
	if err != nil {
		s.Fatal(err)
	}
	w, err := worker.New(worker.Options{
		Leaser: sleepy, Executors: map[task.Kind]worker.Executor{task.KindHTTP: s}, Poll: 5 * time.Second, Lease: job.MaxSessionTTL.D(),
		Grace: -1, Queues: map[string]int{task.ChecksQueue: 20},
	})
	if err != nil {
		s.Fatal(err)
	}
	stop := loop(s.T, e.Run, w.Run)
	s.stop = func() {
		stop()
		if err := st.Close(); err != nil {
			s.Error(err)
		}
	}
}

// watching is the part of the store for the engine. It has no FollowClock, because
// the clock of the bubble is never set.
type watching interface {
	engine.Store
	engine.Monitors
	engine.Outbox
}

// Execute checks a target of the script.
func (s *station) Execute(ctx context.Context, r *worker.Run) job.Finish {
	name, _ := task.OwnerOf(r.Task.Name)
	g := glance{nominal: r.Job.Nominal, at: time.Now()}
	m := s.world.targets[name].answer(g.at)
	g.outcome = m.Outcome
	s.mu.Lock()
	s.diary[name] = append(s.diary[name], g)
	s.mu.Unlock()
	time.Sleep(m.Latency.D())
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Check: &m}
}

// pager receives notifications. It fails now and then.
type pager struct {
	mu     sync.Mutex
	tries  int
	told   map[string][]string // by monitor: received notifications, in order
	failed map[string]bool     // keys of messages that were not accepted
	taken  map[string]bool
	wrong  []string
}

func newPager() *pager {
	return &pager{told: map[string][]string{}, failed: map[string]bool{}, taken: map[string]bool{}}
}

// Send receives a message.
func (p *pager) Send(_ context.Context, _ alert.Channel, m alert.Message) view.DeliveryResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tries++; p.tries%5 == 0 {
		p.failed[m.Key] = true
		return view.DeliveryResult{Error: "out of order"}
	}
	delete(p.failed, m.Key)
	if p.taken[m.Key] {
		p.wrong = append(p.wrong, "told twice: "+m.Title)
	}
	p.taken[m.Key] = true
	for _, n := range m.Notifications {
		line := string(n.Type)
		if n.Type == alert.NotificationDown || n.Type == alert.NotificationUp {
			line += " " + stampOf(n.At)
		}
		p.told[n.Monitor] = append(p.told[n.Monitor], line)
	}
	return view.DeliveryResult{}
}

func stampOf(t time.Time) string { return t.UTC().Format("01-02T15:04:05") }

// sleepy is a store whose passes block until a row is due, so that a simulated
// quarter of a year costs only its events.
type sleepy struct {
	*store.Store
	firing, promoting, backfills, lapsing, telling, rolling rest

	mu      sync.Mutex
	news    chan struct{} // closed when jobs may be ready
	empty   chan struct{} // the state of news when a claim found no more jobs
	renewed time.Time
	renewal job.Renewal
}

func (s *sleepy) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

func (s *sleepy) FireDue(ctx context.Context) (job.Fired, error) {
	s.firing.wait(ctx)
	woken := s.Woken()
	f, err := s.Store.FireDue(ctx)
	s.firing = rest{woken, f.NextAt, time.Now()}
	if f.Jobs > 0 {
		s.announce()
	}
	return f, err
}

func (s *sleepy) Promote(ctx context.Context) (job.Promoted, error) {
	s.promoting.wait(ctx)
	woken := s.Woken()
	p, err := s.Store.Promote(ctx)
	s.promoting = rest{woken, p.NextAt, time.Now()}
	if p.Jobs > 0 {
		s.announce()
	}
	return p, err
}

func (s *sleepy) Refill(ctx context.Context) (bool, error) { // there are no backfills
	s.backfills.wait(ctx)
	s.backfills = rest{since: time.Now()}
	return s.Store.Refill(ctx)
}

func (s *sleepy) LapseMonitors(ctx context.Context) (view.Lapsed, error) {
	s.lapsing.wait(ctx)
	woken := s.Woken()
	l, err := s.Store.LapseMonitors(ctx)
	s.lapsing = rest{woken, l.NextAt, time.Now()}
	return l, err
}

func (s *sleepy) TakeAlerts(ctx context.Context, publicURL string, channels int) (view.TakenAlerts, error) {
	s.telling.wait(ctx)
	woken := s.Woken()
	t, err := s.Store.TakeAlerts(ctx, publicURL, channels)
	s.telling = rest{woken, t.NextAt, time.Now()}
	if len(t.Messages) > 0 {
		s.telling = rest{}
	}
	return t, err
}

func (s *sleepy) RollUp(ctx context.Context) (more bool, err error) {
	s.rolling.wait(ctx)
	s.rolling = rest{}
	if more, err = s.Store.RollUp(ctx); !more {
		s.rolling.since = time.Now()
	}
	return more, err
}

// Renew answers some renewals of a worker that holds nothing without the store.
func (s *sleepy) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	if len(has.Attempts) == 0 && time.Since(s.renewed) < 5*time.Minute {
		return s.renewal, nil
	}
	r, err := s.Store.Renew(ctx, session, has)
	s.renewed, s.renewal = time.Now(), r
	return r, err
}

func (s *sleepy) Claim(ctx context.Context, r job.ClaimRequest) (job.Claim, error) {
	wait := time.NewTimer(r.Wait.D() + 4900*time.Millisecond) // the delay of a slow network
	defer wait.Stop()
	r.Wait = 0
	for {
		s.mu.Lock()
		news, known := s.news, s.empty == s.news
		s.mu.Unlock()
		if !known {
			got, err := s.Store.Claim(ctx, r)
			if err == nil && len(got.Jobs) < r.Want[task.ChecksQueue] {
				s.mu.Lock()
				s.empty = news
				s.mu.Unlock()
			}
			if err != nil || len(got.Jobs) > 0 {
				return got, err
			}
		}
		select {
		case <-news:
		case <-wait.C:
			return job.Claim{}, nil
		case <-ctx.Done():
			return job.Claim{}, ctx.Err()
		}
	}
}

// call calls the URL of a heartbeat. While the node is stopped, the call is lost.
func (s *station) call(key string, kind monitor.CallKind) {
	if s.st == nil {
		return
	}
	if _, err := s.st.Beat(s.Context(), key, monitor.Call{Kind: kind}); err != nil {
		s.Error(fmt.Errorf("beat: %w", err))
	}
}
