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
	// StateDir is the folder of the cache and of runs. Workers of one machine and
	// user may share it.
	StateDir string
	// Source reads artifacts if the worker can reach their store directly. Default:
	// they are fetched through the link of the job.
	Source Source
	// Server is the address to which links without a host are relative. Default:
	// none.
	Server string
	// CAFile is a PEM file of authorities to trust for artifacts, in addition to
	// the system's. Default: none.
	CAFile string
	// Uploader stores the output files of programs. Default: they are reported, but
	// not stored.
	Uploader Uploader
	// AllowNetwork gives the network to programs whose tasks ask for it: public
	// addresses and those of Reach. If the sandbox cannot block other addresses,
	// programs get no network, unless UnguardedNetwork is set.
	AllowNetwork     bool
	Reach            []netip.Prefix
	UnguardedNetwork bool
	// RequireLimits refuses to run programs if memory, processes or CPU of a run
	// cannot be limited for all of its processes together.
	RequireLimits bool
	// Memory limits all concurrent programs together, in bytes, and CPU the number of
	// CPUs of one program. Default: unlimited. See [MachineMemory].
	Memory int64
	CPU    float64
	// MinIsolation is the weakest isolation that the operator accepts. Default:
	// confined.
	MinIsolation task.Isolation
	// CacheSize limits the cached artifacts, in bytes. Negative: no cache. Default:
	// 1 GiB.
	CacheSize int64
	// Sandbox holds the options of the sandbox. Its StateDir defaults to a folder
	// below StateDir.
	Sandbox sandbox.Options
}

// Source reads artifacts by their name: namespace/digest.
type Source interface {
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

const defaultCacheSize = 1 << 30

// ErrWeak reports that no program can run on this machine, because it cannot
// isolate them as strongly as the operator requires.
var ErrWeak = errors.New("this machine cannot isolate programs as strongly as it has to")

// ErrNoInit reports that no program can run, because main does not call [Init]:
// without it, this process cannot start itself again.
var ErrNoInit = errors.New("program.Init is not called in main, and without it no program can be kept apart")

// Executor implements [worker.Executor] for kind program.
type Executor struct {
	options  Options
	sandbox  *sandbox.Sandbox
	tier     task.Isolation
	noNet    string // why programs get no network although it is allowed
	cache    *cache
	home     *home.Home
	runs     atomic.Int64
	bounds   bool // the kernel can limit the size of output folders
	leftOver int
	memory   memory
	held     []string // limits that are enforced for all processes of a run together
	unheld   []string // limits that are not, with the reason
}

var initialised atomic.Bool

// Init must be called first in main: this program starts itself again to fetch
// artifacts and to set up sandboxes, and in those copies Init does not return.
func Init() {
	sandbox.Init()
	initFetch()
	initialised.Store(true)
}

// Open finds out which isolation works on this machine, removes leftovers of an
// earlier worker, and returns an executor. It returns [ErrWeak] if programs
// cannot run.
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
	e := &Executor{options: o, memory: memory{offered: o.Memory}}
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
	// The sandbox is opened first, because it ends the processes that leftovers belong to.
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

// groupLimits are the limits that control groups enforce for all processes of a run together.
var groupLimits = []sandbox.Layer{sandbox.LayerMemory, sandbox.LayerPIDs, sandbox.LayerCPU}

// Unlimited returns which limits of memory, processes and CPU are not enforced here for all processes of a run together,
// with the reasons.
func (e *Executor) Unlimited() []string { return e.unheld }

// Isolation returns the strongest isolation that works on this machine.
func (e *Executor) Isolation() task.Isolation { return e.tier }

// Cleared returns how many leftover runs of an earlier worker were removed.
func (e *Executor) Cleared() int { return e.leftOver }

// Has returns the capabilities of this machine for programs.
func (e *Executor) Has() task.Has {
	return task.Has{OS: runtime.GOOS, Arch: runtime.GOARCH, Isolation: e.tier, Network: e.options.AllowNetwork && e.noNet == "", Limits: e.held,
		Memory: e.options.Memory, CPU: e.options.CPU}
}

// NoNetwork returns why programs get no network here although the operator
// allows it, or "".
func (e *Executor) NoNetwork() string { return e.noNet }

// Close releases the executor's folder. No program may still run.
func (e *Executor) Close() error { return e.home.Close() }

// isolates reports whether a program cannot write to the files from which the
// next one starts.
func (e *Executor) isolates() bool { return e.tier.AtLeast(task.IsolationUser) }

// ownRoot reports whether programs have a root of their own.
func (e *Executor) ownRoot() bool { return e.tier.AtLeast(task.IsolationNamespaces) }
