package child

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// Names (argument zero) of the copies of the worker.
const (
	InitName  = "belfry-sandbox-init"
	setupName = "belfry-sandbox-setup"
)

// Descriptors of the init. Further ones are passed to the set-up copy.
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

// controlUntil, in place of a signal, precedes a time of [monotime.Now] in eight bytes.
const controlUntil = 0

// Setup is the message of the worker to its copies.
type Setup struct {
	Argv, Env []string
	Dir       string
	Layers    []isolation.Layer
	// UID and GID are the ids of the program, as seen inside. -1: unchanged.
	UID, GID int
	// KillUID is the program's user id as seen by the init, if the program has one
	// and no pid namespace. The id before it is the slot's other one. -1: none.
	KillUID int
	Network bool
	// Cgroups is the number of descriptors of process lists of control groups to
	// join. The descriptors of mounts follow.
	Cgroups int
	Mounts  []Bind
	Files   int // descriptors beyond initRest
	TmpSize int64
	Rules   []Rule
	Rlimits []Rlimit
	// Trial makes the copy set up and report which layers are not in force, without starting a program.
	Trial bool
	// Bundle is the container configuration for runsc, and Inside the folder of the program's root. Empty without gVisor.
	Bundle, Inside string
	// Name is the name of the run in the paths of its groups.
	Name string
	// Until is the time at which the init kills the run, by [monotime.Now]. Zero: never.
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
	// File is the index of the descriptor of the mount, if the worker has cloned it
	// because the program's user may have no access to the source. -1: clone it here.
	File int
}

type Rlimit struct {
	Resource   int
	Soft, Hard uint64
}

// Message is the message of the set-up copy. If the pipe closes without a fault, the program runs.
type Message struct {
	Applied *Done      `json:",omitempty"`
	Fault   *wireFault `json:",omitempty"`
	Broken  []string   `json:",omitempty"` // of a trial: what is not in force
}

// Done is the applied isolation. It is sent after the application.
type Done struct {
	Layers   []isolation.Layer
	Landlock int    // its ABI
	Proc     string // why /proc is missing
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

// Ending is the end of the program, as reported by the init.
type Ending struct {
	Status       unix.WaitStatus
	User, System time.Duration
	MaxRSS       int64
	Failed       bool // the process that should have started the program ended instead
	Expired      bool // the init killed the program at its deadline
}
