package job

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Limits of the samples of queues.
const (
	KeepSamples     = 48 * time.Hour      // retention of samples by the minute
	KeepSampleHours = 35 * 24 * time.Hour // retention of samples by the hour
	// MaxSampleSteps is the most points of a queue in an answer.
	MaxSampleSteps = 1000
	// sampleSteps is the most points of a queue in an answer with the default step.
	sampleSteps = 180
)

// stepsOfSamples are the possible default steps.
var stepsOfSamples = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour}

// SampleQuery selects the numbers of waiting jobs of queues over time.
type SampleQuery struct {
	Namespace string        // default: default; * for all
	Queues    []string      // default: all
	Within    time.Duration // length of the period up to now; default: 3h; at most 35 days
	Step      time.Duration // time between points; default: one that gives at most 180 points
}

// WithDefaults returns a copy with the defaults of empty fields.
func (q SampleQuery) WithDefaults() SampleQuery {
	if q.Within == 0 {
		q.Within = 3 * time.Hour
	}
	if q.Step == 0 {
		q.Step = stepsOfSamples[len(stepsOfSamples)-1]
		for _, step := range slices.Backward(stepsOfSamples) {
			if q.Within/step <= sampleSteps && (q.Within <= KeepSamples || step%time.Hour == 0) {
				q.Step = step
			}
		}
	}
	return q
}

// Validate returns the problems of a query with its defaults as one error, or nil.
func (q SampleQuery) Validate() error {
	switch {
	case q.Within < time.Minute || q.Within > KeepSampleHours:
		return core.InvalidField("within", q.Within.String(), "must be 1m to 840h", "such as 24h")
	case q.Step < time.Minute || q.Step%time.Minute != 0:
		return core.InvalidField("step", q.Step.String(), "must be whole minutes", "such as 10m")
	case q.Step > time.Hour && q.Step%time.Hour != 0:
		return core.InvalidField("step", q.Step.String(), "must be whole hours when it is over an hour", "such as 6h")
	case q.Within > KeepSamples && q.Step%time.Hour != 0:
		return core.InvalidField("step", q.Step.String(), "must be whole hours: single minutes are kept for 48 hours", "set step to 1h, or within to 48h")
	case q.Within/q.Step > MaxSampleSteps:
		return core.InvalidField("step", q.Step.String(), "gives more than 1000 points", "set a longer step")
	}
	return nil
}

// Hourly reports whether the answer comes from the samples by the hour.
func (q SampleQuery) Hourly() bool { return q.Step%time.Hour == 0 }

// Samples are the numbers of waiting jobs of queues over time.
type Samples struct {
	Step  core.Duration  `json:"step" doc:"Between points"`
	Items []QueueSamples `json:"items" doc:"By name; without queues asked for, those in which something waited or ran"`
}

// QueueSamples are the samples of one queue.
type QueueSamples struct {
	Queue  string        `json:"queue"`
	Points []QueueSample `json:"points" doc:"Oldest first; a time at which no node took a sample is left out"`
}

// QueueSample is the maximum of the samples of a queue within one step.
type QueueSample struct {
	At      time.Time     `json:"at" doc:"Begin of the step"`
	Ready   int64         `json:"ready" doc:"The most jobs that waited ready"`
	More    bool          `json:"more,omitempty" doc:"There were more than were counted"`
	Oldest  core.Duration `json:"oldest" doc:"The longest that the oldest of them had waited since it was due"`
	Running int64         `json:"running" doc:"The most jobs that ran"`
}

// Merge merges a later sample of the same step.
func (s *QueueSample) Merge(o QueueSample) {
	s.Ready, s.Oldest, s.Running = max(s.Ready, o.Ready), max(s.Oldest, o.Oldest), max(s.Running, o.Running)
	s.More = s.More || o.More
}
