// Package steps replays the recorded steps of a job to its handler, and records
// new steps. A [Book] belongs to one attempt, and runs one step at a time. A
// step that is recorded is not run again: its result comes from the record.
// After the lease is lost, nothing is recorded and each further step returns an
// error.
package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// Attempt is the part of an attempt that its book needs.
type Attempt struct {
	Keeper  job.StepKeeper // nil: nothing is recorded, and each step runs
	Ref     job.Ref
	Session string
	Number  int             // of the attempt; the first has no record to read
	Lost    <-chan struct{} // closed when the session of the attempt is lost
	Gone    error           // the error of steps after that
}

// Book replays and records the steps of one attempt.
type Book struct {
	Attempt

	stepLock sync.Mutex                 // held while a step runs; guards all fields but running and misused
	running  atomic.Pointer[string]     // name of the step that runs
	misused  atomic.Pointer[core.Error] // the error of a step that began while another ran

	read     bool
	recorded []job.Step
	now      time.Time       // server time when recorded was read; it decides the end of sleeps
	readAt   time.Time       // the same instant by this machine's clock
	met      int             // how many recorded steps the handler has reached
	names    map[string]bool // names of steps that the handler has reached
	broken   error           // set when the code has changed or the record is lost: no more steps
	asleep   *Asleep
}

// New returns the book of an attempt that has reached no step.
func New(a Attempt) *Book { return &Book{Attempt: a, names: map[string]bool{}} }

// Asleep is the error of a sleep or wait that is not over.
type Asleep struct {
	Name string
	Kind job.StepKind
	Left time.Duration
}

func (a *Asleep) Error() string {
	switch a.Kind {
	case job.StepSignal:
		return fmt.Sprintf("waits for signal %q", a.Name)
	case job.StepAwait:
		return fmt.Sprintf("waits for a job in step %q", a.Name)
	}
	return fmt.Sprintf("sleeps in step %q", a.Name)
}

// wayOn is the end of each error about code that has changed.
const wayOn = "the code of the handler has changed since: bring the steps back in their order, put new ones behind worker.Version, or forget those that are recorded: belfry job reset-steps %d --from %s"

// changed returns the error of a handler that differs from the record from the step was on.
func (b *Book) changed(was job.Step, format string, args ...any) error {
	b.broken = core.Errorf(core.Conflict, "step %d of job %d is recorded as %s %q by attempt %d, and %s", was.Number, b.Ref.JobID, was.Kind, was.Name, was.Attempt, fmt.Sprintf(format, args...)).
		WithHint(wayOn, b.Ref.JobID, was.Word())
	return b.broken
}

// enter begins a step, unless another runs.
func (b *Book) enter(ctx context.Context, name string) error {
	if !b.stepLock.TryLock() {
		other := ""
		if running := b.running.Load(); running != nil {
			other = *running
		}
		err := core.Errorf(core.Conflict, "step %q of job %d begins while step %q runs", name, b.Ref.JobID, other).
			WithHint("run steps one after the other, and not inside each other")
		b.misused.Store(err)
		return err
	}
	b.running.Store(&name)
	if err := b.refuse(ctx, name); err != nil {
		b.stepLock.Unlock()
		return err
	}
	return nil
}

// refuse returns why a step must not run, or nil if it may.
func (b *Book) refuse(ctx context.Context, name string) error {
	if misused := b.misused.Load(); misused != nil && b.broken == nil {
		b.broken = misused
	}
	switch {
	case b.broken != nil:
		return b.broken
	case b.asleep != nil:
		return b.asleep
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if err := (job.NewStep{Number: 1, Name: name, Kind: job.StepRun}).Validate(); err != nil {
		b.broken = err
		return err
	}
	if b.names[name] {
		b.broken = core.Errorf(core.Conflict, "step %q of job %d is met twice", name, b.Ref.JobID).WithHint("give each step of a job a name of its own, in a loop with the number of the round")
		return b.broken
	}
	return nil
}

func (b *Book) leave() { b.stepLock.Unlock() }

// load reads the record before the first step.
func (b *Book) load(ctx context.Context) error {
	if b.read {
		return nil
	}
	if b.Keeper == nil || b.Number == 1 {
		b.read = true
		return nil
	}
	var list job.StepList
	err := b.patiently(ctx, func(ctx context.Context) (err error) {
		list, err = b.Keeper.Steps(ctx, b.Session, b.Ref)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the steps of job %d: %w", b.Ref.JobID, err)
	case list.Stale:
		return b.lost()
	}
	b.read, b.recorded, b.now, b.readAt = true, list.Steps, list.Now, time.Now()
	return nil
}

func (b *Book) lost() error {
	b.broken = b.Gone
	return b.broken
}

// next returns the next recorded step, if there is one. It fails if that step is not the one that the handler asks for.
func (b *Book) next(name string, kind job.StepKind, typ string) (job.Step, bool, error) {
	if b.met == len(b.recorded) {
		return job.Step{}, false, nil
	}
	was := b.recorded[b.met]
	switch {
	case was.Name != name:
		return was, false, b.changed(was, "the handler asks for %q", name)
	case was.Kind != kind:
		return was, false, b.changed(was, "the handler asks for a %s", kind)
	case was.Type != typ && was.Type != "" && typ != "":
		return was, false, b.changed(was, "the handler asks for a %s where a %s was recorded", typ, was.Type)
	}
	b.met++
	b.names[name] = true
	return was, true, nil
}

// Run decodes the recorded result of a step into out, whose type is typ. Without a record it runs fn, records the result and
// returns it for the caller to decode.
func (b *Book) Run(ctx context.Context, name, typ string, out any, fn func() (json.RawMessage, error)) (fresh json.RawMessage, err error) {
	if err := b.enter(ctx, name); err != nil {
		return nil, err
	}
	defer b.leave()
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	was, there, err := b.next(name, job.StepRun, typ)
	switch {
	case err != nil:
		return nil, err
	case there:
		if err := json.Unmarshal(was.Result, out); err != nil {
			return nil, b.changed(was, "the handler cannot read its result as %s: %v", typ, err)
		}
		return nil, nil
	}
	begun := time.Now()
	if fresh, err = fn(); err != nil {
		return nil, err
	}
	_, err = b.save(ctx, job.NewStep{Name: name, Kind: job.StepRun, Type: typ, Result: fresh, Took: core.Duration(time.Since(begun))})
	return fresh, err
}

// Sleep returns nil when d has passed since the sleep was recorded, and an [Asleep] before.
func (b *Book) Sleep(ctx context.Context, name string, d time.Duration) error {
	if err := b.enter(ctx, name); err != nil {
		return err
	}
	defer b.leave()
	if err := b.load(ctx); err != nil {
		return err
	}
	was, there, err := b.next(name, job.StepSleep, "")
	if err != nil {
		return err
	}
	left := max(d, 0)
	if there {
		left = was.WakeAt.Sub(b.now.Add(time.Since(b.readAt)))
	} else if _, err := b.save(ctx, job.NewStep{Name: name, Kind: job.StepSleep, Sleep: core.Duration(left)}); err != nil {
		return err
	}
	if left < time.Millisecond {
		return nil
	}
	if b.Keeper == nil {
		return wait(ctx, left)
	}
	b.asleep = &Asleep{name, job.StepSleep, left}
	return b.asleep
}

// Signal returns the data of the signal of that name. came is false if d has passed since the wait was recorded without the
// signal. Before that, the error is an [Asleep].
func (b *Book) Signal(ctx context.Context, name, typ string, d time.Duration) (brought json.RawMessage, came bool, err error) {
	if err := b.enter(ctx, name); err != nil {
		return nil, false, err
	}
	defer b.leave()
	if err := b.kept(name); err != nil {
		return nil, false, err
	}
	if err := b.load(ctx); err != nil {
		return nil, false, err
	}
	was, there, err := b.next(name, job.StepSignal, typ)
	if err != nil {
		return nil, false, err
	}
	now := b.now.Add(time.Since(b.readAt))
	n := job.NewStep{Number: was.Number, Name: name, Kind: job.StepSignal, Type: was.Type, Sleep: core.Duration(max(d, 0))}
	switch {
	case !there:
		n.Type = typ
		was, err = b.save(ctx, n)
		now = was.SavedAt
	case was.EndedAt.IsZero(): // as the record was read; the store decides about later signals
		was, err = b.record(ctx, n)
	}
	if err != nil || !was.EndedAt.IsZero() {
		return was.Result, !was.TimedOut, err
	}
	b.asleep = &Asleep{name, job.StepSignal, max(time.Millisecond, was.WakeAt.Sub(now))}
	return nil, false, b.asleep
}

// Spawn returns the recorded job of a step. Without a record it enqueues the job.
func (b *Book) Spawn(ctx context.Context, name string, n job.NewJob) (int64, error) {
	if err := b.enter(ctx, name); err != nil {
		return 0, err
	}
	defer b.leave()
	if err := b.kept(name); err != nil {
		return 0, err
	}
	if err := b.load(ctx); err != nil {
		return 0, err
	}
	was, there, err := b.next(name, job.StepSpawn, "")
	if err == nil && !there {
		was, err = b.save(ctx, job.NewStep{Name: name, Kind: job.StepSpawn, Job: &n})
	}
	return was.Child, err
}

// Await returns how a job ended, and an [Asleep] until it has.
func (b *Book) Await(ctx context.Context, name string, child int64) (how job.Ended, err error) {
	if err := b.enter(ctx, name); err != nil {
		return how, err
	}
	defer b.leave()
	if err := b.kept(name); err != nil {
		return how, err
	}
	if err := b.load(ctx); err != nil {
		return how, err
	}
	was, there, err := b.next(name, job.StepAwait, "")
	n := job.NewStep{Number: was.Number, Name: name, Kind: job.StepAwait, Child: child}
	switch {
	case err != nil:
		return how, err
	case !there:
		was, err = b.save(ctx, n)
	case was.Child != child:
		return how, b.changed(was, "the handler waits for job %d where it waited for job %d", child, was.Child)
	case was.EndedAt.IsZero(): // as the record was read
		was, err = b.record(ctx, n)
	}
	switch {
	case err != nil:
		return how, err
	case was.EndedAt.IsZero():
		b.asleep = &Asleep{name, job.StepAwait, job.MaxSnooze.D()}
		return how, b.asleep
	}
	if err := json.Unmarshal(was.Result, &how); err != nil {
		return how, b.changed(was, "its result is not how a job ended: %v", err)
	}
	return how, nil
}

// kept refuses a step that makes no sense without a record.
func (b *Book) kept(name string) error {
	if b.Keeper == nil {
		b.broken = core.Errorf(core.Conflict, "step %q of job %d needs a record, and nothing keeps one", name, b.Ref.JobID).WithHint("run the worker with a server")
	}
	return b.broken
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Version returns the version of a change that the job follows. It is the recorded one, or current, which is then recorded,
// if no later step is recorded. It is 0 if the job passed this place before the change was made.
func (b *Book) Version(ctx context.Context, change string, current int) (int, error) {
	if err := b.enter(ctx, change); err != nil {
		return 0, err
	}
	defer b.leave()
	if err := b.load(ctx); err != nil {
		return 0, err
	}
	if b.met < len(b.recorded) && b.recorded[b.met].Name != change {
		b.names[change] = true
		return 0, nil
	}
	was, there, err := b.next(change, job.StepVersion, "int")
	if err != nil {
		return 0, err
	}
	if there {
		var version int
		if json.Unmarshal(was.Result, &version) != nil {
			return 0, b.changed(was, "its result is no number")
		}
		if version > current {
			return 0, b.changed(was, "this program knows versions up to %d and the job follows %d", current, version)
		}
		return version, nil
	}
	raw, _ := json.Marshal(current)
	_, err = b.save(ctx, job.NewStep{Name: change, Kind: job.StepVersion, Type: "int", Result: raw})
	return current, err
}

// save records a finished step. The end of the attempt does not end the call at once: without the record the effect of the
// step would happen a second time.
func (b *Book) save(ctx context.Context, n job.NewStep) (s job.Step, err error) {
	n.Number = b.met + 1
	if err := n.Validate(); err != nil {
		b.broken = err
		return s, err
	}
	if b.Keeper == nil {
		b.note(job.Step{Number: n.Number, Name: n.Name, Kind: n.Kind})
		return s, nil
	}
	s, err = b.record(ctx, n)
	if err == nil {
		b.note(s)
	}
	return s, err
}

// record sends a step.
func (b *Book) record(ctx context.Context, n job.NewStep) (s job.Step, err error) {
	var saved job.SavedStep
	var full error
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		saved, err = b.Keeper.SaveStep(ctx, b.Session, b.Ref, n)
		if n.Kind == job.StepSpawn && isFull(err) {
			full, err = err, nil
		}
		return err
	})
	switch {
	case full != nil: // the next attempt enqueues again, if the retry policy allows one
		b.broken = full
		return s, full
	case err == nil && saved.Stale:
		return s, b.lost()
	case err == nil:
		return saved.Step, nil
	case mayHelp(err) && (n.Kind == job.StepSignal || n.Kind == job.StepAwait):
		err = core.Errorf(core.Unknown, "it is unknown whether the wait of step %q of job %d is over: %w", n.Name, b.Ref.JobID, err)
	case mayHelp(err) && n.Kind == job.StepSpawn:
		err = core.Errorf(core.Unknown, "it is unknown whether step %q of job %d has enqueued its job: %w", n.Name, b.Ref.JobID, err).
			WithHint("the next attempt asks again, and it is enqueued once")
	case mayHelp(err):
		err = core.Errorf(core.Unknown, "step %q of job %d is done, and it is unknown whether that is recorded: %w", n.Name, b.Ref.JobID, err).
			WithHint("if it is not, the next attempt does it again: see belfry job steps %d", b.Ref.JobID)
	}
	b.broken = err
	return s, err
}

func (b *Book) note(s job.Step) {
	b.recorded = append(b.recorded, s)
	b.met++
	b.names[s.Name] = true
}

// tryFor is the timeout of one call, and the time for calls after the end of the attempt.
const tryFor = 5 * time.Second

// patiently repeats a call that got no answer, until [tryFor] after the end of the attempt.
func (b *Book) patiently(ctx context.Context, call func(ctx context.Context) error) error {
	pause := patience.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if b.Lost != nil {
		lost := b.Lost
		go func() {
			select {
			case <-lost:
				cancel()
			case <-own.Done():
			}
		}()
	}
	for {
		try, stop := context.WithTimeout(own, tryFor)
		err := call(try)
		stop()
		if err == nil || !mayHelp(err) || ctx.Err() != nil || own.Err() != nil {
			return err
		}
		pause.Sleep(ctx)
	}
}

// isFull reports whether a job was not enqueued because there is no room for it.
func isFull(err error) bool {
	code := core.CodeOf(err)
	return code == core.OverQuota || code == core.QueueFull
}

// mayHelp reports whether a repeated call may succeed.
func mayHelp(err error) bool {
	if errors.Is(err, core.ErrOutdated) {
		return false
	}
	switch core.CodeOf(err) {
	case core.Invalid, core.NotFound, core.Conflict, core.Unauthorized, core.Forbidden, core.TooLarge:
		return false
	}
	return true
}

// Close returns the error with which the attempt ends, given the error of the handler. If the handler did not reach all
// recorded steps, its code has changed. A pending sleep goes on whatever the handler did with its error.
func (b *Book) Close(err error) error {
	if !b.stepLock.TryLock() {
		return core.Errorf(core.Conflict, "the handler of job %d ended while step %q runs", b.Ref.JobID, *b.running.Load()).
			WithHint("wait for each step before the handler returns")
	}
	defer b.stepLock.Unlock()
	if misused := b.misused.Load(); misused != nil && b.broken == nil {
		b.broken = misused
	}
	switch {
	case b.broken != nil && err == nil:
		return b.broken
	case b.broken != nil:
		return err
	case b.asleep != nil:
		return b.asleep
	case err == nil && b.met < len(b.recorded):
		return b.changed(b.recorded[b.met], "the handler ended without it")
	}
	return err
}
