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
	leave, err := e.memory.reserve(r.Task.Program.Limits.Memory)
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

// accepts returns why this worker must not run a task. Such a job was assigned
// by mistake, or before the operator changed the settings.
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

// hasFor returns the capabilities for a task, without labels, which the server has compared.
func (e *Executor) hasFor(t task.Task) task.Has {
	has := e.Has()
	has.Labels = t.Requirements.Labels
	return has
}

// running is a running program and, after its end, its result.
type running struct {
	executor *Executor
	*worker.Run
	folder  *folder
	capture *capture
	result  sandbox.Result
	took    time.Duration
	over    bool // the program was killed because its output exceeded a limit
}

// run starts the program and waits for its end.
func (e *Executor) run(ctx context.Context, r *worker.Run, f *folder) job.Finish {
	spec, err := e.spec(r, f)
	if err != nil {
		return notRun(r, err)
	}
	n := &running{executor: e, Run: r, folder: f, capture: newCapture(r, r.Task.Program.Limits.Log, r.Secrets)}
	spec.Stdout, spec.Stderr = &n.capture.stdout, &n.capture.stderr
	if err := n.runProgram(ctx, spec); err != nil {
		fin := notRun(r, err)
		fin.LogCut = n.capture.finish()
		return fin
	}
	fin := n.outcome()
	n.takeOutputs(ctx, &fin)
	fin.LogCut = n.capture.finish()
	return fin
}

// spec returns the run of a task for the sandbox.
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
		// The program of a worker that hangs must not run beside the next attempt.
		Until: r.Until,
	}
	if text := stdin(r); text != "" {
		s.Stdin = strings.NewReader(text)
	}
	if err := e.giveSystem(&s, f); err != nil {
		return s, err
	}
	return s, s.Preflight()
}

// giveSystem mounts the machine's programs and libraries for a program that
// needs them. A static program gets none. With the network, programs get the
// trusted authorities.
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

// least returns the stronger of the isolations that the task and the operator require.
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

// runProgram starts the program, and returns when the program and all processes that it
// started are gone. An error means that it did not run, or that its end is
// unknown.
func (n *running) runProgram(ctx context.Context, spec sandbox.Spec) error {
	// The program may outlive the context by the grace.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	begun := time.Now()
	run, err := n.executor.sandbox.Start(life, spec)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.endInTime(ctx, run, kill)
	}()
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

// awaitLoss waits until this process notices the end of the session that killed the program: the process may have been
// stopped. If the session was renewed, and the sandbox only learned of it too late, there is no loss to wait for.
func (n *running) awaitLoss() {
	if end, _ := n.Until(); !time.Now().Before(end) {
		<-n.Lost()
	}
}

// endInTime waits for the end of the run. When the context ends, it asks the
// program to stop, and kills it after the grace.
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
	case <-n.Lost(): // the next attempt may start at any moment, so there is no grace
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
