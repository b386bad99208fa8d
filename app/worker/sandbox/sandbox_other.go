//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// Sandbox refuses to start programs: isolation needs Linux.
type Sandbox struct{}

// Run is never created on this platform.
type Run struct{}

// Init does nothing here.
func Init() {}

// Open returns a sandbox that refuses all programs.
func Open(context.Context, Options) (*Sandbox, error) { return &Sandbox{}, nil }

// Sweep has nothing to do.
func Sweep(Options) error { return nil }

// Detect reports that no isolation works here.
func Detect(context.Context, Options) (Report, error) { return report(), nil }

func report() (r Report) {
	for _, l := range []Layer{LayerUID, LayerSeccomp, LayerLandlock, LayerScope, LayerUserNS, LayerNamespaces, LayerMemory, LayerPIDs, LayerCPU, LayerKill, LayerEgress, LayerGVisor} {
		r.Findings = append(r.Findings, Finding{Layer: l, Detail: "there is no isolation on " + runtime.GOOS + " yet, only on Linux"})
	}
	return r
}

// MachineMemory is unknown on this platform.
func MachineMemory() int64 { return 0 }

// Report reports that no isolation works here.
func (s *Sandbox) Report() Report { return report() }

// Start refuses, also at tier none: on this platform, no mechanism kills the processes that a program leaves behind.
func (s *Sandbox) Start(context.Context, Spec) (*Run, error) {
	return nil, &Refusal{fmt.Sprintf("programs run on Linux only, and this is %s", runtime.GOOS)}
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

// Kill does nothing.
func (r *Run) Kill() {}
