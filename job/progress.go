package job

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/belfry-run/belfry/core"
)

// ProgressKeeper is a [Leaser] that stores the progress of jobs.
type ProgressKeeper interface {
	// SaveProgress stores the progress of attempts and replaces their earlier progress. Progress under a stale lease is
	// dropped without an error.
	SaveProgress(ctx context.Context, session string, ps []AttemptProgress) error
}

// Progress is the progress that an attempt reports.
type Progress struct {
	Percent  float64          `json:"percent,omitempty" doc:"0 to 100"`
	Message  string           `json:"message,omitempty" doc:"At most 200 bytes"`
	Counters map[string]int64 `json:"counters,omitempty" doc:"At most 16, with names of at most 64 bytes"`
}

// AttemptProgress is the progress of one attempt.
type AttemptProgress struct {
	Ref
	Progress
}

// JobProgress is the last progress of a job, for people.
type JobProgress struct {
	Progress
	At    time.Time `json:"at" doc:"When it was said"`
	Lease int64     `json:"lease" doc:"By the attempt under this lease"`
	EndAt time.Time `json:"end_at,omitzero" doc:"Estimate of the end, by the percent per time since the first progress of the attempt"`
}

// Limits of progress.
const (
	MaxProgressMessage = 200 // bytes
	MaxCounters        = 16
	MaxCounterName     = 64 // bytes
	// ProgressPace is the shortest interval at which the progress of an attempt is written.
	ProgressPace = time.Second
)

// Validate returns the problems of a progress as one error, or nil.
func (g Progress) Validate() error {
	var p core.Problems
	if math.IsNaN(g.Percent) || g.Percent < 0 || g.Percent > 100 {
		p.Addf("percent", g.Percent, "must be between 0 and 100")
	}
	if clean, cut := core.CleanText(g.Message, MaxProgressMessage); cut || clean != g.Message {
		p.Addf("message", g.Message, "must be plain text of at most %d bytes", MaxProgressMessage)
	}
	p.AtMost("counters", len(g.Counters), MaxCounters)
	for name := range g.Counters {
		if clean, cut := core.CleanText(name, MaxCounterName); cut || clean != name || name == "" {
			p.Addf("counters", name, "must have names of plain text of at most %d bytes", MaxCounterName)
		}
	}
	return p.Err("progress")
}

// Validate returns the problems of the progress of an attempt as one error, or nil.
func (g AttemptProgress) Validate() error {
	if err := g.Progress.Validate(); err != nil {
		return fmt.Errorf("job %d: %w", g.JobID, err)
	}
	return nil
}

// EstimateEnd returns when an attempt reaches 100 percent at constant speed. It was at percent from at time since, and is at
// percent now at time at. The result is zero if there is no estimate, or if it is over a year ahead.
func EstimateEnd(from float64, since time.Time, now float64, at time.Time) time.Time {
	done, took := now-from, at.Sub(since)
	if done <= 0 || took <= 0 || now <= 0 {
		return time.Time{}
	}
	left := float64(took) / done * (100 - now)
	if left > float64(365*24*time.Hour) {
		return time.Time{}
	}
	return at.Add(time.Duration(left)).Truncate(time.Second)
}
