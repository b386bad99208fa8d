package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// Acknowledgement records the person who takes care of an incident. From then on
// no reminder of the incident is sent, but its end is.
type Acknowledgement struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
}

// Update is a text of a person about an incident.
type Update struct {
	Seq    int           `json:"seq,omitempty" doc:"Counts from 1" readOnly:"true"`
	At     time.Time     `json:"at,omitzero" readOnly:"true"`
	Actor  string        `json:"actor,omitempty" readOnly:"true"`
	State  IncidentState `json:"state,omitempty" enum:"investigating,identified,monitoring,resolved" doc:"How far the work is; empty: a note"`
	Text   string        `json:"text" doc:"At most 4,000 characters"`
	Public bool          `json:"public,omitempty" doc:"Status pages that show the monitor show it too, without its author"`
}

// IncidentState is the state of the work on an incident, as people set it. Checks
// alone decide whether the incident is over.
type IncidentState string

// The states of the work on an incident.
const (
	IncidentInvestigating IncidentState = "investigating"
	IncidentIdentified    IncidentState = "identified"
	IncidentMonitoring    IncidentState = "monitoring"
	IncidentResolved      IncidentState = "resolved"
)

// IncidentStates lists all states in their usual order.
var IncidentStates = []IncidentState{IncidentInvestigating, IncidentIdentified, IncidentMonitoring, IncidentResolved}

// RepeatWithin is the time within which the same update of the same person counts as a repeated call.
const RepeatWithin = 10 * time.Minute

// Limits of what people write about an incident.
const (
	MaxUpdates    = 200  // updates of one incident
	MaxUpdateText = 4000 // characters
)

// Acknowledge acknowledges an incident and returns the acknowledgement that
// holds. The first one holds: the same person gets it again, and another person
// gets a [core.Conflict].
func (i Incident) Acknowledge(a Acknowledgement) (Acknowledgement, error) {
	if len(a.Note) > core.MaxDescription {
		return a, core.InvalidField("note", "", fmt.Sprintf("has more than %d bytes", core.MaxDescription), "write an update instead")
	}
	switch is := i.Acknowledged; {
	case is == nil:
		a.Note, _ = core.CleanText(strings.TrimSpace(a.Note), core.MaxDescription)
		return a, nil
	case is.By == a.By:
		return *is, nil
	default:
		return a, core.Errorf(core.Conflict, "incident %d is already acknowledged by %s", i.ID, is.By).
			WithHint("write an update, or undo it first: belfry incident unacknowledge %d", i.ID)
	}
}

// AddUpdate returns the update to write; the incident must have all of its updates. The same update of the same person within
// [RepeatWithin] returns the existing one, because the answer to the first call may have been lost.
func (i Incident) AddUpdate(u Update) (_ Update, existing bool, _ error) {
	var p core.Problems
	u.Text, _ = core.CleanText(strings.TrimSpace(strings.ReplaceAll(u.Text, "\r\n", "\n")), 4*MaxUpdateText+1)
	switch n := utf8.RuneCountInString(u.Text); {
	case n == 0:
		p.Add("text", "", "is missing", "say what is known")
	case n > MaxUpdateText:
		p.Add("text", "", fmt.Sprintf("has more than %d characters", MaxUpdateText), "shorten it, or write several updates")
	}
	if u.State != "" && !slices.Contains(IncidentStates, u.State) {
		p.Add("state", string(u.State), "is not a state of the work on an incident", "one of "+core.List(IncidentStates)+", or none for a note")
	}
	if err := p.Err(fmt.Sprintf("update of incident %d", i.ID)); err != nil {
		return u, false, err
	}
	for _, is := range slices.Backward(i.Updates) {
		if is.Actor == u.Actor {
			if is.State == u.State && is.Text == u.Text && is.Public == u.Public && u.At.Sub(is.At) < RepeatWithin {
				return is, true, nil
			}
			break
		}
	}
	if len(i.Updates) >= MaxUpdates {
		return u, false, core.Errorf(core.Conflict, "incident %d has %d updates, the most that one can have", i.ID, len(i.Updates)).
			WithHint("keep a longer record elsewhere, and link it in the note of the acknowledgement")
	}
	u.Seq = len(i.Updates) + 1
	return u, false, nil
}
