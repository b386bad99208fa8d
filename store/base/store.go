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

// Options says how a store behaves. The zero value works.
type Options struct {
	// SessionTTL is how long a worker's session lives without a renewal. Default: 30s.
	SessionTTL time.Duration
	// Poll is how often a waiting claim looks for jobs without an announcement. Default: 1s, with a jitter of a fifth.
	Poll time.Duration
	// Keep is the retention. Default: 30 days and a million finished jobs.
	Keep Keep
	// Clock, if set, decides instead of the database's or the system's clock. Tests use it.
	Clock func() time.Time
	// Vet, if set, says what is wrong with a task beyond what package task can tell: expressions and selectors that do not compile.
	Vet func(task.Task) error
	// Bytes is where artifacts lie. Without it programs cannot be uploaded.
	Bytes Bytes
	// Sealer hides secrets. Without it none can be kept.
	Sealer Sealer
	// RingAgain is how long after a ticket was made it is made again, if its job was not claimed; twice as long after each
	// time, up to 32 times as long. Default: 30s.
	RingAgain time.Duration
	// PackFrom is how many jobs a claim must have got for their leases to share a row. Default: 50 on PostgreSQL, 10 on SQLite.
	PackFrom int
	// Claims switches mechanisms of the claim path off. Default: none.
	Claims Claims
	// Monotonic, if set, is read beside the clock to notice that it was set. Default: this process's, or nothing where Clock is set.
	Monotonic func() time.Duration
	// ZoneRelease is the release of this machine's time zone data, such as "2026b". Default: [cron.ZoneRelease].
	ZoneRelease string
	// Logger gets what heals by itself at warn. Default: discarded.
	Logger *slog.Logger
	// Observer hears what happens, for metrics. Default: none.
	Observer Observer
}

// Observer hears what happens in a store. Its methods must not block.
type Observer interface {
	Claimed(queue string, jobs int)
	// Waited is told, of each job that was claimed, how long after its due time that was.
	Waited(queue string, kind task.Kind, lag time.Duration)
	Settled(queue string, outcome job.Outcome, state job.State, ran time.Duration)
	// Fired is told of each row of occurrences: of how many nominal times it is, and how late it was decided.
	Fired(decision schedule.Decision, reason core.Reason, times int, lag time.Duration)
	Stale(jobs int)
	Lost(sessions int)
	// Released is told how many jobs a lost session held, and how long after its last sign they were released.
	Released(jobs int, silent time.Duration)
	// Checked is told of each check of a monitor that was judged. A check without a latency took 0.
	Checked(kind task.Kind, outcome task.CheckOutcome, latency time.Duration)
	// Tried is told of each try to deliver a message to a channel of a kind, and what its alerts became.
	Tried(channel string, became alert.State)
	// Delivered is told of each try to deliver events to a hook, and what came of it: sent, failed or disabled.
	Delivered(result string, events int)
	// OverQuota is told of each request that a quota of its namespace had no room for.
	OverQuota(namespace, quota string)
	// KeptOut is told how many jobs of a queue were refused because it was full, dropped or throttled, by the reason.
	KeptOut(queue string, why core.Reason, jobs int)
	// Took is told of each transition. It failed by a fault of the store, and not
	// because what was asked for cannot be.
	Took(transition string, d time.Duration, failed bool)
}

// WithDefaults fills what was left out.
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
	if o.RingAgain == 0 {
		o.RingAgain = 30 * time.Second
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
		o.Observer = deaf{}
	}
	return o
}

// Store is what all parts of a store stand on: the database, the clock, and who waits for what.
type Store struct {
	db       DB
	Far      bool // it is a [Foreseer]
	SQL      Dialect
	Opt      Options
	Hub      *Hub
	watch    watch
	hearing  hearing
	outdated outdated
	refusal  atomic.Pointer[refusal]
	unopened rate.Sometimes // tells of secrets that cannot be opened

	Closing context.Context // ends with Close
	close   context.CancelFunc

	audited  func(c *Change, doc string) error
	created  func(c *Change, noun, namespace, name string) error
	clockSet []func()
	shift    func(c *Change, step Step) error
	closers  []func()
}

// New is a store without any noun.
func New(db DB, o Options) *Store {
	_, far := db.(Foreseer)
	s := &Store{db: db, Far: far, SQL: db.Dialect(), Opt: o.WithDefaults(), Hub: NewHub(), unopened: rate.Sometimes{Interval: time.Minute}}
	s.hearing.since = s.processNow()
	s.Closing, s.close = context.WithCancel(context.Background())
	if db, is := db.(Epochal); is {
		db.OnEpoch(s.forget)
	}
	return s
}

// OnClose has fn run when the store is closed, OnClockSet after a clock that was set has been followed, OnShift to follow it,
// and OnAudit in a transition that writes a definition.
func (s *Store) OnClose(fn func())                            { s.closers = append(s.closers, fn) }
func (s *Store) OnClockSet(fn func())                         { s.clockSet = append(s.clockSet, fn) }
func (s *Store) OnShift(fn func(c *Change, step Step) error)  { s.shift = fn }
func (s *Store) OnAudit(fn func(c *Change, doc string) error) { s.audited = fn }

// OnCreate has fn run in a transition that makes a thing of a noun.
func (s *Store) OnCreate(fn func(c *Change, noun, namespace, name string) error) { s.created = fn }

// Close closes the database. Transitions under way are committed or rolled back.
func (s *Store) Close() error {
	s.close()
	for _, fn := range s.closers {
		fn()
	}
	return s.db.Close()
}

// DB is the database underneath, for what only one of the two can do.
func (s *Store) DB() DB { return s.db }

// Run carries wake-ups between this process and others until ctx ends, or until
// this program is found to be too old for the database, which is the error. A
// store without it works, at the pace of [Options.Poll].
func (s *Store) Run(ctx context.Context) error {
	if !s.Far { // no other process can migrate it meanwhile
		return s.db.Wakeups().Run(ctx, s.Hub.heard)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	heard := make(chan error, 1)
	go func() {
		defer stop()
		heard <- s.db.Wakeups().Run(ctx, s.Hub.heard)
	}()
	err := s.followSchema(ctx)
	stop()
	return errors.Join(err, <-heard)
}

// Write runs a transition, tells the observer, and after the commit wakes whom
// it concerns. One that finds the clock set is begun again once it was followed.
func (s *Store) Write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.WriteAhead(ctx, name, nil, fn)
}

// isFault tells what went wrong here from what a caller asked for and did not get, or did not wait for.
func isFault(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	return !core.Refused(err) && core.CodeOf(err) != core.Unauthorized
}

// WriteAhead is write where it is known what fn asks first: ahead asks the same.
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
	s.Hears(ctx, err)
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
		again := *asked // what an earlier try has gathered is gone with it
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

// Begin is a transition that is asked for now and has no transaction yet.
func (s *Store) Begin(ctx context.Context) *Change {
	c := &Change{Ctx: ctx, Begun: time.Now(), s: s}
	if s.Opt.Monotonic != nil {
		c.asked = s.Opt.Monotonic()
	}
	return c
}

// Change is one transition under way: its transaction, its one instant, and
// whom to wake when it has been committed.
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
	Begun   time.Time                // when it was asked for, by the monotonic clock
	asked   time.Duration            // the same by [Options.Monotonic]
	s       *Store
	wakes   []string
	// announced is set when other processes hear of them with the commit.
	announced bool
	then      []func()
	before    []func() error
	// foreign is set in a transaction that its caller commits.
	Foreign bool
	// clock is what was known of it when it was compared; zero before.
	Clock ClockRow
	// wakesEarly is set where claims are woken within the transaction: one that
	// waits has been told of all that any transaction before has done.
	WakesEarly bool
	unsure     bool // a clock that was set is no reason to begin again, but nothing is trusted

	kept []any // see kept
}

// Kept answers what a room keeps for the length of a transition, a T of its own. It is zero when it is first asked for.
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

// wakeEarly wakes claims before the commit, where they can join it.
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

// Base is the store that the transition changes.
func (c *Change) Base() *Store { return c.s }

// After runs fn when the transition has been committed. In a transaction of the
// caller's the commit is not seen, and it does not run.
func (c *Change) After(fn func()) { c.then = append(c.then, fn) }

// Before runs fn at the end of the transition, within its transaction: what comes there once for all that has happened,
// and what is locked last. There is no such end in a transaction of the caller's.
func (c *Change) Before(fn func() error) { c.before = append(c.before, fn) }

// Observe tells the observer of what has happened once it has: what is begun again after a fault is counted once, and what
// is taken back is not. In a transaction of the caller's it is told at once.
func (c *Change) Observe(fn func(o Observer)) {
	if c.Foreign {
		fn(c.s.Opt.Observer)
		return
	}
	c.After(func() { fn(c.s.Opt.Observer) })
}

func (c *Change) Wake(topic string) {
	for _, t := range c.wakes {
		if t == topic {
			return
		}
	}
	c.wakes = append(c.wakes, topic)
}

// Wakes are the topics that the transition wakes after its commit.
func (c *Change) Wakes() []string { return c.wakes }

type deaf struct{}

func (deaf) Claimed(string, int)                                      {}
func (deaf) Waited(string, task.Kind, time.Duration)                  {}
func (deaf) Released(int, time.Duration)                              {}
func (deaf) Settled(string, job.Outcome, job.State, time.Duration)    {}
func (deaf) Fired(schedule.Decision, core.Reason, int, time.Duration) {}
func (deaf) Stale(int)                                                {}
func (deaf) Lost(int)                                                 {}
func (deaf) Checked(task.Kind, task.CheckOutcome, time.Duration)      {}
func (deaf) Tried(string, alert.State)                                {}
func (deaf) Delivered(string, int)                                    {}
func (deaf) OverQuota(string, string)                                 {}
func (deaf) KeptOut(string, core.Reason, int)                         {}
func (deaf) Took(string, time.Duration, bool)                         {}
