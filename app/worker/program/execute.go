package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Execute runs the program of the attempt's task.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	if err := e.accepts(r); err != nil {
		return notRun(r, err)
	}
	leave, err := e.room.take(r.Task.Program.Limits.Memory)
	if err != nil {
		return r.NoRoom(err)
	}
	defer leave()
	f, err := e.newFolder(r)
	if err != nil {
		return notRun(r, err)
	}
	defer func() {
		if err := clearFolder(f.dir); err != nil {
			_, _ = fmt.Fprintf(r.Log, "belfry: the folder of this run was not removed: %v\n", err)
		}
	}()
	g := r.Task.Program
	fetch := func() error { return e.fetch(ctx, r, f.program()) }
	if e.isolates() {
		err = e.cache.place(ctx, g.SHA256, g.Size, f.program(), fetch)
	} else {
		err = fetch()
	}
	if err != nil {
		return notRun(r, err)
	}
	return e.run(ctx, r, f)
}

// accepts says why this worker must not run a task. That it was given it is a
// fault of the machinery, or its operator has changed his mind since.
func (e *Executor) accepts(r *worker.Run) error {
	g := r.Task.Program
	if g == nil {
		return unfit("task %q has no program", r.Task.Name)
	}
	if lacks := r.Task.Requirement().Unmet(e.hasFor(*r.Task)); len(lacks) > 0 {
		return unable("this worker lacks %s", strings.Join(lacks, ", "))
	}
	for name, secret := range g.Secrets {
		if _, given := r.Secrets[name]; !given {
			return unable("the server gave no value for secret %q, which is to be %s", secret, name)
		}
	}
	return nil
}

// hasFor leaves labels out: who gave the job compared them.
func (e *Executor) hasFor(t task.Task) task.Has {
	has := e.Has()
	has.Labels = t.Requirements.Labels
	return has
}

// running is a program and what is known of it when it has ended.
type running struct {
	executor *Executor
	*worker.Run
	folder  *folder
	capture *capture
	result  sandbox.Result
	took    time.Duration
	over    bool // its output was over its limits, and so it was killed
}

// run starts the program and sees it to its end.
func (e *Executor) run(ctx context.Context, r *worker.Run, f *folder) job.Finish {
	spec, err := e.spec(r, f)
	if err != nil {
		return notRun(r, err)
	}
	n := &running{executor: e, Run: r, folder: f, capture: newCapture(r, r.Task.Program.Limits.Log, r.Secrets)}
	spec.Stdout, spec.Stderr = &n.capture.stdout, &n.capture.stderr
	if err := n.see(ctx, spec); err != nil {
		fin := notRun(r, err)
		fin.LogCut = n.capture.finish()
		return fin
	}
	fin := n.outcome()
	n.takeOutputs(ctx, &fin)
	fin.LogCut = n.capture.finish()
	return fin
}

// spec is the run that the task asks for.
func (e *Executor) spec(r *worker.Run, f *folder) (sandbox.Spec, error) {
	g := r.Task.Program
	program := sandbox.Mount{Source: f.program(), Target: f.program()}
	output := sandbox.Mount{Source: f.output(), Target: f.output()}
	if e.ownRoot() {
		program.Target, output.Target = programInside, outputInside
	}
	least, err := e.least(g.MinIsolation)
	if err != nil {
		return sandbox.Spec{}, err
	}
	l := g.Limits
	s := sandbox.Spec{
		Argv: append([]string{program.Target}, g.Args...),
		Env:  environment(r, output.Target, e.ownRoot()),
		Limits: sandbox.Limits{
			Memory: l.Memory, PIDs: l.Processes, CPU: l.CPU, OpenFiles: l.OpenFiles,
			FileSize: max(l.Disk, l.OutputSize, 4096), Tmp: max(l.Disk, 4096),
		},
		Network: g.Network, Reach: e.options.Reach, Unguarded: e.options.UnguardedNetwork,
		Min:      least,
		ReadOnly: []sandbox.Mount{program},
		Writable: []sandbox.Mount{output},
	}
	if text := stdin(r); text != "" {
		s.Stdin = strings.NewReader(text)
	}
	if err := e.giveSystem(&s, f); err != nil {
		return s, err
	}
	return s, s.Preflight()
}

// giveSystem shows the machine's programs and libraries to what needs them. A
// static program sees none of them; with the network it sees whom to trust.
func (e *Executor) giveSystem(s *sandbox.Spec, f *folder) error {
	what, err := f.inspect()
	if err != nil {
		return err
	}
	for _, m := range sandbox.System() {
		if what.Loader != "" || s.Network && strings.HasPrefix(m.Source, "/etc/") {
			s.ReadOnly = append(s.ReadOnly, m)
		}
	}
	return nil
}

// least is the stronger of what the task asks for and what the operator does.
func (e *Executor) least(task task.Isolation) (sandbox.Tier, error) {
	if task == "" || e.options.MinIsolation.AtLeast(task) {
		task = e.options.MinIsolation
	}
	return sandbox.ParseTier(string(task))
}

func stdin(r *worker.Run) string {
	if text := r.Task.Program.Stdin; text != "" {
		return text
	}
	return string(r.Input())
}

// see starts the program and returns when it and all that it started is gone.
// An error means that it did not run, or that its end is unknown.
func (n *running) see(ctx context.Context, spec sandbox.Spec) error {
	// It outlives the context by the grace.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	begun := time.Now()
	spec.Until, _ = n.Until()
	run, err := n.executor.sandbox.Start(life, spec)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.endInTime(ctx, run, kill)
	}()
	go n.keep(run)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if n.over = !n.folder.bounded && n.folder.watch(run.Done(), n.Task.Program.Limits); n.over {
			run.Kill()
		}
	}()
	n.result, err = run.Wait()
	n.took = time.Since(begun)
	if n.result.Expired {
		n.awaitLoss()
	}
	<-done
	<-watched
	n.capture.stdout.flush()
	n.capture.stderr.flush()
	var fault *sandbox.Fault
	if errors.As(err, &fault) {
		return err
	}
	if err != nil {
		n.capture.note("not everything of this run could be cleared away: %v", err)
	}
	return nil
}

// keep lets the program live as long as the worker's session does. The sandbox
// keeps the time, so a worker that hangs does not leave it to run beside its successor.
func (n *running) keep(run *sandbox.Run) {
	for {
		until, later := n.Until()
		if until.IsZero() {
			return
		}
		run.KeepUntil(until)
		select {
		case <-run.Done():
			return
		case <-later:
		}
	}
}

// awaitLoss has this process notice, if it was stopped, that the session is over whose end killed the program. A session
// that holds was renewed, and the sandbox heard of it too late: it is never lost, and there is nothing to wait for.
func (n *running) awaitLoss() {
	if end, _ := n.Until(); !time.Now().Before(end) {
		<-n.Lost()
	}
}

// endInTime returns when the run has ended: by itself, or because its context
// has, a grace after it was asked to.
func (n *running) endInTime(ctx context.Context, run *sandbox.Run, kill func()) {
	select {
	case <-run.Done():
		return
	case <-ctx.Done():
	}
	_ = run.Signal(syscall.SIGTERM)
	grace := time.NewTimer(killGrace(n.Task.Program))
	defer grace.Stop()
	select {
	case <-run.Done():
		return
	case <-grace.C:
	case <-n.Lost(): // the next attempt may start any moment, there is no grace left
	}
	kill()
	<-run.Done()
}

func killGrace(g *task.Program) time.Duration {
	if g.KillGrace > 0 {
		return g.KillGrace.D()
	}
	return task.DefaultKillGrace.D()
}
