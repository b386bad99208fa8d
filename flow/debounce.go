package flow

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Debounce has the last of the requests of a key count that come within a window of each other. They share one job, which
// starts when none has come for the length of the window.
type Debounce struct {
	Key    string        `json:"key,omitempty" doc:"Requests with the same value share a job, such as input.customer; default: all of the task"`
	Window core.Duration `json:"window,omitempty" doc:"How long after the last request the job starts; 100ms to 31d"`
	Max    core.Duration `json:"max,omitempty" doc:"How long after the first request it starts at the latest; at least the window, at most 31d; default: ten windows"`
}

// ReasonDebounced is why a job was not made: the request joined one that waits for its window.
const ReasonDebounced core.Reason = "debounced"

// Limits and default of a debounce.
const (
	MinDebounceWindow  = core.Duration(100 * time.Millisecond)
	MaxDebounceWindow  = core.Duration(31 * 24 * time.Hour)
	defaultMostWindows = 10
)

// soon is how far in the future a start is at least that a request moves: what waits for a time that has passed has begun
// to be started.
const soon = time.Millisecond

// Validate says what is wrong with a debounce.
func (d Debounce) Validate() error {
	var p core.Problems
	if err := CheckKey(d.Key); err != nil {
		p.Add("key", d.Key, err.Error(), KeyHint)
	}
	if d.Window < MinDebounceWindow || d.Window > MaxDebounceWindow {
		p.Addf("window", d.Window, "is outside %s to %s", MinDebounceWindow, MaxDebounceWindow)
	}
	if d.Max != 0 && (d.Max < d.Window || d.Max > MaxDebounceWindow) {
		p.Addf("max", d.Max, "is outside the window, %s, to %s", d.Window, MaxDebounceWindow)
	}
	return p.Err("debounce")
}

// Longest is how long after the first request the job starts at the latest.
func (d Debounce) Longest() time.Duration {
	if d.Max > 0 {
		return d.Max.D()
	}
	return min(defaultMostWindows*d.Window, MaxDebounceWindow).D()
}

// StartAt is when a job starts whose first request came at one time and whose last at another. It is after the last.
func (d Debounce) StartAt(first, last time.Time) time.Time {
	start := last.Add(d.Window.D())
	if latest := first.Add(d.Longest()); latest.Before(start) {
		start = latest
	}
	if soonest := last.Add(soon); start.Before(soonest) { // it was made under a longer one
		return soonest
	}
	return start
}

// Text is a debounce as ParseDebounce reads it.
func (d Debounce) Text() string {
	text := keyText(d.Key) + "window=" + d.Window.String()
	if d.Max > 0 {
		text += ",max=" + d.Max.String()
	}
	return text
}

// ParseDebounce reads a debounce such as key=input.customer,window=30s,max=5m; "none" is none. A key has no comma. An error
// names the field.
func ParseDebounce(field, text string) (*Debounce, error) {
	var d Debounce
	some, err := parseParts(field, text, map[string]func(value string) error{
		"key": textInto(&d.Key), "window": durationInto(&d.Window), "max": durationInto(&d.Max),
	}, "write parts of key=, window= and max=, such as key=input.customer,window=30s,max=5m, or none")
	if err != nil || !some {
		return nil, err
	}
	return &d, nil
}
