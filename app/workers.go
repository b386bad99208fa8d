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

// startWorkers starts what runs jobs on this node, and waits until it has
// registered: a client that comes earlier would be told that no worker is there.
func (a *App) startWorkers(ctx context.Context) error {
	if !a.opt.Has(config.RoleWorker) {
		close(a.serving)
		return nil
	}
	var once sync.Once
	registered := func() { once.Do(func() { close(a.serving) }) }
	w := Workers{
		Broker: registrar{a.store, registered}, Queues: a.store, Config: a.opt.Config, Handlers: a.opt.Handlers,
		Version: a.opt.Version, Logger: a.log, Namespace: core.AnyNamespace, Artifacts: a.artifacts, node: true, unwell: &a.unwell,
		Skip: slices.Collect(maps.Keys(a.opt.Brokers)),
	}
	queues, err := w.serving(ctx)
	if err != nil {
		return err
	}
	if len(queues) == 0 { // brokers have all of its queues
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
	case <-ended: // of itself: Wait says why
	case <-ctx.Done():
	case <-patience.C:
		a.log.Warn("the worker of this node has not registered yet, and the node is not ready", "waited", registerWait)
	}
	return nil
}

// registerWait is how long a start waits for the worker.
const registerWait = 15 * time.Second

// registrar tells when the first session of a worker is open.
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

// Workers runs the jobs of all queues, or of those that the configuration
// names, on this machine. A queue that is created later is served soon after.
// Those that have a broker in the configuration are claimed by its tickets.
type Workers struct {
	Broker    job.Leaser
	Queues    QueueLister
	Config    config.Config
	Skip      []string // queues that are left to others
	Namespace string   // default: the token's
	Handlers  *worker.Handlers
	Version   string
	Logger    *slog.Logger

	// Artifacts is where programs are read and their outputs kept when they are
	// beside the worker. Without, both go by links; those that are paths alone
	// belong to Server.
	Artifacts *Artifacts
	Server    string

	node    bool // has a database
	unwell  *unwell
	tooMany sync.Once
}

// unwell are the workers of a node that can be asked how they are.
type unwell struct {
	mu  sync.Mutex
	all []*worker.Worker
}

func (u *unwell) add(w *worker.Worker) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, w)
}

func (u *unwell) kinds() map[task.Kind]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[task.Kind]string{}
	for _, w := range u.all {
		maps.Copy(all, w.Unwell())
	}
	return all
}

func (u *unwell) leftBehind() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all {
		n += w.LeftBehind()
	}
	return n
}

// QueueLister knows which queues there are. A store does, and so does the
// HTTP client.
type QueueLister interface {
	QueueList(ctx context.Context) ([]job.Queue, error)
}

// queueLook is how long a new queue waits at most to be noticed.
const queueLook = 3 * time.Second

// Run serves until ctx ends, and then until running jobs have ended or been
// handed back.
func (w *Workers) Run(ctx context.Context) error {
	executors, err := w.executors()
	if err != nil {
		return err
	}
	programs := w.openPrograms(ctx)
	defer func() {
		if err := programs.close(); err != nil {
			w.Logger.Warn("folders of programs were not given back", "error", err)
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
	defer func() { _ = brokers.Close() }() // what was not acknowledged comes again to others
	var (
		running sync.WaitGroup
		one     *worker.Worker
		failed  error
	)
	ctx, cancel := context.WithCancel(ctx)
	defer running.Wait()
	defer cancel() // first, or the wait would be for ever
	for ; ctx.Err() == nil; sleep(ctx, queueLook) {
		if one != nil && len(w.Config.OnlyQueues) > 0 {
			continue // its queues are settled
		}
		queues, err := w.serving(ctx)
		if core.CodeOf(err) == core.Invalid {
			return err
		}
		switch {
		case err != nil:
			w.Logger.Debug("queues cannot be listed", "error", err) // the worker says so, loudly, when it matters
		case len(queues) == 0: // brokers have all of its queues
		case one != nil:
			if err := one.Serve(queues); err != nil {
				w.Logger.Warn("other queues are not served", "error", err)
			}
		default:
			one, err = worker.New(worker.Options{
				Broker: w.Broker, Name: w.Config.NodeName(), Namespace: w.Namespace, Version: w.Version,
				Queues: queues, Doorbells: brokers.doorbells(), Executors: executors, Handlers: w.Handlers, Has: has, Spool: programs.spool,
				Grace: graceOf(w.Config), Poll: w.poll(), Logger: w.Logger,
			})
			if err != nil {
				return fmt.Errorf("start worker: %w", err)
			}
			w.unwell.add(one)
			running.Go(func() {
				failed = one.Run(ctx)
				cancel() // shutdown, or refused for good: there is nothing to wait for
			})
		}
	}
	running.Wait()
	return failed
}

// brokers are those that ring for this worker.
func (w *Workers) brokers(ctx context.Context) (Brokers, error) {
	if err := checkBrokers(w.Config); err != nil {
		return nil, err
	}
	rung := slices.DeleteFunc(slices.Collect(maps.Keys(w.Config.Brokers)), func(queue string) bool {
		return slices.Contains(w.Skip, queue)
	})
	brokers, err := OpenBrokers(ctx, w.Config, rung, w.Logger)
	if err != nil {
		return nil, err
	}
	if err := brokers.Check(ctx, w.Logger); err != nil {
		return nil, errors.Join(err, brokers.Close())
	}
	return brokers, nil
}

// poll is how long a claim waits. One from elsewhere is a request, of which a
// fleet that has nothing to do need not make one a second each.
func (w *Workers) poll() time.Duration {
	if w.node {
		return 0 // the worker's default
	}
	return 5 * time.Second
}

// graceOf is the worker's way to say none at all.
func graceOf(c config.Config) time.Duration {
	if c.Grace == 0 {
		return -1
	}
	return c.Grace.D()
}

// serving is the queues to be served, with their slots, up to [job.MaxQueues].
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
				w.Logger.Warn("a worker serves no more queues than this", "queues", job.MaxQueues, "left", q.Name)
			})
			break
		}
		queues[q.Name] = w.Config.Queues[q.Name] // 0: as many as the queue says
	}
	return queues, unknownQueues(only, all)
}

// unknownQueues refuses names that no queue has. Silence would look like a
// worker with nothing to do.
func unknownQueues(only []string, queues []job.Queue) error {
	for _, name := range only {
		if !slices.ContainsFunc(queues, func(q job.Queue) bool { return q.Name == name }) {
			return core.InvalidField("only_queues", name, "is not a queue", "create it first: belfry queue create "+name)
		}
	}
	return nil
}

// executors is what runs each kind on this machine. A kind without one is not
// claimed here: its jobs wait for a worker that has it, and job why says so.
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
