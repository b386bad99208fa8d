package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/worker/process"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// startWorkers starts the worker of this node, and waits until it has
// registered. An earlier client would see that there is no worker.
func (a *App) startWorkers(ctx context.Context) error {
	if !a.opt.Has(config.RoleWorker) {
		close(a.serving)
		return nil
	}
	var once sync.Once
	registered := func() { once.Do(func() { close(a.serving) }) }
	w := Workers{
		Leaser: registrar{a.store, registered}, Queues: a.store, Config: a.opt.Config, Handlers: a.opt.Handlers,
		Version: a.opt.Version, Logger: a.log, Namespace: core.AnyNamespace, Artifacts: a.artifacts, node: true, unwell: &a.unwell,
		Skip: slices.Collect(maps.Keys(a.opt.Brokers)),
	}
	queues, err := w.serving(ctx)
	if err != nil {
		return err
	}
	if len(queues) == 0 { // all its queues have brokers
		registered()
	}
	ended := make(chan struct{})
	a.loop("workers", func(ctx context.Context) error {
		defer close(ended)
		return w.Run(ctx)
	})
	patience := time.NewTimer(registerWait)
	defer patience.Stop()
	select {
	case <-a.serving:
	case <-ended: // the worker ended by itself; Wait returns the reason
	case <-ctx.Done():
	case <-patience.C:
		a.log.Warn("the worker of this node has not registered yet, and the node is not ready", "waited", registerWait)
	}
	return nil
}

// registerWait is how long a start waits for the worker.
const registerWait = 15 * time.Second

// registrar signals when the first session of a worker is open.
type registrar struct {
	*store.Store
	registered func()
}

func (r registrar) OpenSession(ctx context.Context, w job.WorkerInfo) (job.Session, error) {
	s, err := r.Store.OpenSession(ctx, w)
	if err == nil {
		r.registered()
	}
	return s, err
}

// Workers runs the jobs of all queues, or of the configured queues, on this machine. A queue that is created later is served
// soon after. Jobs of queues with a configured broker are claimed by its tickets.
type Workers struct {
	Leaser    job.Leaser
	Queues    QueueLister
	Config    config.Config
	Skip      []string // queues that are not served
	Namespace string   // default: the token's
	Handlers  *worker.Handlers
	Version   string
	Logger    *slog.Logger

	// Artifacts stores programs and outputs that the worker can reach directly. Without it, both go through links. A link
	// without a host is relative to Server.
	Artifacts *Artifacts
	Server    string

	node    bool // part of a node, which has a database
	unwell  *nodeWorkers
	tooMany sync.Once
}

// nodeWorkers collects the worker and its programs for the health checks of the node.
type nodeWorkers struct {
	mu  sync.Mutex
	all []*worker.Worker
}

func (u *nodeWorkers) add(w *worker.Worker) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, w)
}

func (u *nodeWorkers) kinds() map[task.Kind]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[task.Kind]string{}
	for _, w := range u.all {
		maps.Copy(all, w.Unwell())
	}
	return all
}

func (u *nodeWorkers) leftBehind() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all {
		n += w.LeftBehind()
	}
	return n
}

// QueueLister lists queues. A store and the HTTP client implement it.
type QueueLister interface {
	QueueList(ctx context.Context) ([]job.Queue, error)
}

// queueInterval is the interval at which workers look for new queues.
const queueInterval = 3 * time.Second

// Run serves queues until ctx ends, and then until running jobs have ended or are released.
func (w *Workers) Run(ctx context.Context) error {
	executors, err := w.executors()
	if err != nil {
		return err
	}
	programs := w.openPrograms(ctx)
	defer func() {
		if err := programs.close(); err != nil {
			w.Logger.Warn("ownership of program folders was not restored", "error", err)
		}
	}()
	has := task.Has{OS: runtime.GOOS, Arch: runtime.GOARCH}
	if programs.executor != nil {
		executors[task.KindProgram], has = programs.executor, programs.executor.Has()
	}
	has.Labels = w.Config.Labels
	brokers, err := w.brokers(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = brokers.Close() }() // the broker sends unacknowledged tickets to other workers
	var (
		running sync.WaitGroup
		one     *worker.Worker
		failed  error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer running.Wait()
	defer cancel() // runs before the wait, which would not end otherwise
	for ; ctx.Err() == nil; sleep(ctx, queueInterval) {
		if one != nil && len(w.Config.OnlyQueues) > 0 {
			continue // the queues of this worker do not change
		}
		queues, err := w.serving(ctx)
		if core.CodeOf(err) == core.Invalid {
			return err
		}
		switch {
		case err != nil:
			w.Logger.Debug("queues cannot be listed", "error", err) // the worker itself warns about a server that it cannot reach
		case len(queues) == 0: // all its queues have brokers
		case one != nil:
			if err := one.Serve(queues); err != nil {
				w.Logger.Warn("other queues are not served", "error", err)
			}
		default:
			one, err = worker.New(worker.Options{
				Leaser: w.Leaser, Name: w.Config.NodeName(), Namespace: w.Namespace, Version: w.Version,
				Queues: queues, Brokers: brokers.ofWorkers(), Executors: executors, Handlers: w.Handlers, Has: has, Spool: programs.spool,
				Grace: graceOf(w.Config), Poll: w.poll(), Logger: w.Logger,
			})
			if err != nil {
				return fmt.Errorf("start worker: %w", err)
			}
			w.unwell.add(one)
			running.Go(func() {
				failed = one.Run(ctx)
				cancel() // shutdown, or a permanent refusal
			})
		}
	}
	running.Wait()
	return failed
}

// brokers returns the brokers whose tickets this worker takes.
func (w *Workers) brokers(ctx context.Context) (Brokers, error) {
	if err := checkBrokers(w.Config); err != nil {
		return nil, err
	}
	named := slices.DeleteFunc(slices.Collect(maps.Keys(w.Config.Brokers)), func(queue string) bool {
		return slices.Contains(w.Skip, queue)
	})
	brokers, err := OpenBrokers(ctx, w.Config, named, w.Logger)
	if err != nil {
		return nil, err
	}
	if err := brokers.Check(ctx, w.Logger); err != nil {
		return nil, errors.Join(err, brokers.Close())
	}
	return brokers, nil
}

// poll is how long a claim waits. Each claim of a remote worker is a request: an
// idle fleet need not send one a second for each worker.
func (w *Workers) poll() time.Duration {
	if w.node {
		return 0 // the worker's default
	}
	return 5 * time.Second
}

// graceOf returns the grace for package worker, where -1 means none.
func graceOf(c config.Config) time.Duration {
	if c.Grace == 0 {
		return -1
	}
	return c.Grace.D()
}

// serving returns the queues to serve, with their slots, up to [job.MaxQueues].
func (w *Workers) serving(ctx context.Context) (map[string]int, error) {
	all, err := w.Queues.QueueList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	queues, only := map[string]int{}, w.Config.OnlyQueues
	for _, q := range all {
		if slices.Contains(w.Skip, q.Name) || len(only) > 0 && !slices.Contains(only, q.Name) {
			continue
		}
		if len(queues) == job.MaxQueues {
			w.tooMany.Do(func() {
				w.Logger.Warn("a worker cannot serve more queues", "queues", job.MaxQueues, "left", q.Name)
			})
			break
		}
		queues[q.Name] = w.Config.Queues[q.Name] // 0: the slots of the queue
	}
	return queues, unknownQueues(only, all)
}

// unknownQueues refuses names of queues that do not exist. Without an error, the worker would look idle.
func unknownQueues(only []string, queues []job.Queue) error {
	for _, name := range only {
		if !slices.ContainsFunc(queues, func(q job.Queue) bool { return q.Name == name }) {
			return core.InvalidField("only_queues", name, "is not a queue", "create it first: belfry queue create "+name)
		}
	}
	return nil
}

// executors returns the executors of this machine, by kind. A kind without an executor is not claimed here: its jobs wait for
// another worker, and "job why" says so.
func (w *Workers) executors() (map[task.Kind]worker.Executor, error) {
	checks, err := NewChecks(w.Config, w.Version)
	if err != nil {
		return nil, err
	}
	list := checks.executors()
	if w.Config.AllowCommands {
		list[task.KindCommand] = process.New(process.Options{Allow: true})
	}
	return list, nil
}
