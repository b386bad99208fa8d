package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// Tier is the strength of isolation. A higher tier has all guarantees of a lower
// one.
type Tier int

// The tiers, weakest first.
const (
	None       Tier = iota // the worker's own user, with limits
	User                   // a user of its own
	Confined               // Landlock and seccomp
	Namespaces             // a root, processes and a network of its own
	GVisor                 // a kernel of its own
)

var tierNames = []string{"none", "user", "confined", "namespaces", "gvisor"}

func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("tier %d", int(t))
	}
	return tierNames[t]
}

// ParseTier reads the name of a tier.
func ParseTier(name string) (Tier, error) {
	i := slices.Index(tierNames, name)
	if i < 0 {
		return 0, fmt.Errorf("isolation %q is unknown: one of %s", name, strings.Join(tierNames, ", "))
	}
	return Tier(i), nil
}

// MarshalText returns the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the tier's name.
func (t *Tier) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTier(string(text))
	return err
}

// Layer is one means of isolation, which works on a machine or does not.
type Layer string

// The layers, as they are tried.
const (
	LayerUID        Layer = "uid"        // a user id of its own, no groups, no capabilities
	LayerSeccomp    Layer = "seccomp"    // system calls that no job needs are refused
	LayerLandlock   Layer = "landlock"   // only the files that were given
	LayerScope      Layer = "scope"      // Landlock's: no signal and no abstract socket to the outside
	LayerUserNS     Layer = "userns"     // the run's root has no rights outside
	LayerNamespaces Layer = "namespaces" // pid, mount, net, ipc and uts, with a root of its own
	LayerMemory     Layer = "memory"     // control group: bytes of all processes together
	LayerPIDs       Layer = "pids"       // control group: processes and threads
	LayerCPU        Layer = "cpu"        // control group: share of processors
	LayerKill       Layer = "kill"       // control group: all of its processes at once
	LayerEgress     Layer = "egress"     // control group: with the machine's network only the addresses that are allowed
	LayerGVisor     Layer = "gvisor"     // runsc
)

// Finding is the result of the detection of a layer or a tier on this machine.
type Finding struct {
	Layer  Layer  `json:"layer"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // how it works, or why it does not
}

// Report lists the tiers and layers that work on a machine.
type Report struct {
	Tier     Tier      `json:"tier"` // the strongest that works
	Findings []Finding `json:"findings"`
}

// Without returns the report as if some layers did not work.
func (r Report) Without(off []Layer) Report {
	r.Findings = slices.Clone(r.Findings)
	for i, f := range r.Findings {
		if slices.Contains(off, f.Layer) {
			r.Findings[i] = Finding{Layer: f.Layer, Detail: "switched off by the operator"}
		}
	}
	r.Tier = Strongest(r.Has)
	return r
}

// Has reports whether a layer works.
func (r Report) Has(l Layer) bool { return r.Finding(l).OK }

// Why returns why a tier does not work here, or "".
func (r Report) Why(t Tier) string {
	var missing []string
	for _, l := range lacks(t, r.Has) {
		f := r.Finding(l)
		if f.Detail == "" {
			f.Detail = "not tried"
		}
		missing = append(missing, fmt.Sprintf("%s (%s)", l, f.Detail))
	}
	return strings.Join(missing, "; ")
}

// Finding returns the finding about a layer.
func (r Report) Finding(l Layer) Finding {
	for _, f := range r.Findings {
		if f.Layer == l {
			return f
		}
	}
	return Finding{Layer: l}
}

// lacks returns the missing layers that a tier needs. If one of two would
// suffice, it returns the first.
func lacks(t Tier, has func(Layer) bool) (missing []Layer) {
	need := func(l Layer, or ...Layer) {
		if !has(l) && !slices.ContainsFunc(or, has) {
			missing = append(missing, l)
		}
	}
	switch t {
	case User:
		need(LayerUID)
	case Confined:
		need(LayerSeccomp)
		need(LayerLandlock)
		// A program of the worker's own user could kill the worker.
		need(LayerScope, LayerUID)
	case Namespaces:
		need(LayerNamespaces)
		need(LayerSeccomp) // prevents own namespaces, in which the program would be root
		need(LayerUserNS, LayerUID)
	case GVisor:
		need(LayerGVisor)
		need(LayerNamespaces) // limits the rights of runsc itself
		need(LayerUserNS)
		need(LayerUID)
	}
	return missing
}

// Strongest returns the highest tier whose layers all work.
func Strongest(has func(Layer) bool) Tier {
	for t := GVisor; t > None; t-- {
		if len(lacks(t, has)) == 0 {
			return t
		}
	}
	return None
}
