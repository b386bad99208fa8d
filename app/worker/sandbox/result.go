package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is the end of a program.
type Result struct {
	// ExitCode is the exit code, or -1 if a signal ended the program.
	ExitCode int `json:"exit_code"`
	// Signal is the signal that ended the program, such as SIGKILL.
	Signal string `json:"signal,omitempty"`
	// OOM reports that the kernel killed a process because memory was exhausted.
	// A program may survive that, and report it by its exit code.
	OOM bool `json:"oom,omitempty"`
	// TmpOver reports that the program was killed because its TMPDIR was too large.
	TmpOver bool `json:"tmp_over,omitempty"`
	// Expired reports that the program was killed because [Spec.Until] had passed.
	Expired bool `json:"expired,omitempty"`
	// PIDsRefused is how often it could not start a process or thread.
	PIDsRefused int64   `json:"pids_refused,omitempty"`
	Usage       Usage   `json:"usage"`
	Applied     Applied `json:"applied"`
}

// Usage is the resource usage of a program.
type Usage struct {
	User   time.Duration `json:"user_ns"` // of all its processes; without a control group, of it and those it waited for
	System time.Duration `json:"system_ns"`
	MaxRSS int64         `json:"max_rss"` // bytes, of its largest process
	// MemoryPeak is the peak memory of all its processes together, in bytes.
	// Zero if no control group counted it.
	MemoryPeak int64 `json:"memory_peak,omitempty"`
}

// Applied is the isolation that was actually applied to a run.
type Applied struct {
	Tier   Tier    `json:"tier"`
	Layers []Layer `json:"layers"`
	// Landlock is its version: newer ones forbid more.
	Landlock int `json:"landlock,omitempty"`
	// UID and GID are those of the program on the machine. Inside it may see others.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Network is "guarded" (the machine's, see [Spec.Reach]), "machine" (all that
	// it reaches), "loopback" (of its own) or "none".
	Network string  `json:"network"`
	Limits  []Limit `json:"limits"`
	// Missing are the layers that were not applied, and why.
	Missing []Finding `json:"missing,omitempty"`
}

// String returns one line for people.
func (a Applied) String() string {
	layers := make([]string, len(a.Layers))
	for i, l := range a.Layers {
		layers[i] = string(l)
	}
	text := fmt.Sprintf("isolation %s (%s), network %s, uid %d", a.Tier, strings.Join(layers, " "), a.Network, a.UID)
	if i := slices.IndexFunc(a.Limits, func(l Limit) bool { return l.By == "" }); i >= 0 {
		text += ", " + a.Limits[i].Name + " not limited"
	}
	return text
}

// Refusal is the reason why a run was not started: this machine cannot meet its requirements.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return "sandbox: refused: " + r.Reason }
