package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// Payload is the body of a request to the URL of a hook.
type Payload struct {
	Delivery  string  `json:"delivery" doc:"The same in each try with the same events; also the header Belfry-Delivery"`
	Namespace string  `json:"namespace"`
	Hook      string  `json:"hook"`
	Events    []Event `json:"events" doc:"Up to 100, in the order of their ids"`
}

// Message is the message to a hook about some events.
func Message(h Hook, events []Event) alert.Message {
	m := message(Payload{Delivery: key(h, events), Namespace: h.Namespace, Hook: h.Name, Events: events})
	for i, ev := range events {
		if i > 0 && ev.Type != m.Title {
			m.Title = "mixed"
			break
		}
		m.Title = ev.Type
	}
	return m
}

// TestMessage is the message of a test of a hook; the nonce makes its key unique.
func TestMessage(namespace, name, nonce string, at time.Time) alert.Message {
	m := message(Payload{Delivery: "test-" + nonce, Namespace: namespace, Hook: name, Events: []Event{{Type: Test, At: at, Namespace: namespace}}})
	m.Title = Test
	return m
}

func message(p Payload) alert.Message {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	_ = e.Encode(p) // texts and numbers
	return alert.Message{Key: p.Delivery, Namespace: p.Namespace, Channel: p.Hook, Body: bytes.TrimSuffix(body.Bytes(), []byte("\n"))}
}

// key is a hash of the ids and instants of events and of the hook that they go to. After a restore an id may be that of another
// event, which a receiver must not take for the first.
func key(h Hook, events []Event) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "hook %d", h.ID)
	for _, e := range events {
		fmt.Fprintf(sum, " %d %d", e.ID, e.At.UnixMicro())
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// State is the state of the delivery of an event.
type State string

// The states of events.
const (
	Pending State = "pending"
	Sent    State = "sent"
)

// Recorded is an event of a hook, with its delivery.
type Recorded struct {
	Event
	State  State     `json:"state" enum:"pending,sent" doc:"sent: the receiver took it"`
	SentAt time.Time `json:"sent_at,omitzero"`
}

// Filter selects recorded events of a hook, the newest first.
type Filter struct {
	core.Paging
	Namespace string
	Hook      string
	State     State
	Type      string // a type or a pattern; empty: any
}

// Health is whether a hook is delivered to.
type Health string

// The states of hooks.
const (
	Active   Health = "active"
	Failing  Health = "failing"  // the last delivery failed, and is tried again
	Paused   Health = "paused"   // by its definition
	Disabled Health = "disabled" // deliveries failed for a day, or the receiver answered 410 Gone
)

// Standing is how the deliveries of a hook are going.
type Standing struct {
	Namespace  string    `json:"namespace"`
	Hook       string    `json:"hook"`
	State      Health    `json:"state" enum:"active,failing,paused,disabled"`
	Reason     string    `json:"reason,omitempty" doc:"What the last try said, if it failed"`
	Pending    int       `json:"pending" doc:"Events that are not delivered yet; 10000 means that or more"`
	OldestAt   time.Time `json:"oldest_at,omitzero" doc:"When the oldest of them happened"`
	Tries      int       `json:"tries" doc:"That failed, since the last that did not"`
	FailingAt  time.Time `json:"failing_at,omitzero" doc:"The first of them"`
	NextTryAt  time.Time `json:"next_try_at,omitzero"`
	SentAt     time.Time `json:"sent_at,omitzero" doc:"Last delivery that was taken"`
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	Dropped    int64     `json:"dropped" doc:"Events that were never delivered, because they were older than 3 days or more than 1000000"`
}

// Status is how the deliveries of a hook are going, with the last of them.
type Status struct {
	Standing
	Deliveries []Try `json:"deliveries" doc:"The last 20 tries, newest first"`
}

// MaxPending bounds the counts of a status, and MaxTries the tries that it shows.
const (
	MaxPending = 10_000
	MaxTries   = 20
)

// Try is one attempt to deliver events.
type Try struct {
	Delivery string        `json:"delivery"`
	At       time.Time     `json:"at"`
	Took     core.Duration `json:"took"`
	Events   int           `json:"events"`
	First    int64         `json:"first" doc:"Id of the first event"`
	Last     int64         `json:"last" doc:"Id of the last event"`
	Error    string        `json:"error,omitempty" doc:"Empty: it was taken"`
}

// Replay names the events of a hook to deliver once more.
type Replay struct {
	Since time.Time `json:"since,omitzero" doc:"Events from this instant on; default: all that are kept"`
	Until time.Time `json:"until,omitzero" doc:"Events before this instant; default: now"`
	Type  string    `json:"type,omitempty" doc:"Only events of this type, or of a pattern such as job.*"`
	ID    int64     `json:"id,omitempty" minimum:"0" doc:"Only this event"`
}

// Validate returns the problems of the replay.
func (r Replay) Validate() error {
	var p core.Problems
	if !r.Until.IsZero() && !r.Since.Before(r.Until) {
		p.Addf("until", r.Until.UTC().Format(time.RFC3339), "must be after since")
	}
	if r.ID < 0 {
		p.Addf("id", r.ID, "is negative")
	}
	CheckType(&p, "type", r.Type)
	return p.Err("replay")
}

// CheckType wants a type of event or a pattern of some, or nothing.
func CheckType(p *core.Problems, field, pattern string) {
	if pattern == "" {
		return
	}
	var h Hook
	h.On = []string{pattern}
	var found core.Problems
	h.validateOn(&found)
	for _, f := range found {
		p.Add(field, f.Value, f.Message, f.Hint)
	}
}

// Matching are the types that a pattern fits.
func Matching(pattern string) (types []string) {
	for _, t := range Types {
		if fits(pattern, t) {
			types = append(types, t)
		}
	}
	return types
}

// Replayed is the answer to a replay.
type Replayed struct {
	Events int `json:"events" doc:"That are delivered once more"`
}

// Backoff is how long deliveries wait after so many tries that failed, one after the other: as long as those of alerts.
// After a day the hook is disabled.
func Backoff(tries int) (wait time.Duration, giveUp bool) { return alert.Backoff(tries) }
