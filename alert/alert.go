package alert

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Alert is one notification to one channel: a row of the outbox.
type Alert struct {
	ID           int64        `json:"id"`
	Namespace    string       `json:"namespace"`
	Channel      string       `json:"channel"`
	Rule         string       `json:"rule"`
	Notification Notification `json:"notification"`
	State        State        `json:"state" enum:"pending,sent,failed,suppressed"`
	Reason       string       `json:"reason,omitempty" doc:"Why it waits or was suppressed, or what the last try said"`
	CreatedAt    time.Time    `json:"created_at"`
	DueAt        time.Time    `json:"due_at"`
	EndedAt      time.Time    `json:"ended_at,omitzero"`
	Tries        int          `json:"tries"`
	Message      string       `json:"message,omitempty" doc:"Key of the message that it went with"`
}

// State is the delivery state of an alert.
type State string

// The states.
const (
	Pending    State = "pending"
	Sent       State = "sent"
	Failed     State = "failed"
	Suppressed State = "suppressed"
)

// Try is one attempt to deliver a message.
type Try struct {
	Message string        `json:"message"`
	Channel string        `json:"channel"`
	At      time.Time     `json:"at"`
	Took    core.Duration `json:"took"`
	Alerts  int           `json:"alerts" doc:"That went together"`
	Error   string        `json:"error,omitempty" doc:"Empty: it was taken"`
	Final   bool          `json:"final,omitempty" doc:"It will not be tried again"`
}

// MaxBundle is the most alerts of one message.
const MaxBundle = 200

// Bundle groups alerts into messages. Alerts that were tried before stay in their
// group, so that a message is the same in all attempts.
func Bundle(alerts []Alert) [][]Alert {
	var out [][]Alert
	place := map[string]int{}
	for _, a := range alerts {
		i, is := place[a.Message]
		if !is || len(out[i]) == MaxBundle {
			i = len(out)
			place[a.Message] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

// Delays of retries.
const (
	firstBackoff = 5 * time.Second
	maxBackoff   = 15 * time.Minute
	maxTries     = 101 // about 24 hours
)

// TriedFor is about how long a message is tried before it is given up.
const TriedFor = 24 * time.Hour

// Backoff returns how long a message waits after that many failed attempts: three
// times as long each time, up to 15 minutes. After a day the message is given up.
func Backoff(tries int) (wait time.Duration, giveUp bool) {
	if tries >= maxTries {
		return 0, true
	}
	wait = firstBackoff
	for i := 1; i < tries && wait < maxBackoff; i++ {
		wait *= 3
	}
	return min(wait, maxBackoff), false
}
