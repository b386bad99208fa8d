package wire

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// AcknowledgeOptions is the body of an acknowledgement.
type AcknowledgeOptions struct {
	Note string `json:"note,omitempty" doc:"At most 4,096 bytes"`
}

// AssignOptions is the body of an assignment of an incident.
type AssignOptions struct {
	To string `json:"to,omitempty" doc:"A person, at most 100 characters; default: who asks"`
}

// PauseOptions sets how long and why a monitor is paused.
type PauseOptions struct {
	Until  time.Time     `json:"until,omitzero" doc:"When it goes on by itself; default: when it is resumed"`
	For    core.Duration `json:"for,omitempty" doc:"Instead of until: for how long"`
	Reason string        `json:"reason,omitempty" doc:"Reason, shown beside the state"`
}

// End returns the end of a pause that begins now, or the zero time for one without an end. For and Until exclude each other.
func (p PauseOptions) End(now time.Time) (time.Time, error) {
	switch {
	case p.For < 0:
		return time.Time{}, core.InvalidField("for", p.For.String(), "is negative", "")
	case p.For > 0 && !p.Until.IsZero():
		return time.Time{}, core.InvalidField("for", p.For.String(), "cannot stand beside until", "keep one of them")
	case p.For > 0:
		return now.Add(p.For.D()), nil
	}
	return p.Until, nil
}
