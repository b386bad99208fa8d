package flow

import (
	"time"

	"github.com/belfry-run/belfry/core"
)

// Debounce joins requests of a key that follow each other within a window. They share one job with the input of the last
// request. It starts when no request has come for the length of the window.
type Debounce struct {
	Key    string        `json:"key,omitempty" doc:"Requests with the same value share a job, such as input.customer; default: all of the task"`
	Window core.Duration `json:"window,omitempty" doc:"How long after the last request the job starts; 100ms to 31d"`
	Max    core.Duration `json:"max,omitempty" doc:"How long after the first request it starts at the latest; at least the window, at most 31d; default: ten windows"`
}

// ReasonDebounced is the reason why no job was created: the request joined a job that waits for its window.
const ReasonDebounced core.Reason = "debounced"

// Limits and default of a debounce.
const (
	MinDebounceWindow  = core.Duration(100 * time.Millisecond)
	MaxDebounceWindow  = core.Duration(31 * 24 * time.Hour)
	defaultMostWindows = 10
)

// soon is the least time from now to a start that a request moves. A job whose start lies in the past may already be
// starting.
const soon = time.Millisecond

// Validate returns the problems of a debounce as one error, or nil.
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

// Longest returns the longest time from the first request to the start of the job.
func (d Debounce) Longest() time.Duration {
	if d.Max > 0 {
		return d.Max.D()
	}
	return min(defaultMostWindows*d.Window, MaxDebounceWindow).D()
}

// StartAt returns when a job starts, given the times of its first and last request. It is after the last.
func (d Debounce) StartAt(first, last time.Time) time.Time {
	start := last.Add(d.Window.D())
	if latest := first.Add(d.Longest()); latest.Before(start) {
		start = latest
	}
	if soonest := last.Add(soon); start.Before(soonest) { // the job was created under a longer window
		return soonest
	}
	return start
}

// Text formats the debounce for ParseDebounce.
func (d Debounce) Text() string {
	text := keyText(d.Key) + "window=" + d.Window.String()
	if d.Max > 0 {
		text += ",max=" + d.Max.String()
	}
	return text
}

// ParseDebounce parses a debounce such as key=input.customer,window=30s,max=5m. "none" gives nil. A key cannot contain a
// comma. Errors name the field.
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
