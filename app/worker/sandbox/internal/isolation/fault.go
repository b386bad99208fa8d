package isolation

import (
	"errors"
	"io/fs"
)

// Fault is a failure to set up a run. The program has not run, except with StepInit.
type Fault struct {
	// Step is the failed step. StepExec and StepDir mean that the sandbox was set
	// up, and the program could not be started in it.
	Step string `json:"step"`
	Text string `json:"text,omitempty"`
	// Err is the system's error, a [syscall.Errno] where there is one.
	Err error `json:"-"`
}

// Steps of the setup that depend on the program, not on the machine.
const (
	StepExec = "exec"
	StepDir  = "chdir"
)

// StepRlimit sets the limits of a process, which must not be above those of the worker unless it is root.
const StepRlimit = "setrlimit"

// StepMount builds the root of the program from files of the machine.
const StepMount = "mount"

// StepInit is not a step of the setup: the init ended before the program, and ended it. How far the program came is
// unknown.
const StepInit = "init"

func (f *Fault) Error() string {
	text := "sandbox: " + f.Step
	if f.Text != "" {
		text += ": " + f.Text
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	if f.TooLow() {
		text += "; the worker's own hard limit is lower: raise it (ulimit -H, or LimitNOFILE and the like of a unit), or lower limits of the task"
	}
	return text
}

func (f *Fault) Unwrap() error { return f.Err }

// TooLow reports that a limit of the worker itself forbids a higher limit of a run.
func (f *Fault) TooLow() bool { return f.Step == StepRlimit && errors.Is(f.Err, fs.ErrPermission) }
