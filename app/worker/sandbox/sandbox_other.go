//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Sandbox refuses to start programs: what keeps them in is Linux's.
type Sandbox struct{}

// Run is never made here.
type Run struct{}

// Init does nothing here.
func Init() {}

// Open makes a sandbox that refuses.
func Open(context.Context, Options) (*Sandbox, error) { return &Sandbox{}, nil }

// Sweep has nothing to do.
func Sweep(Options) error { return nil }

// Detect says that nothing works here.
func Detect(context.Context, Options) (Report, error) { return report(), nil }

func report() (r Report) {
	for _, l := range []Layer{LayerUID, LayerSeccomp, LayerLandlock, LayerScope, LayerUserNS, LayerNamespaces, LayerMemory, LayerPIDs, LayerCPU, LayerKill, LayerEgress, LayerGVisor} {
		r.Findings = append(r.Findings, Finding{Layer: l, Detail: "there is no isolation on " + runtime.GOOS + " yet, only on Linux"})
	}
	return r
}

// MachineMemory is not known here.
func MachineMemory() int64 { return 0 }

// Report is what was found out when the sandbox was opened.
func (s *Sandbox) Report() Report { return report() }

// Start refuses, also at tier none: nothing here would end what a program leaves behind.
func (s *Sandbox) Start(context.Context, Spec) (*Run, error) {
	return nil, &Refusal{fmt.Sprintf("programs run on Linux only, and this is %s", runtime.GOOS)}
}

// Bound refuses.
func Bound(string, int64, int) error { return errors.ErrUnsupported }

// Unbound has nothing to do.
func Unbound(string) error { return nil }

// Watch is never over.
func Watch(done <-chan struct{}, _ string, _ int64, _ int) bool {
	<-done
	return false
}

// Remove removes a folder.
func Remove(dir string) error { return os.RemoveAll(dir) }

// Outputs refuses.
func Outputs(string, OutputLimits, func(string, int64, io.Reader) error) (Left, error) {
	return Left{}, &Refusal{"there is no output without programs"}
}

// Applied is empty.
func (r *Run) Applied() Applied { return Applied{} }

// Wait returns at once.
func (r *Run) Wait() (Result, error) { return Result{}, nil }

// Signal does nothing.
func (r *Run) Signal(syscall.Signal) error { return nil }

// Stop does nothing.
func (r *Run) Stop(time.Duration) {}

// Done is closed.
func (r *Run) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// KeepUntil does nothing.
func (r *Run) KeepUntil(time.Time) {}

// Kill does nothing.
func (r *Run) Kill() {}
