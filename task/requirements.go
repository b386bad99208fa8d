package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Requirements are the explicit requirements of a task on a worker. The zero value requires nothing.
type Requirements struct {
	Labels map[string]string `json:"labels,omitempty" doc:"Labels a worker must have with just these values, such as gpu: true; at most 16"`
}

// Has are the capabilities of a worker's machine.
type Has struct {
	Labels    map[string]string `json:"labels,omitempty" doc:"Set by its operator, such as gpu: true; at most 64"`
	OS        string            `json:"os,omitempty" doc:"In Go's words, such as linux"`
	Arch      string            `json:"arch,omitempty" doc:"In Go's words, such as amd64"`
	Isolation Isolation         `json:"isolation,omitempty" doc:"Strongest isolation that works there; empty: it runs no programs"`
	Network   bool              `json:"network,omitempty" doc:"Programs that ask for the network get it there"`
	Memory    int64             `json:"memory,omitempty" doc:"Bytes of memory for programs: the limits of those that run there at once stay within it in sum; absent: not bounded"`
	CPU       float64           `json:"cpu,omitempty" doc:"Processors for programs: one whose limit is higher does not run there; absent: not bounded"`
	Limits    []string          `json:"limits,omitempty" doc:"Limits of programs that hold there for all processes of a run together: of memory, pids and cpu. The others are not held, or for each process alone"`
}

// Limits of labels.
const (
	MaxRequirements = 16
	MaxLabels       = 64
)

func (n Requirements) validate() error {
	var p core.Problems
	CheckLabels(&p, n.Labels, MaxRequirements)
	return p.Err("requirements")
}

func (h Has) Validate() error {
	var p core.Problems
	CheckLabels(&p, h.Labels, MaxLabels)
	if h.Memory < 0 {
		p.Addf("memory", h.Memory, "is below 0")
	}
	if !(h.CPU >= 0) { // refuses NaN as well
		p.Addf("cpu", h.CPU, "is below 0")
	}
	if h.Isolation != "" && !slices.Contains(Isolations, h.Isolation) {
		p.Add("isolation", string(h.Isolation), "is not an isolation", "one of "+core.List(Isolations))
	}
	return p.Err("has")
}

// ValidLabels returns an error if the labels of a worker are invalid.
func ValidLabels(labels map[string]string) error {
	var p core.Problems
	CheckLabels(&p, labels, MaxLabels)
	return p.Err("labels")
}

// CheckLabels adds to p the problems of labels of a task or worker.
func CheckLabels(p *core.Problems, labels map[string]string, most int) {
	p.AtMost("labels", len(labels), most)
	for name, value := range labels {
		if !core.NameRule.MatchString(name) {
			p.Add("labels", name, "is not the name of a label", core.NameHint)
		}
		if value != "" && !core.NameRule.MatchString(value) {
			p.Add("labels."+name, value, "is not the value of a label", core.NameHint)
		}
	}
}

// Requirement returns all requirements of the task on a worker: the explicit ones
// and those that follow from its kind. The text is the same for the same
// requirements, and empty if any worker with the kind can run the task.
func (t Task) Requirement() Requirement {
	d := Requirement{Labels: t.Requirements.Labels}
	if g := t.Program; g != nil {
		d.Arch, d.Isolation, d.Network = g.Arch, g.MinIsolation, g.Network
		d.Memory, d.CPU = g.Limits.Memory, g.Limits.CPU
	}
	return d
}

// Requirement is the requirements on a worker.
type Requirement struct {
	Labels    map[string]string `json:"labels,omitempty"`
	Arch      string            `json:"arch,omitempty"`
	Isolation Isolation         `json:"isolation,omitempty"`
	Network   bool              `json:"network,omitempty"`
	Memory    int64             `json:"memory,omitempty"`
	CPU       float64           `json:"cpu,omitempty"`
}

// Unmet returns the requirements that a worker does not meet, as texts for people.
func (d Requirement) Unmet(h Has) []string {
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		want := d.Labels[name]
		switch have, is := h.Labels[name]; {
		case !is:
			lacks = append(lacks, "label "+name+"="+want)
		case have != want:
			lacks = append(lacks, fmt.Sprintf("label %s=%s (it has %s)", name, want, have))
		}
	}
	if d.Arch != "" && d.Arch != h.Arch {
		lacks = append(lacks, fmt.Sprintf("a machine of %s (it is %s)", d.Arch, core.Or(h.Arch, "unknown")))
	}
	if d.Isolation != "" && (h.Isolation == "" || !h.Isolation.AtLeast(d.Isolation)) {
		has := "it runs no programs, and its log says why" // it may have a sandbox, but require a stronger one
		if h.Isolation != "" {
			has = "it has " + string(h.Isolation)
		}
		lacks = append(lacks, fmt.Sprintf("isolation %s (%s)", d.Isolation, has))
	}
	if d.Network && !h.Network {
		lacks = append(lacks, "a network for programs, which its operator has to allow")
	}
	if h.Memory > 0 && d.Memory > h.Memory {
		lacks = append(lacks, fmt.Sprintf("memory of %s for a program (it offers %s)", core.SizeText(d.Memory), core.SizeText(h.Memory)))
	}
	if h.CPU > 0 && d.CPU > h.CPU {
		lacks = append(lacks, fmt.Sprintf("%v processors for a program (it offers %v)", d.CPU, h.CPU))
	}
	return lacks
}

// Meets reports whether a worker meets all requirements.
func (d Requirement) Meets(h Has) bool { return len(d.Unmet(h)) == 0 }

// IsZero reports whether every worker meets the requirement.
func (d Requirement) IsZero() bool {
	return len(d.Labels) == 0 && d.Arch == "" && d.Isolation == "" && !d.Network && d.Memory == 0 && d.CPU == 0
}

// String formats the requirement in one line. Equal requirements give equal texts.
func (d Requirement) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		parts = append(parts, name+"="+d.Labels[name])
	}
	for _, p := range []struct{ name, value string }{{"arch", d.Arch}, {"isolation", string(d.Isolation)}} {
		if p.value != "" {
			parts = append(parts, p.name+":"+p.value)
		}
	}
	if d.Network {
		parts = append(parts, "network")
	}
	if d.Memory > 0 {
		parts = append(parts, fmt.Sprintf("memory:%d", d.Memory))
	}
	if d.CPU > 0 {
		parts = append(parts, fmt.Sprintf("cpu:%v", d.CPU))
	}
	return strings.Join(parts, " ")
}
