package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// Assignment says whose work an incident is, from an instant on.
type Assignment struct {
	To string    `json:"to,omitempty" doc:"A person, by any name; absent: no one"`
	By string    `json:"by" doc:"Who said so"`
	At time.Time `json:"at"`
}

// Limits of assignments.
const (
	MaxAssignee    = 100 // characters of a name
	MaxAssignments = 100 // of one incident
)

// Assignee is to whom an incident is assigned; empty if to no one.
func (i Incident) Assignee() string {
	if i.Assigned == nil {
		return ""
	}
	return i.Assigned.To
}

// Assign decides about an assignment of an incident, which is to no one if To is empty: all that there are then. It changes
// nothing if that holds already.
func (i Incident) Assign(a Assignment) (all []Assignment, changed bool, _ error) {
	to, _ := core.CleanText(strings.TrimSpace(a.To), 4*MaxAssignee+1)
	switch {
	case core.OneLine(to) != to:
		return nil, false, core.InvalidField("to", a.To, "must be one line", "name a person")
	case utf8.RuneCountInString(to) > MaxAssignee:
		return nil, false, core.InvalidField("to", "", fmt.Sprintf("has more than %d characters", MaxAssignee), "name a person")
	case to == i.Assignee():
		return i.Assignments, false, nil
	case len(i.Assignments) >= MaxAssignments:
		return nil, false, core.Errorf(core.Conflict, "incident %d was assigned %d times, the most that one can be", i.ID, len(i.Assignments)).
			WithHint("say in an update who looks after it")
	}
	a.To = to
	return append(slices.Clone(i.Assignments), a), true, nil
}

// AssignedBy sets what follows from all assignments of an incident.
func (i *Incident) AssignedBy(all []Assignment) {
	i.Assignments, i.Assigned = all, nil
	if n := len(all); n > 0 && all[n-1].To != "" {
		i.Assigned = &all[n-1]
	}
}
