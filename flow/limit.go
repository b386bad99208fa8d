// Package flow defines flow control: limits, sequences, throttles, debounces and fair queues of jobs.
package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Limit bounds how many jobs with the same key run at once on all workers together, how many begin within a period, or
// both.
type Limit struct {
	Name    string `json:"name,omitempty" doc:"Names it among the limits of the task, queue or namespace; default: its place, such as 1"`
	Key     string `json:"key,omitempty" doc:"Jobs with the same value share the limit, such as input.customer; default: all jobs share it"`
	Running int    `json:"running,omitempty" minimum:"0" maximum:"100000" doc:"Most jobs of a key that are ready or running at the same time on all workers together"`
	Rate    string `json:"rate,omitempty" doc:"Most jobs of a key that begin in a length of time, such as 100/1m"`
	Burst   int    `json:"burst,omitempty" minimum:"0" maximum:"100000" doc:"How many of the rate may begin at once after a rest; default: 1"`
}

// Sequence makes jobs with the same key run one at a time, in the order of their requests.
type Sequence struct {
	Key       string       `json:"key,omitempty" doc:"Jobs with the same value are a sequence, such as input.order; default: all jobs of the task"`
	OnFailure AfterFailure `json:"on_failure,omitempty" enum:"stop,continue,skip" doc:"What happens when a job has failed for good: stop holds the others until it is retried or the sequence is resumed, continue goes on, skip skips those that wait; default: stop"`
}

// AfterFailure is the policy of a sequence after one of its jobs has failed permanently.
type AfterFailure string

// The policies of a sequence after a failure.
const (
	SequenceStops    AfterFailure = "stop"
	SequenceGoesOn   AfterFailure = "continue"
	SequenceSkips    AfterFailure = "skip"
	SequenceGateName              = "sequence" // name of the sequence among the limits of its task
)

// WithDefaults returns a copy with the defaults of empty fields.
func (s Sequence) WithDefaults() Sequence {
	s.OnFailure = core.Or(s.OnFailure, SequenceStops)
	return s
}

// StoppedNote returns the note of a job that has stopped the sequence of a task. again is what is retried: it, or its workflow.
func (s Sequence) StoppedNote(task, again string) string {
	note := "its sequence is stopped: retry " + again + ", or go on without it by belfry task resume " + task
	if s.Key != "" {
		note += " KEY"
	}
	return note
}

// ResumedNote is the note of a job that had stopped its sequence, after the sequence was resumed.
const ResumedNote = "its sequence was stopped, and resumed without it"

// TakenOverNote is the note of the job of a step that had stopped its sequence, after its workflow was retried.
const TakenOverNote = "its sequence was stopped, until a retry of its workflow"

// Validate returns the problems of a sequence that has its defaults as one error, or nil.
func (s Sequence) Validate() error {
	var p core.Problems
	if err := CheckKey(s.Key); err != nil {
		p.Add("key", s.Key, err.Error(), KeyHint)
	}
	if s.OnFailure != SequenceStops && s.OnFailure != SequenceGoesOn && s.OnFailure != SequenceSkips {
		p.Add("on_failure", string(s.OnFailure), "is not known", "stop, continue or skip")
	}
	return p.Err("sequence")
}

// Bounds of limits.
const (
	MaxLimits    = 4       // limits of a task, queue or namespace
	MaxRunning   = 100_000 // running jobs of a limit
	MaxBurst     = 100_000
	MaxPerSecond = 10_000 // jobs of a rate
	MaxRatePer   = core.Duration(31 * 24 * time.Hour)
)

// ParseRate parses a rate such as 100/1m, 5/s or 1000/24h: a number per duration.
func ParseRate(text string) (n int, per time.Duration, err error) {
	count, span, found := strings.Cut(text, "/")
	if !found {
		return 0, 0, fmt.Errorf("is not a rate: write how many in how long, such as 100/1m")
	}
	n, err = strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 0 {
		return 0, 0, fmt.Errorf("does not begin with how many, as 100/1m does")
	}
	span = strings.TrimSpace(span)
	if span != "" && strings.Trim(span, "0123456789.") == span { // a unit without a number
		span = "1" + span
	}
	d, err := core.ParseDuration(span)
	switch {
	case err != nil || d <= 0:
		return 0, 0, fmt.Errorf("does not end with a length of time, as 100/1m does")
	case n == 0:
		return 0, 0, fmt.Errorf("lets nothing begin")
	case d > MaxRatePer:
		return 0, 0, fmt.Errorf("counts over more than %s", MaxRatePer)
	case float64(n)/d.D().Seconds() > MaxPerSecond:
		return 0, 0, fmt.Errorf("is over %d a second", MaxPerSecond)
	}
	return n, d.D(), nil
}

const pauseInstead = "to let nothing run, pause the queue: belfry queue pause NAME"

// WithDefaults returns the limit at that place of a list with the defaults of empty fields.
func (l Limit) WithDefaults(place int) Limit {
	l.Name = core.Or(l.Name, strconv.Itoa(place+1))
	if l.Rate != "" {
		l.Burst = core.Or(l.Burst, 1)
	}
	return l
}

// Validate returns the problems of a limit that has its defaults as one error, or nil.
func (l Limit) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", l.Name)
	if err := CheckKey(l.Key); err != nil {
		p.Add("key", l.Key, err.Error(), KeyHint)
	}
	switch {
	case l.Running == 0 && l.Rate == "":
		p.Add("running", "0", "must be at least 1 where there is no rate", "give running or rate; "+pauseInstead)
	case l.Running < 0 || l.Running > MaxRunning:
		p.Add("running", strconv.Itoa(l.Running), fmt.Sprintf("is outside 1 to %d", MaxRunning), pauseInstead)
	}
	if l.Rate != "" {
		if _, _, err := ParseRate(l.Rate); err != nil {
			p.Add("rate", l.Rate, err.Error(), "such as 100/1m; "+pauseInstead)
		}
	}
	switch {
	case l.Rate == "" && l.Burst != 0:
		p.Add("burst", strconv.Itoa(l.Burst), "needs a rate", "give rate, such as 100/1m")
	case l.Burst < 0 || l.Burst > MaxBurst:
		p.Addf("burst", l.Burst, "is outside 1 to %d", MaxBurst)
	}
	return p.Err("limit")
}

// LimitsWithDefaults returns limits with the defaults of empty fields.
func LimitsWithDefaults(all []Limit) []Limit {
	all = slices.Clone(all)
	for i := range all {
		all[i] = all[i].WithDefaults(i)
	}
	return all
}

// CheckLimits adds to p the problems of limits that have their defaults.
func CheckLimits(p *core.Problems, all []Limit) {
	p.AtMost("limits", len(all), MaxLimits)
	names := map[string]bool{}
	for i, l := range all {
		field := fmt.Sprintf("limits[%d]", i)
		if p.Nest(field, l.Validate()); names[l.Name] {
			p.Add(field+".name", l.Name, "is given twice", "each limit has a name of its own")
		}
		if l.Name == SequenceGateName {
			p.Add(field+".name", l.Name, "is the name of sequences", "choose another")
		}
		names[l.Name] = true
	}
}
