package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// Assignment assigns an incident to a person from an instant on.
type Assignment struct {
	To string    `json:"to,omitempty" doc:"A person, by any name; absent: no one"`
	By string    `json:"by" doc:"Who said so"`
	At time.Time `json:"at"`
}

// Limits of assignments: characters of a name, and assignments of one incident.
const MaxAssignee, MaxAssignments = 100, 100

// Assignee returns the person to whom the incident is assigned, or "".
func (i Incident) Assignee() string {
	if i.Assigned == nil {
		return ""
	}
	return i.Assigned.To
}

// Assign adds an assignment and returns all assignments of the incident. An empty To removes the assignee. changed is false
// if the assignment holds already.
func (i Incident) Assign(a Assignment) (all []Assignment, changed bool, _ error) {
	to, _ := core.CleanText(strings.TrimSpace(a.To), 4*MaxAssignee+1)
	var p core.Problems
	if utf8.RuneCountInString(to) > MaxAssignee {
		p.Add("to", "", fmt.Sprintf("has more than %d characters", MaxAssignee), "name a person")
	}
	title.CheckLine(&p, "to", strings.ToValidUTF8(strings.TrimSpace(a.To), "?"))
	if err := p.Err("assignment"); err != nil {
		return nil, false, err
	}
	switch {
	case to == i.Assignee():
		return i.Assignments, false, nil
	case len(i.Assignments) >= MaxAssignments:
		return nil, false, core.Errorf(core.Conflict, "incident %d was assigned %d times, the most that one can be", i.ID, len(i.Assignments)).
			WithHint("say in an update who looks after it")
	}
	a.To = to
	return append(slices.Clone(i.Assignments), a), true, nil
}

// AssignedBy sets the fields that follow from all assignments of the incident.
func (i *Incident) AssignedBy(all []Assignment) {
	i.Assignments, i.Assigned = all, nil
	if n := len(all); n > 0 && all[n-1].To != "" {
		i.Assigned = &all[n-1]
	}
}
