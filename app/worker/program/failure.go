package program

import (
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/app/worker/sandbox"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// failure is the reason why a program was not run, and whose fault it is.
type failure struct {
	text  string
	infra bool  // a fault of the machine or the network: it may work elsewhere, or later
	cause error // of a fault with infra
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// unable returns a failure of the machine, unfit one of the program.
func unable(format string, args ...any) error {
	f := &failure{text: fmt.Sprintf(format, args...), infra: true}
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.cause = err
		}
	}
	return f
}

func unfit(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...)}
}

// notRun returns the result of a program that did not run. A fault of the
// program itself is permanent.
func notRun(r *worker.Run, err error) job.Finish {
	f := r.Failed("%s", err)
	var own *failure
	var unfit *sandbox.Unfit
	var fault *sandbox.Fault
	switch {
	case errors.As(err, &fault) && fault.Step == sandbox.StepInit: // the program may have run partly
		return r.CutOff(err.Error())
	case worker.MachineFault(err):
		return r.Unable(err)
	case errors.As(err, &own):
		f.Infra, f.NoRetry = own.infra, !own.infra
	case errors.As(err, &unfit):
		f.NoRetry = true
	case errors.As(err, &fault) && (fault.Step == sandbox.StepExec || fault.Step == sandbox.StepDir):
		f.NoRetry = true
	default: // a refusal of the sandbox, a fault of its setup, a full disk
		f.Infra = true
	}
	return f
}
