package worker

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/spool"
)

// Options configures a worker. Required are Leaser, and Handlers, Executors or
// both.
type Options struct {
	// Leaser leases jobs to the worker: a store, or the HTTP client.
	Leaser job.Leaser
	// Name is the displayed name of the worker. Default: the host's name.
	Name string
	// Namespace restricts the worker to jobs of one namespace. Default: the
	// token's namespace, or all.
	Namespace string
	// Version is the displayed version of the program.
	Version string
	// Queues maps the served queues to the number of jobs at the same time; 0
	// means the concurrency of the queue. Default: the queue "default".
	Queues map[string]int
	// Brokers deliver the tickets of jobs to claim, by queue. From a queue with a
	// broker the worker claims only jobs with a ticket. Default: the Leaser chooses.
	Brokers map[string]Broker
	// Executors run jobs by their kind. Jobs of other kinds are never claimed and
	// wait for another worker.
	Executors map[task.Kind]Executor
	// Has are the capabilities of the machine, for tasks with requirements.
	Has task.Has
	// Spool keeps results of programs across a crash of this process. Several
	// workers may share one. Default: none.
	Spool *Spool
	// Handlers run jobs of kind func, unless Executors has that kind.
	Handlers *Handlers
	// Poll is how long one claim waits for a job, 10ms to 5s. It is the fallback
	// for a lost wake-up from the server. Default: 1s.
	Poll time.Duration
	// Lease is how long the worker's session lives without a renewal, 1s to 10m.
	// The jobs of a lost worker stay with it for as long. Default: the server's,
	// 30s.
	Lease time.Duration
	// Grace is how long running jobs may go on at shutdown before they are
	// cancelled and handed back. Negative: no grace. Default: 30s.
	Grace time.Duration
	// Linger is how long the shutdown waits for the delivery of results. Default:
	// 15s.
	Linger time.Duration
	// Patience is how long a handler may go on after its context was cancelled
	// before it is left behind. A command has its kill grace in addition.
	// Default: 10s.
	Patience time.Duration
	// Prefetch is how many jobs per queue are claimed beyond the free slots, 1 to
	// 1000. More increases the throughput of tiny jobs, and withholds jobs from
	// idle workers. Never claimed ahead are jobs that were tried before, and jobs
	// whose loss would be final because they have a single attempt or are not
	// retried after a loss ([job.Job.MayWait]). Negative: none. Default: as many
	// as end in 50ms, so none where jobs take long.
	Prefetch int
	// Logger receives the log of the worker. Default: none.
	Logger *slog.Logger
	// Observer receives numbers for metrics. Default: none.
	Observer Observer

	makes queueMaker // of a [Runner]: creates missing queues before a session opens
}

// Spool keeps results of programs on disk until the server has them.
type Spool = spool.Spool

// OpenSpool opens the spool of this process in a folder that processes of one
// machine share, and reads the results that ended processes left.
func OpenSpool(dir string) (*Spool, error) { return spool.Open(dir) }

// Limits of the options. A claim that waited its whole Poll has claimPatience to
// arrive. Both together with a renewal under way stay below [job.ClaimSettled],
// so that a job about to arrive is not handed back as lost.
const (
	minPoll         = 10 * time.Millisecond
	maxPoll         = 5 * time.Second
	claimPatience   = 5 * time.Second
	renewPatience   = 9 * time.Second
	maxPrefetch     = 1000
	defaultPoll     = time.Second
	defaultGrace    = 30 * time.Second
	defaultPatience = 10 * time.Second
	defaultLinger   = 15 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = hostName()
	}
	if len(o.Queues) == 0 {
		o.Queues = map[string]int{task.DefaultQueue: 0}
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Linger == 0 {
		o.Linger = defaultLinger
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = NoObserver{}
	}
	return o.withHandlers()
}

// hostName returns the name of this machine, adapted to the rules for names of workers.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || core.ValidName("name", name) != nil {
		return "worker"
	}
	return name
}

func (o Options) withHandlers() Options {
	o.Executors = maps.Clone(o.Executors)
	if o.Executors == nil {
		o.Executors = map[task.Kind]Executor{}
	}
	if o.Handlers != nil && o.Executors[task.KindFunc] == nil {
		o.Executors[task.KindFunc] = o.Handlers
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Leaser == nil:
		return core.InvalidField("leaser", "", "is missing", "give a store or a client of the HTTP API")
	case len(o.Executors) == 0:
		return core.InvalidField("executors", "", "is missing", "give Handlers, Executors or both")
	case o.Poll < minPoll || o.Poll > maxPoll:
		return core.InvalidField("poll", o.Poll.String(), fmt.Sprintf("is outside %s to %s", minPoll, maxPoll), "")
	case o.Prefetch > maxPrefetch:
		return core.InvalidField("prefetch", fmt.Sprint(o.Prefetch), fmt.Sprintf("is over %d", maxPrefetch), "")
	case o.Lease != 0 && (o.Lease < job.MinSessionTTL.D() || o.Lease > job.MaxSessionTTL.D()):
		return core.InvalidField("lease", o.Lease.String(), fmt.Sprintf("is outside %s to %s", job.MinSessionTTL, job.MaxSessionTTL), "")
	case o.Patience < 0:
		return core.InvalidField("patience", o.Patience.String(), "is negative", "")
	}
	return o.validateQueues()
}

func (o Options) validateQueues() error {
	if len(o.Queues) == 0 || len(o.Queues) > job.MaxQueues {
		return core.InvalidField("queues", fmt.Sprint(len(o.Queues)), fmt.Sprintf("has not between 1 and %d entries", job.MaxQueues), "")
	}
	for name, slots := range o.Queues {
		if err := core.ValidName("queues", name); err != nil {
			return err
		}
		if slots < 0 || slots > job.MaxConcurrency {
			return core.InvalidField("queues."+name, fmt.Sprint(slots), fmt.Sprintf("is outside 0 to %d", job.MaxConcurrency), "0 takes what the queue says")
		}
	}
	return nil
}

// info describes the worker to the server. It is called when a session opens, so
// handlers may be registered until then.
func (o Options) info(queues map[string]int) job.WorkerInfo {
	w := job.WorkerInfo{
		Name:      o.Name,
		Namespace: o.Namespace,
		Kinds:     slices.Sorted(maps.Keys(o.Executors)),
		Queues:    maps.Clone(queues),
		Version:   o.Version,
		Has:       o.Has,
		TTL:       core.Duration(o.Lease),
	}
	w.ByTicket = o.byTicket(queues)
	if h, ok := o.Executors[task.KindFunc].(*Handlers); ok {
		w.Funcs = h.Names()
	}
	return w
}

// byTicket returns the queues that have a broker.
func (o Options) byTicket(queues map[string]int) (all []string) {
	for queue := range queues {
		if o.Brokers[queue] != nil {
			all = append(all, queue)
		}
	}
	slices.Sort(all)
	return all
}
