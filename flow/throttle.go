package flow

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Throttle creates only one job of a key in a window of time. Later requests in the window create none and get the first
// job as their answer.
type Throttle struct {
	Key    string        `json:"key,omitempty" doc:"Jobs with the same value share a window, such as input.customer; default: all jobs of the task"`
	Window core.Duration `json:"window,omitempty" doc:"How long after a job no other of its key is made; 100ms to 31d"`
}

// ReasonThrottled is the reason why no job was created: the window already had one.
const ReasonThrottled core.Reason = "throttled"

// Limits of the window of a throttle.
const (
	MinThrottleWindow = core.Duration(100 * time.Millisecond)
	MaxThrottleWindow = core.Duration(31 * 24 * time.Hour)
)

// Validate returns the problems of a throttle as one error, or nil.
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

// Text formats the throttle for ParseThrottle.
func (t Throttle) Text() string { return keyText(t.Key) + "window=" + t.Window.String() }

// ParseThrottle parses a throttle such as key=input.customer,window=30s. "none" gives nil. A key cannot contain a comma.
// Errors name the field.
func ParseThrottle(field, text string) (*Throttle, error) {
	var t Throttle
	some, err := parseParts(field, text, map[string]func(value string) error{"key": textInto(&t.Key), "window": durationInto(&t.Window)},
		"write parts of key= and window=, such as key=input.customer,window=30s, or none")
	if err != nil || !some {
		return nil, err
	}
	return &t, nil
}
