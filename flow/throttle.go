package flow

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Throttle has one job of a key made in a window of time. Those that are asked for later in it are not made: the first is
// their answer.
type Throttle struct {
	Key    string        `json:"key,omitempty" doc:"Jobs with the same value share a window, such as input.customer; default: all jobs of the task"`
	Window core.Duration `json:"window,omitempty" doc:"How long after a job no other of its key is made; 100ms to 31d"`
}

// ReasonThrottled is why a job was not made.
const ReasonThrottled core.Reason = "throttled"

// Limits of the window of a throttle.
const (
	MinThrottleWindow = core.Duration(100 * time.Millisecond)
	MaxThrottleWindow = core.Duration(31 * 24 * time.Hour)
)

// Validate says what is wrong with a throttle.
func (t Throttle) Validate() error {
	var p core.Problems
	if err := CheckKey(t.Key); err != nil {
		p.Add("key", t.Key, err.Error(), KeyHint)
	}
	if t.Window < MinThrottleWindow || t.Window > MaxThrottleWindow {
		p.Addf("window", t.Window, "is outside %s to %s", MinThrottleWindow, MaxThrottleWindow)
	}
	return p.Err("throttle")
}

// Text is a throttle as ParseThrottle reads it.
func (t Throttle) Text() string { return keyText(t.Key) + "window=" + t.Window.String() }

// ParseThrottle reads a throttle such as key=input.customer,window=30s; "none" is none. A key has no comma. An error names
// the field.
func ParseThrottle(field, text string) (*Throttle, error) {
	var t Throttle
	some, err := parseParts(field, text, map[string]func(value string) error{"key": textInto(&t.Key), "window": durationInto(&t.Window)},
		"write parts of key= and window=, such as key=input.customer,window=30s, or none")
	if err != nil || !some {
		return nil, err
	}
	return &t, nil
}
