package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/home"
	"github.com/belfry-run/belfry/task"
)

// Options of an executor. StateDir is required.
type Options struct {
	// StateDir is where the cache and the folders of runs are. Workers of one
	// machine and user may share it.
	StateDir string
	// Source reads artifacts where the worker is beside their store. Default:
	// they are fetched by the link that comes with the job.
	Source Source
	// Server is whose links are paths alone. Default: none.
	Server string
	// Uploader keeps what programs leave in their output folder. Default: it is
	// told and not kept.
	Uploader Uploader
	// AllowNetwork lets programs reach the network whose tasks ask for it: public
	// addresses and those of Reach. Where the sandbox cannot keep them from others
	// they do not get it, unless UnguardedNetwork says that they may.
	AllowNetwork     bool
	Reach            []netip.Prefix
	UnguardedNetwork bool
	// RequireLimits refuses to run programs where memory, processes or processors
	// of a run cannot be limited for all of its processes together.
	RequireLimits bool
	// Memory is what all programs that run at once may use together, in bytes, and CPU
	// how many processors one of them may. Default: not bounded. See [MachineMemory].
	Memory int64
	CPU    float64
	// MinIsolation is the weakest that the operator accepts. Default: confined.
	MinIsolation task.Isolation
	// CacheSize bounds the artifacts that are kept for the next run, in bytes.
	// Negative: none are. Default: 1 GiB.
	CacheSize int64
	// Sandbox has what else the sandbox needs. Its StateDir defaults to a folder
	// below StateDir.
	Sandbox sandbox.Options
}

// Source reads artifacts by their name: a namespace, a slash and a digest.
type Source interface {
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

const defaultCacheSize = 1 << 30

// ErrWeak is why no program can run on this machine: it does not isolate them
// as strongly as its operator wants.
var ErrWeak = errors.New("this machine cannot isolate programs as strongly as it has to")

// ErrNoInit is why no program can run in a process whose main does not call
// [Init]: it cannot start itself again.
var ErrNoInit = errors.New("program.Init is not called in main, and without it no program can be kept apart")

// Executor implements [worker.Executor] for kind program.
type Executor struct {
	options  Options
	sandbox  *sandbox.Sandbox
	tier     task.Isolation
	noNet    string // why programs do not get the network, though it is allowed
	cache    *cache
	home     *home.Home
	runs     atomic.Int64
	bounds   bool // output folders can be limited in size by the kernel
	leftOver int
	room     room
	held     []string // limits that hold for all processes of a run together
	unheld   []string // those that do not, and why
}

var initialised atomic.Bool

// Init must be the first thing that main does: this program starts itself
// again to fetch artifacts and to set sandboxes up, and does not return from
// here in those copies.
func Init() {
	sandbox.Init()
	initFetch()
	initialised.Store(true)
}

// Open finds out what isolation works on this machine, clears away what an
// earlier worker left, and makes an executor. It returns [ErrWeak] where
// programs cannot run.
func Open(ctx context.Context, o Options) (*Executor, error) {
	if !initialised.Load() {
		return nil, ErrNoInit
	}
	if o.Server != "" {
		if u, err := url.Parse(o.Server); err != nil || u.Host == "" {
			return nil, core.InvalidField("server", o.Server, "is not a URL", "")
		}
	}
	if o.MinIsolation == "" {
		o.MinIsolation = task.DefaultIsolation
	}
	if o.CacheSize == 0 {
		o.CacheSize = defaultCacheSize
	}
	var err error
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return nil, err
	}
	if o.Sandbox.StateDir == "" {
		o.Sandbox.StateDir = filepath.Join(o.StateDir, "sandbox")
	}
	e := &Executor{options: o, room: room{offered: o.Memory}}
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Executor) open(ctx context.Context) (err error) {
	o := e.options
	if err := os.MkdirAll(o.StateDir, 0o711); err != nil {
		return err
	}
	// First of all, because it ends the processes that leftovers belong to.
	if e.sandbox, err = sandbox.Open(ctx, o.Sandbox); err != nil {
		return err
	}
	report := e.sandbox.Report()
	e.tier = task.Isolation(report.Tier.String())
	if o.AllowNetwork && !o.UnguardedNetwork && !report.Has(sandbox.LayerEgress) {
		e.noNet = report.Finding(sandbox.LayerEgress).Detail
	}
	if !e.tier.AtLeast(o.MinIsolation) {
		want, err := sandbox.ParseTier(string(o.MinIsolation))
		if err != nil {
			return core.InvalidField("min_isolation", string(o.MinIsolation), "is not an isolation", "one of "+core.List(task.Isolations))
		}
		return fmt.Errorf("%w: isolation %s is wanted and %s works: %s", ErrWeak, o.MinIsolation, e.tier, report.Why(want))
	}
	for _, l := range groupLimits {
		if f := report.Finding(l); f.OK {
			e.held = append(e.held, string(l))
		} else {
			e.unheld = append(e.unheld, fmt.Sprintf("%s (%s)", l, cmp.Or(f.Detail, "not tried")))
		}
	}
	if o.RequireLimits && len(e.unheld) > 0 {
		return fmt.Errorf("%w: require_limits is set, and nothing holds the limits of %s", ErrWeak, strings.Join(e.unheld, ", "))
	}
	own, left, err := home.Open(filepath.Join(o.StateDir, "runs"))
	if err != nil {
		return err
	}
	e.home = own
	for _, h := range left {
		n, err := clearHome(h)
		if err != nil {
			return errors.Join(fmt.Errorf("clear away what an earlier worker left: %w", err), own.Close())
		}
		e.leftOver += n
	}
	e.cache, err = openCache(filepath.Join(o.StateDir, "programs"), o.CacheSize)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	e.bounds = probeBound(own.Dir)
	return nil
}

// groupLimits are the limits that hold for all processes of a run together, where the machine has control groups.
var groupLimits = []sandbox.Layer{sandbox.LayerMemory, sandbox.LayerPIDs, sandbox.LayerCPU}

// Unlimited is which of the limits of memory, processes and processors nothing holds here for all processes of a run
// together, and why.
func (e *Executor) Unlimited() []string { return e.unheld }

// Isolation is the strongest that works on this machine.
func (e *Executor) Isolation() task.Isolation { return e.tier }

// Cleared is how many runs an earlier worker had left behind, which are gone now.
func (e *Executor) Cleared() int { return e.leftOver }

// Has is what this machine offers to programs.
func (e *Executor) Has() task.Has {
	return task.Has{OS: runtime.GOOS, Arch: runtime.GOARCH, Isolation: e.tier, Network: e.options.AllowNetwork && e.noNet == "", Limits: e.held,
		Memory: e.options.Memory, CPU: e.options.CPU}
}

// NoNetwork is why programs do not get the network here, though the operator
// allows it, or nothing.
func (e *Executor) NoNetwork() string { return e.noNet }

// Close gives the executor's folder back. Nothing may run any more.
func (e *Executor) Close() error { return e.home.Close() }

// isolates tells that what a program can write to is apart from what the next
// one is started from.
func (e *Executor) isolates() bool { return e.tier.AtLeast(task.IsolationUser) }

// ownRoot tells that programs see paths of their own.
func (e *Executor) ownRoot() bool { return e.tier.AtLeast(task.IsolationNamespaces) }
