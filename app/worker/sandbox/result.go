package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is how a program ended.
type Result struct {
	// ExitCode is what it returned, or -1 when a signal ended it.
	ExitCode int `json:"exit_code"`
	// Signal is what ended it, such as SIGKILL.
	Signal string `json:"signal,omitempty"`
	// OOM tells that the kernel killed one of its processes for want of memory.
	// A program may survive that and say so itself, by its exit code.
	OOM bool `json:"oom,omitempty"`
	// TmpOver tells that it was killed for what it left in its TMPDIR.
	TmpOver bool `json:"tmp_over,omitempty"`
	// Expired tells that it was killed because [Spec.Until] had passed.
	Expired bool `json:"expired,omitempty"`
	// PIDsRefused is how often it could not start a process or thread.
	PIDsRefused int64   `json:"pids_refused,omitempty"`
	Usage       Usage   `json:"usage"`
	Applied     Applied `json:"applied"`
}

// Usage is what a program used.
type Usage struct {
	User   time.Duration `json:"user_ns"` // of all its processes; without a control group, of it and those it waited for
	System time.Duration `json:"system_ns"`
	MaxRSS int64         `json:"max_rss"` // bytes, of its largest process
	// MemoryPeak is the most that all its processes had together, in bytes.
	// Zero when no control group counted it.
	MemoryPeak int64 `json:"memory_peak,omitempty"`
}

// Applied is the isolation that a run really had.
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
	// Missing are the layers which were not applied, and why.
	Missing []Finding `json:"missing,omitempty"`
}

// String is one line for a person.
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

// Refusal is why a run was not started: this machine cannot keep what was asked.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return "sandbox: refused: " + r.Reason }
