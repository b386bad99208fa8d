package base

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Options configure a store. The zero value works.
type Options struct {
	// SessionTTL is how long a worker's session lives without a renewal. Default: 30s.
	SessionTTL time.Duration
	// Poll is how often a waiting claim looks for jobs without an announcement. Default: 1s, with a jitter of a fifth.
	Poll time.Duration
	// Keep is the retention. Default: 30 days and a million finished jobs.
	Keep Keep
	// Clock, if set, decides instead of the database's or the system's clock. Tests use it.
	Clock func() time.Time
	// Vet, if set, validates a task beyond the checks of package task: that expressions and selectors compile.
	Vet func(task.Task) error
	// Bytes stores artifacts. Without it programs cannot be uploaded.
	Bytes Bytes
	// Sealer seals secrets. Without it secrets cannot be stored.
	Sealer Sealer
	// TicketRetry is the delay after which a ticket is made again if its job was not claimed. It doubles each time, up to 32 times.
	// Default: 30s.
	TicketRetry time.Duration
	// PackFrom is the smallest number of claimed jobs whose leases share a row. Default: 50 on PostgreSQL, 10 on SQLite.
	PackFrom int
	// Claims switches optimizations of the claim path off. Default: none.
	Claims Claims
	// Monotonic, if set, detects that the clock was set. Default: the monotonic clock of this process; none if Clock is set.
	Monotonic func() time.Duration
	// ZoneRelease is the release of this machine's time zone data, such as "2026b". Default: [cron.ZoneRelease].
	ZoneRelease string
	// Logger gets transient faults, at level warn. Default: discarded.
	Logger *slog.Logger
	// Observer receives the events of the store, for metrics. Default: none.
	Observer Observer
}

// Observer receives the events of a store. Its methods must not block.
type Observer interface {
	Claimed(queue string, jobs int)
	// Waited reports, for each claimed job, the time from its due time to the claim.
	Waited(queue string, kind task.Kind, lag time.Duration)
	Settled(queue string, outcome job.Outcome, state job.State, ran time.Duration)
	// Fired reports a row of occurrences: for how many nominal times it stands, and how late it was decided.
	Fired(decision schedule.Decision, reason core.Reason, times int, lag time.Duration)
	Stale(jobs int)
	Lost(sessions int)
	// Released reports how many jobs a lost session held, and how long after its last renewal they were released.
	Released(jobs int, silent time.Duration)
	// Checked reports a judged check of a monitor. The latency is 0 if the check has none.
	Checked(kind task.Kind, outcome task.CheckOutcome, latency time.Duration)
	// Tried reports a try to deliver a message to a channel of a kind, and the resulting state of its alerts.
	Tried(channel string, became alert.State)
	// Delivered reports a try to deliver events to a hook, with its result: sent, failed or disabled.
	Delivered(result string, events int)
	// OverQuota reports a request that a quota of its namespace refused.
	OverQuota(namespace, quota string)
	// KeptOut reports how many jobs of a queue were refused because it was full, dropped or throttled, by reason.
	KeptOut(queue string, why core.Reason, jobs int)
	// Took reports a transition. failed is set for a fault of the store, not for a refused request.
	Took(transition string, d time.Duration, failed bool)
}

// WithDefaults sets the defaults of zero options.
func (o Options) WithDefaults() Options {
	if o.SessionTTL == 0 {
		o.SessionTTL = job.DefaultSessionTTL.D()
	}
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	if o.PackFrom <= 0 {
		o.PackFrom = packFrom
	}
	if o.Claims.Plain {
		o.Claims = Claims{true, true, true, true, true, true, true}
	}
	if o.Claims.NoPacks {
		o.PackFrom = math.MaxInt32
	}
	if o.TicketRetry == 0 {
		o.TicketRetry = 30 * time.Second
	}
	if o.Keep.Age == 0 {
		o.Keep.Age = 30 * 24 * time.Hour
	}
	if o.Keep.Jobs == 0 {
		o.Keep.Jobs = 1_000_000
	}
	if o.Keep.Uploads == 0 {
		o.Keep.Uploads = task.DefaultUploadWait
	}
	if o.Keep.Events == 0 {
		o.Keep.Events = hook.MaxKept
	}
	if o.Keep.Results == 0 {
		o.Keep.Results = 7 * 24 * time.Hour
	}
	if o.Monotonic == nil && o.Clock == nil {
		o.Monotonic = monotonic()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	return o
}

// Store is the base of all parts of a store: the database, the clock, and the hub of wake-ups.
type Store struct {
	db           DB
	Far          bool // the database is a [Foreseer]
	SQL          Dialect
	Opt          Options
	Hub          *Hub
	watch        watch
	availability availability
	outdated     outdated
	refusal      atomic.Pointer[refusal]
	unopened     rate.Sometimes // logs secrets that cannot be opened

	Closing context.Context // ends with Close
	close   context.CancelFunc

	audited  func(c *Change, doc string) error
	created  func(c *Change, noun, namespace, name string) error
	clockSet []func()
	shift    func(c *Change, step Step) error
	closers  []func()
}

// New returns a store without the parts for nouns.
func New(db DB, o Options) *Store {
	_, far := db.(Foreseer)
	s := &Store{db: db, Far: far, SQL: db.Dialect(), Opt: o.WithDefaults(), Hub: NewHub(), unopened: rate.Sometimes{Interval: time.Minute}}
	s.availability.since = s.processNow()
	s.Closing, s.close = context.WithCancel(context.Background())
	if db, is := db.(Epochal); is {
		db.OnEpoch(s.forget)
	}
	return s
}

// OnClose, OnClockSet, OnShift and OnAudit register functions. OnClose runs fn when the store is closed, OnClockSet after a step
// of the clock was followed, OnShift to follow it, and OnAudit in a transition that writes a definition.
func (s *Store) OnClose(fn func()) { s.closers = append(s.closers, fn) }

// OnClockSet registers fn to run in this process after the clock was set. Several may be registered.
func (s *Store) OnClockSet(fn func()) { s.clockSet = append(s.clockSet, fn) }

// OnShift registers fn to run in the transaction that shifts stored times after the clock was set. The last one counts.
func (s *Store) OnShift(fn func(c *Change, step Step) error) { s.shift = fn }

// OnAudit registers fn to run in each transaction that writes an audit entry, with the entry as JSON.
func (s *Store) OnAudit(fn func(c *Change, doc string) error) { s.audited = fn }

// OnCreate registers fn to run in a transition that creates an object of a noun.
func (s *Store) OnCreate(fn func(c *Change, noun, namespace, name string) error) { s.created = fn }

// Close closes the database. Transitions under way are committed or rolled back.
func (s *Store) Close() error {
	s.close()
	for _, fn := range s.closers {
		fn()
	}
	return s.db.Close()
}

// DB returns the database, for features that only one of the two databases has.
func (s *Store) DB() DB { return s.db }

// Run carries wake-ups between this process and others until ctx ends. It returns an error if this program is found to be too old
// for the database. A store without Run works, at the pace of [Options.Poll].
func (s *Store) Run(ctx context.Context) error {
	if !s.Far { // no other process can migrate the database meanwhile
		return s.db.Wakeups().Run(ctx, s.Hub.wakeAnnounced)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	heard := make(chan error, 1)
	go func() {
		defer stop()
		heard <- s.db.Wakeups().Run(ctx, s.Hub.wakeAnnounced)
	}()
	err := s.followSchema(ctx)
	stop()
	return errors.Join(err, <-heard)
}

// Write runs a transition, reports it to the observer, and wakes its topics after the commit. If the transition finds that the
// clock was set, the clock is followed, and the transition begins again.
func (s *Store) Write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.WriteAhead(ctx, name, nil, fn)
}

// isFault reports whether an error is a fault of the store: not a refused request, and not a caller that left.
func isFault(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	return !core.Refused(err) && core.CodeOf(err) != core.Unauthorized
}

// WriteAhead is Write for a transition whose first queries are known. ahead makes the same queries as fn.
func (s *Store) WriteAhead(ctx context.Context, name string, ahead func(c *Change), fn func(c *Change) error) error {
	begun := time.Now()
	if err := s.outdated.as(core.Unavailable); err != nil {
		return err
	}
	c, err := s.try(ctx, ahead, fn, false)
	for tries := 1; errors.Is(err, errClockSet) && tries <= followTries; tries++ {
		if err = s.FollowClock(ctx); err == nil {
			c, err = s.try(ctx, ahead, fn, tries == followTries)
		}
	}
	s.Opt.Observer.Took(name, time.Since(begun), isFault(err))
	s.NoteAvailability(ctx, err)
	s.SawOutdated(err)
	s.sawRefusal(err)
	if err == nil {
		for _, fn := range c.then {
			fn()
		}
		s.Hub.Wake(c.wakes...)
		if !c.announced {
			s.db.Wakeups().Announce(c.wakes...)
		}
	}
	return err
}

// try runs a transition once; unsure is [Change.unsure].
func (s *Store) try(ctx context.Context, ahead func(c *Change), fn func(c *Change) error, unsure bool) (c *Change, err error) {
	asked := s.Begin(ctx)
	asked.unsure = unsure
	write := s.db.Write
	if db, far := s.db.(Foreseer); far {
		write = func(ctx context.Context, fn func(Tx, Moment) error) error {
			return db.WriteAhead(ctx, s.foresee(asked, ahead), fn)
		}
	}
	err = write(ctx, func(tx Tx, at Moment) error {
		again := *asked // drops the effects of an earlier try
		c = &again
		c.Tx, c.SQL, c.Now, c.Stable = tx, s.SQL, core.Micro(at.Now), core.Micro(at.Stable)
		c.Number, c.Oldest = at.Number, at.Oldest
		c.Version, c.Hooks, c.WakesEarly = at.Version, at.Hooks, at.Woke != nil
		if s.Opt.Claims.NoForesight {
			c.Tx = struct{ Tx }{tx}
		}
		if s.Opt.Claims.NoKnown {
			c.Version = nil
		}
		if err := fn(c); err != nil {
			return err
		}
		for len(c.before) > 0 {
			end := c.before[0]
			c.before = c.before[1:]
			if err := end(); err != nil {
				return err
			}
		}
		c.wakeEarly(at.Woke)
		if tx, ok := tx.(Announcer); ok {
			c.announced = tx.Announce(c.wakes)
		}
		return nil
	})
	return c, err
}

// Begin returns a transition that begins now and has no transaction yet.
func (s *Store) Begin(ctx context.Context) *Change {
	c := &Change{Ctx: ctx, Begun: time.Now(), s: s}
	if s.Opt.Monotonic != nil {
		c.asked = s.Opt.Monotonic()
	}
	return c
}

// Change is one transition under way: its transaction, its instant, and the topics to wake after its commit.
type Change struct {
	Ctx     context.Context
	Tx      Tx
	SQL     Dialect
	Now     time.Time
	Stable  time.Time                // [Moment.Stable]
	Number  int64                    // [Moment.Number]
	Oldest  int64                    // [Moment.Oldest]
	Version func(table string) int64 // [Moment.Version]
	Hooks   int64                    // [Moment.Hooks]
	Begun   time.Time                // when the transition was requested, by the monotonic clock
	asked   time.Duration            // the same by [Options.Monotonic]
	s       *Store
	wakes   []string
	// announced is set if the commit announces the topics to other processes.
	announced bool
	then      []func()
	before    []func() error
	// Foreign is set in a transaction that its caller commits.
	Foreign bool
	// Clock is the row of the clock when it was last compared; zero before.
	Clock ClockRow
	// WakesEarly is set if claims are woken within the transaction: then a waiting claim has been woken by every earlier
	// transaction that concerns it.
	WakesEarly bool
	unsure     bool // a step of the clock does not begin the transition again, but no elapsed time is trusted

	kept []any // see [Kept]
}

// Kept returns the state of type T that a package keeps for the length of a transition. It is zero at first.
func Kept[T any](c *Change) *T {
	for _, k := range c.kept {
		if v, is := k.(*T); is {
			return v
		}
	}
	v := new(T)
	c.kept = append(c.kept, v)
	return v
}

// wakeEarly wakes claims before the commit, if they can join it.
func (c *Change) wakeEarly(woke func(int)) {
	if woke == nil {
		return
	}
	late, n := c.wakes[:0], 0
	for _, t := range c.wakes {
		if forClaims(t) {
			n += c.s.Hub.Wake(t)
		} else {
			late = append(late, t)
		}
	}
	c.wakes = late
	if n > 0 {
		woke(n)
	}
}

// Base returns the store of the transition.
func (c *Change) Base() *Store { return c.s }

// After registers fn to run after the commit. In a transaction of the caller, the commit is not seen, and fn does not run.
func (c *Change) After(fn func()) { c.then = append(c.then, fn) }

// Before registers fn to run at the end of the transition, within its transaction: for work that is done once for the whole
// transition, and for rows that are locked last. A transaction of the caller has no such end.
func (c *Change) Before(fn func() error) { c.before = append(c.before, fn) }

// Observe runs fn after the commit: a transition that begins again is reported once, and one that is rolled back is not. In a
// transaction of the caller, fn runs at once.
func (c *Change) Observe(fn func(o Observer)) {
	if c.Foreign {
		fn(c.s.Opt.Observer)
		return
	}
	c.After(func() { fn(c.s.Opt.Observer) })
}

// Wake wakes the goroutines that wait for a topic, after the commit. A repeated topic is woken once.
func (c *Change) Wake(topic string) {
	for _, t := range c.wakes {
		if t == topic {
			return
		}
	}
	c.wakes = append(c.wakes, topic)
}

// Wakes returns the topics that the transition wakes after its commit.
func (c *Change) Wakes() []string { return c.wakes }

type noObserver struct{}

func (noObserver) Claimed(string, int)                                      {}
func (noObserver) Waited(string, task.Kind, time.Duration)                  {}
func (noObserver) Released(int, time.Duration)                              {}
func (noObserver) Settled(string, job.Outcome, job.State, time.Duration)    {}
func (noObserver) Fired(schedule.Decision, core.Reason, int, time.Duration) {}
func (noObserver) Stale(int)                                                {}
func (noObserver) Lost(int)                                                 {}
func (noObserver) Checked(task.Kind, task.CheckOutcome, time.Duration)      {}
func (noObserver) Tried(string, alert.State)                                {}
func (noObserver) Delivered(string, int)                                    {}
func (noObserver) OverQuota(string, string)                                 {}
func (noObserver) KeptOut(string, core.Reason, int)                         {}
func (noObserver) Took(string, time.Duration, bool)                         {}
