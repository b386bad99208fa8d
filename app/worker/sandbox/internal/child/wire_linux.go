package child

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// The copies of the worker are known by the name they are started under.
const (
	InitName  = "belfry-sandbox-init"
	setupName = "belfry-sandbox-setup"
)

// Descriptors of the init. Those beyond go on to the set-up copy.
const (
	initControl = 3 + iota // from the worker: the setup in one line, then signals, a byte each, and deadlines; its end means that the worker is gone
	initReport             // to the worker: how the program ended
	initFaults             // to the worker: how setting up went
	initRest
)

// Descriptors of the set-up copy.
const (
	setupConfig = 3 + iota
	setupFaults
	setupRest
)

// controlUntil stands where a signal would, and has a time of [monotime.Now] behind it, in eight bytes.
const controlUntil = 0

// Setup is what the worker tells its copies.
type Setup struct {
	Argv, Env []string
	Dir       string
	Layers    []isolation.Layer
	// UID and GID are what the program becomes, as numbers inside. -1: it stays.
	UID, GID int
	// KillUID is the program's user as the init sees it, where there is no pid
	// namespace and it has one; the one before it is the slot's other. -1: none.
	KillUID int
	Network bool
	// Cgroups is how many descriptors are the process lists of control groups
	// to join. Those of mounts follow.
	Cgroups int
	Mounts  []Bind
	Files   int // descriptors beyond initRest
	TmpSize int64
	Rules   []Rule
	Rlimits []Rlimit
	// Trial asks to set everything up and to say what does not hold, instead of starting a program.
	Trial bool
	// Bundle is what runsc is given, and Inside the folder of the root in which the program's own is. Empty without gVisor.
	Bundle, Inside string
	// Name is the run's, in the path of each of its groups.
	Name string
	// Until is when the init kills the run, a time of [monotime.Now]. Zero: never.
	Until int64
}

func (s *Setup) has(l isolation.Layer) bool {
	for _, have := range s.Layers {
		if have == l {
			return true
		}
	}
	return false
}

// Bind is a mount of the program's root.
type Bind struct {
	isolation.Mount
	Writable bool
	Device   bool
	// File is which of the descriptors is the mount, already cloned by the
	// worker because the program's user may not reach the source. -1: clone it here.
	File int
}

type Rlimit struct {
	Resource   int
	Soft, Hard uint64
}

// Message is what the set-up copy says. Its end without a fault means that the program runs.
type Message struct {
	Applied *Done      `json:",omitempty"`
	Fault   *wireFault `json:",omitempty"`
	Broken  []string   `json:",omitempty"` // of a trial: what does not hold
}

// Done is what was applied, and sent only after it was.
type Done struct {
	Layers   []isolation.Layer
	Landlock int    // its ABI
	Proc     string // why there is no /proc, where it was to be
}

type wireFault struct {
	Step, Text string
	Errno      syscall.Errno
}

func (w *wireFault) Fault() *isolation.Fault {
	f := &isolation.Fault{Step: w.Step, Text: w.Text}
	if w.Errno != 0 {
		f.Err = w.Errno
	}
	return f
}

// Ending is how the program ended, told by the init.
type Ending struct {
	Status       unix.WaitStatus
	User, System time.Duration
	MaxRSS       int64
	Failed       bool // it is not the program that ended, but what should have run it
	Expired      bool // its time was over, and so the init killed it
}
