package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/core"
)

// Acknowledgement says who looks after an incident. While there is one, no
// reminder of the incident is sent; its end is.
type Acknowledgement struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
}

// Update is what a person wrote about an incident.
type Update struct {
	Seq    int           `json:"seq,omitempty" doc:"Counts from 1" readOnly:"true"`
	At     time.Time     `json:"at,omitzero" readOnly:"true"`
	Actor  string        `json:"actor,omitempty" readOnly:"true"`
	State  IncidentState `json:"state,omitempty" enum:"investigating,identified,monitoring,resolved" doc:"How far the work is; empty: a note"`
	Text   string        `json:"text" doc:"At most 4,000 characters"`
	Public bool          `json:"public,omitempty" doc:"Status pages that show the monitor show it too, without its author"`
}

// IncidentState is how far people are with an incident. It is their word alone:
// whether the incident is over is decided by checks.
type IncidentState string

// The states of the work on an incident.
const (
	IncidentInvestigating IncidentState = "investigating"
	IncidentIdentified    IncidentState = "identified"
	IncidentMonitoring    IncidentState = "monitoring"
	IncidentResolved      IncidentState = "resolved"
)

// IncidentStates are all of them, in the order in which they come.
var IncidentStates = []IncidentState{IncidentInvestigating, IncidentIdentified, IncidentMonitoring, IncidentResolved}

// RepeatWithin is for how long the same update of the same person is taken for a repeated call.
const RepeatWithin = 10 * time.Minute

// Limits of what people write about an incident.
const (
	MaxUpdates    = 200  // of one incident
	MaxUpdateText = 4000 // characters
)

// Acknowledge decides about an acknowledgement of an incident: the one that
// holds then. The first holds; the same person gets it again, and another gets
// a [core.Conflict].
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

// AddUpdate decides about an update of an incident with all of its updates: what is written then. A person who writes the same
// again within [RepeatWithin] gets what is there, because the answer to the first may have been lost.
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
