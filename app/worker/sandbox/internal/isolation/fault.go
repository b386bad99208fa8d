package isolation

// Fault is a failure to set a run up. The program has not run, but with StepInit.
type Fault struct {
	// Step is what was being done. StepExec and StepDir mean that the sandbox
	// stood, and the program could not be started in it.
	Step string `json:"step"`
	Text string `json:"text,omitempty"`
	// Err is the system's error, a [syscall.Errno] where there is one.
	Err error `json:"-"`
}

// Steps of the setting up which depend on the program and not on the machine.
const (
	StepExec = "exec"
	StepDir  = "chdir"
)

// StepInit is no setting up: the init ended before the program did, and with it the program, of which it is unknown how far
// it came.
const StepInit = "init"

func (f *Fault) Error() string {
	text := "sandbox: " + f.Step
	if f.Text != "" {
		text += ": " + f.Text
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

func (f *Fault) Unwrap() error { return f.Err }
