// Package leasertest has a leaser in memory for tests of workers. The leaser
// keeps the contract of [job.Leaser] and decides with [job.Settle]. On command
// it fails, stalls and loses sessions.
package leasertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Leaser keeps jobs in memory. Set the fields before its first use.
type Leaser struct {
	TTL   time.Duration  // of sessions; default: 30s
	Slots map[string]int // of queues for which the worker sets no slots; default: 10
	// Before runs at the begin of each call, with the name of the call. It may
	// block, and its error becomes the error of the call.
	Before func(ctx context.Context, call string) error
	// After runs when a call has done its work, before it returns.
	After func(ctx context.Context, call string) error

	// Leased gets each claimed job and may change it.
	Leased func(*job.LeasedJob)

	mu       sync.Mutex
	jobs     map[int64]*job.Job
	tasks    map[string]task.Task
	sessions map[string]*session
	lease    int64
	changed  chan struct{}
	logs     map[job.Ref][]job.LogPiece
	calls    map[string]int
	batches  [][]job.Finish
	attempts map[int64][]job.Finish
	tickets  map[job.Ticket]bool
	refused  []string
	steps    map[int64][]job.Step
	signals  map[signalKey]json.RawMessage
	waiting  map[job.Ref]int // numbers of the steps for which attempts wait
}

type session struct {
	info    job.WorkerInfo
	expires time.Time
	over    bool
	drain   bool
	nudge   chan struct{}
}

// New makes a leaser whose jobs wait for a worker.
func New() *Leaser {
	return &Leaser{
		jobs: map[int64]*job.Job{}, tasks: map[string]task.Task{}, sessions: map[string]*session{},
		changed: make(chan struct{}), logs: map[job.Ref][]job.LogPiece{}, calls: map[string]int{},
		attempts: map[int64][]job.Finish{}, tickets: map[job.Ticket]bool{}, steps: map[int64][]job.Step{}, signals: map[signalKey]json.RawMessage{}, waiting: map[job.Ref]int{},
	}
}

// AddTask adds a task.
func (b *Leaser) AddTask(t task.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[t.Name] = t.WithDefaults()
}

// Enqueue adds a job.
func (b *Leaser) Enqueue(n job.NewJob) job.Job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return enqueue(b, n)
}

func enqueue(b *Leaser, n job.NewJob) job.Job {
	t, ok := b.tasks[n.Task]
	if !ok {
		t = task.Task{Name: n.Task}.WithDefaults()
		b.tasks[n.Task] = t
	}
	now := time.Now()
	j := &job.Job{
		ID: int64(len(b.jobs) + 1), Namespace: t.Namespace, Task: t.Name, Kind: t.Kind, Queue: t.Queue,
		State: job.Ready, Input: n.Input, Trigger: job.TriggerEnqueue, DueAt: now.Add(n.Delay.D()), CreatedAt: now,
		MaxAttempts: t.Retry.MaxAttempts, Timeout: t.Timeout,
	}
	if n.Queue != "" {
		j.Queue = n.Queue
	}
	if n.Timeout != 0 {
		j.Timeout = n.Timeout
	}
	if n.MaxAttempts != 0 {
		j.MaxAttempts = n.MaxAttempts
	}
	b.jobs[j.ID] = j
	b.wake()
	return *j
}

// MakeTicket makes a ticket of a job. Its earlier tickets stay valid.
func (b *Leaser) MakeTicket(id int64) job.Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := job.Ticket{JobID: id, Secret: fmt.Sprint("secret-", len(b.tickets))}
	b.tickets[t] = true
	return t
}

// Job finds a job.
func (b *Leaser) Job(_ context.Context, _ string, id int64) (job.Job, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releaseLost()
	j := b.jobs[id]
	if j == nil {
		return job.Job{}, core.Errorf(core.NotFound, "no job %d", id)
	}
	return *j, nil
}

// Cancel requests the end of a running job, and nudges its worker.
func (b *Leaser) Cancel(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.jobs[id]
	j.CancelAt = time.Now()
	if s := b.sessions[j.Session]; s != nil {
		close(s.nudge)
		s.nudge = make(chan struct{})
	}
}

// Lose gives up all sessions.
func (b *Leaser) Lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, s := range b.sessions {
		b.end(id, s, job.OutcomeLost)
	}
}

// Drain sets or unsets the drain of every session.
func (b *Leaser) Drain(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		s.drain = on
		close(s.nudge)
		s.nudge = make(chan struct{})
	}
}

// Log returns the log of an attempt in the order of its numbers.
func (b *Leaser) Log(ref job.Ref) []job.LogPiece {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.logs[ref])
}

// Text returns the log of a job's last attempt as text.
func (b *Leaser) Text(id int64) (text string) {
	b.mu.Lock()
	ref := job.Ref{JobID: id, Lease: b.jobs[id].Lease}
	b.mu.Unlock()
	for _, p := range b.Log(ref) {
		text += p.Text
	}
	return text
}

// Attempts returns the recorded attempts of a job.
func (b *Leaser) Attempts(id int64) []job.Finish {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.attempts[id])
}

// Batches returns the content of each Finish call.
func (b *Leaser) Batches() [][]job.Finish {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.batches)
}

// Calls returns the number of calls of this name.
func (b *Leaser) Calls(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[name]
}

// Breaches lists the workers' breaches of the contract.
func (b *Leaser) Breaches() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.refused)
}

func (b *Leaser) before(ctx context.Context, call string) error {
	b.mu.Lock()
	b.calls[call]++
	b.mu.Unlock()
	if b.Before == nil {
		return ctx.Err()
	}
	return b.Before(ctx, call)
}

func (b *Leaser) after(ctx context.Context, call string) error {
	if b.After == nil {
		return nil
	}
	return b.After(ctx, call)
}

func (b *Leaser) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// OpenSession implements [job.Leaser].
func (b *Leaser) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	if err := b.before(ctx, "open"); err != nil {
		return job.Session{}, err
	}
	if err := w.Validate(); err != nil {
		return job.Session{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := job.Session{ID: fmt.Sprintf("s%d", len(b.sessions)+1), TTL: core.Duration(b.ttl()), Queues: served(b, w)}
	b.sessions[out.ID] = &session{info: w, expires: time.Now().Add(b.ttl()), nudge: make(chan struct{})}
	return out, nil
}

// served returns the slots of a worker's queues.
func served(b *Leaser, w job.WorkerInfo) map[string]int {
	all := maps.Clone(w.Queues)
	for q, n := range all {
		if n == 0 {
			all[q] = b.slots(q)
		}
	}
	return all
}

func (b *Leaser) ttl() time.Duration {
	if b.TTL == 0 {
		return job.DefaultSessionTTL.D()
	}
	return b.TTL
}

// Claim implements [job.Leaser].
func (b *Leaser) Claim(ctx context.Context, r job.ClaimRequest) (c job.Claim, err error) {
	if err := b.before(ctx, "claim"); err != nil {
		return c, err
	}
	timer := time.NewTimer(r.Wait.D())
	defer timer.Stop()
	for {
		c, changed, next, err := b.claim(r)
		if err != nil || len(c.Jobs) > 0 || r.Wait == 0 {
			if err == nil {
				err = b.after(ctx, "claim")
			}
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-timer.C:
			r.Wait = 0
		case <-changed:
		case <-time.After(next):
		}
	}
}

func (b *Leaser) claim(r job.ClaimRequest) (c job.Claim, changed <-chan struct{}, next time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releaseLost()
	s := b.sessions[r.Session]
	if s == nil || s.over {
		return c, nil, 0, core.Errorf(core.Unauthorized, "session %s has ended", r.Session)
	}
	next = time.Hour
	now := time.Now()
	b.lease++
	c.Lease = b.lease
	slots := map[string]int{}
	for q, n := range r.Want {
		slots[q] = r.Slots(q, n)
	}
	ids := slices.Sorted(maps.Keys(b.jobs))
	if len(r.Tickets) > 0 {
		ids = b.shown(r.Tickets, &c)
	}
	for _, id := range ids {
		j := b.jobs[id]
		if !isOpen(j) || r.Want[j.Queue] <= 0 || !slices.Contains(s.info.Kinds, j.Kind) || slices.Contains(r.Without, j.Kind) || !b.tasks[j.Task].Requirement().Meets(s.info.Has) || s.drain {
			continue
		}
		if wait := j.DueAt.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if slots[j.Queue]--; slots[j.Queue] < 0 && !j.MayWait(b.tasks[j.Task].Retry) {
			r.Want[j.Queue] = 0 // this job waits for a slot, and so do all jobs after it
			continue
		}
		r.Want[j.Queue]--
		j.State, j.Lease, j.Session, j.ClaimedAt = job.Running, c.Lease, r.Session, now
		j.Ahead = slots[j.Queue] < 0
		j.Attempt++
		maps.DeleteFunc(b.tickets, func(t job.Ticket, _ bool) bool { return t.JobID == id })
		task := b.tasks[j.Task]
		c.Jobs = append(c.Jobs, job.LeasedJob{Job: *j, Task: &task})
		if b.Leased != nil {
			b.Leased(&c.Jobs[len(c.Jobs)-1])
		}
	}
	return c, b.changed, next, nil
}

func isOpen(j *job.Job) bool {
	return j.State == job.Ready || j.State == job.Scheduled
}

// shown sorts tickets into claimable jobs and void tickets.
func (b *Leaser) shown(ts []job.Ticket, c *job.Claim) (ids []int64) {
	if len(ts) > job.MaxTickets {
		b.refused = append(b.refused, "more tickets than a claim may have")
	}
	for _, t := range ts {
		switch {
		case !b.tickets[t] || !isOpen(b.jobs[t.JobID]):
			c.VoidTickets = append(c.VoidTickets, t.JobID)
		case !slices.Contains(ids, t.JobID):
			ids = append(ids, t.JobID)
		}
	}
	return ids
}

// Finish implements [job.Leaser].
func (b *Leaser) Finish(ctx context.Context, _ string, fs []job.Finish) ([]job.Finished, error) {
	if err := b.before(ctx, "finish"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.releaseLost()
	b.batches = append(b.batches, slices.Clone(fs))
	out := make([]job.Finished, len(fs))
	for i, f := range fs {
		if out[i] = b.finish(f); out[i].Stale && b.recorded(f) {
			out[i].Stale = false
		}
	}
	b.mu.Unlock()
	return out, b.after(ctx, "finish")
}

func (b *Leaser) finish(f job.Finish) job.Finished {
	j := b.jobs[f.JobID]
	if j == nil || j.State != job.Running || j.Lease != f.Lease {
		return job.Finished{Ref: f.Ref, Stale: true}
	}
	if fault := core.JSONFault(f.Output); len(f.Output) > 0 && fault != "" {
		b.refused = append(b.refused, "output that "+fault)
	}
	b.settle(j, f)
	return job.Finished{Ref: f.Ref, State: j.State}
}

// recorded reports that a worker has reported the same end of the attempt before.
func (b *Leaser) recorded(f job.Finish) bool {
	told := f.Outcome == job.OutcomeOK || f.Outcome == job.OutcomeError || f.Outcome == job.OutcomeSnoozed
	return told && slices.ContainsFunc(b.attempts[f.JobID], func(was job.Finish) bool { return was.Ref == f.Ref && was.Outcome == f.Outcome })
}

// FinishTx settles in a handler's own transaction, as a store does.
func (b *Leaser) FinishTx(f job.Finish) job.Finished {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.finish(f)
}

func (b *Leaser) settle(j *job.Job, f job.Finish) {
	s := job.Settle(*j, b.tasks[j.Task].Retry, f, time.Now())
	if n := b.waiting[f.Ref]; s.State == job.Scheduled && f.Outcome == job.OutcomeSnoozed && n > 0 && !b.steps[j.ID][n-1].EndedAt.IsZero() {
		s.DueAt = time.Now()
	}
	j.State, j.Reason, j.DueAt, j.Failures, j.Infra, j.Snoozes, j.Error, j.Output = s.State, s.Reason, s.DueAt, s.Failures, s.Infra, s.Snoozes, s.Error, f.Output
	b.attempts[j.ID] = append(b.attempts[j.ID], f)
	if s.State.Final() {
		for id := range b.steps {
			wakeWaits(b, id, func(s job.Step) bool { return s.Kind == job.StepAwait && s.Child == j.ID })
		}
	}
	b.wake()
}

// Append implements [job.Leaser].
func (b *Leaser) Append(ctx context.Context, _ string, ls []job.LogPiece) error {
	if err := b.before(ctx, "append"); err != nil {
		return err
	}
	b.mu.Lock()
	for _, l := range ls {
		b.append(l)
	}
	b.mu.Unlock()
	return b.after(ctx, "append")
}

func (b *Leaser) append(l job.LogPiece) {
	clean, cut := core.CleanText(l.Text, job.MaxLogPiece)
	if cut || clean != l.Text || clean == "" {
		b.refused = append(b.refused, fmt.Sprintf("log piece of %d bytes that is empty, unclean or too large", len(l.Text)))
	}
	j := b.jobs[l.JobID]
	have := b.logs[l.Ref]
	if j.State != job.Running || j.Lease != l.Lease || len(have) > 0 && l.Seq <= have[len(have)-1].Seq {
		return // stale or repeated
	}
	b.logs[l.Ref] = append(have, l)
}

// CloseSession implements [job.Leaser].
func (b *Leaser) CloseSession(ctx context.Context, id string) error {
	if err := b.before(ctx, "close"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sessions[id]; s != nil {
		b.end(id, s, job.OutcomeHandedBack)
	}
	return nil
}

// end ends a session and settles its jobs. The caller holds the lock, here and for all functions below.
func (b *Leaser) end(id string, s *session, outcome job.Outcome) {
	if s.over {
		return
	}
	s.over = true
	for _, j := range b.jobs {
		if j.Session == id && j.State == job.Running {
			b.settle(j, job.Finish{Ref: job.Ref{JobID: j.ID, Lease: j.Lease}, Outcome: outcome})
		}
	}
}

func (b *Leaser) releaseLost() {
	for id, s := range b.sessions {
		if time.Now().After(s.expires.Add(job.LostGrace)) {
			b.end(id, s, job.OutcomeLost)
		}
	}
}

// Nudging is the leaser with the optional [job.CancelNotifier].
type Nudging struct{ *Leaser }

// Nudged implements [job.CancelNotifier].
func (n Nudging) Nudged(id string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[id].nudge
}

func (b *Leaser) slots(queue string) int {
	if n := b.Slots[queue]; n > 0 {
		return n
	}
	return job.DefaultConcurrency
}
