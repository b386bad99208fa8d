package jobs

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

const (
	lastLines = 10      // of stderr, shown in the box of an error without scrolling
	lastBytes = 4 << 10 // limit of these lines
)

// lastSaid are the last lines that an attempt wrote to stderr.
func lastSaid(p *page, j job.Job) (lines [][]inked, err error) {
	if j.Error == "" || j.State == job.Succeeded || j.Attempt == 0 {
		return nil, nil
	}
	n := j.Attempt
	if j.State == job.Running {
		n-- // the current attempt has no error yet: use the one before
	}
	got, err := p.api.LogText(p.R.Context(), p.Namespace, j.ID, job.LogQuery{Attempt: max(1, n), Stream: job.Stderr, Tail: lastLines, Limit: lastBytes})
	if err != nil || strings.TrimSpace(got.Text) == "" {
		return nil, err
	}
	var k ink
	for text := range strings.Lines(got.Text) {
		lines = append(lines, k.paint(lastWritten(parts.Short(logWidth, strings.TrimSuffix(text, "\n")))))
	}
	return lines, nil
}

// compared is a job with the last successful job of its task.
type compared struct {
	Good job.Job
	Rows []comparedRow
}

// comparedRow is one property of both jobs.
type comparedRow struct {
	Name, Was, Is string
	Differs       bool
}

// compare finds the last successful job before this one, or none.
func (p *page) compare(ctx context.Context, j job.Job) (*compared, error) {
	if !j.State.Final() || j.State == job.Skipped || j.Attempt == 0 && j.Kind != task.KindCycle {
		return nil, nil
	}
	got, err := p.api.Jobs(ctx, job.Filter{Namespace: j.Namespace, Task: j.Task, States: []job.State{job.Succeeded}, Until: j.CreatedAt, Paging: core.Paging{Limit: 1}})
	if err != nil || len(got.Items) == 0 {
		return nil, err
	}
	good, err := p.api.Job(ctx, j.Namespace, got.Items[0].ID)
	if core.CodeOf(err) == core.NotFound { // deleted by retention in the meantime
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	attempts, err := p.api.Attempts(ctx, j.Namespace, good.ID)
	if err != nil {
		return nil, err
	}
	mine, err := p.api.Attempts(ctx, j.Namespace, j.ID)
	if err != nil {
		return nil, err
	}
	return &compared{good, comparedRows(good, j, attempts, mine)}, nil
}

func comparedRows(good, j job.Job, attempts, mine []job.Attempt) []comparedRow {
	row := func(name, was, is string) comparedRow { return comparedRow{name, was, is, was != is} }
	took, took2 := ranFor(good, attempts), ranFor(j, mine)
	rows := []comparedRow{{"Duration", core.SpanText(took), core.SpanText(took2), took2 > 2*took && took2-took > time.Second || 2*took2 < took && took-took2 > time.Second}}
	if a, b := lastExit(attempts), lastExit(mine); a != "" || b != "" {
		rows = append(rows, row("Process", dash(a), dash(b)))
	}
	rows = append(rows, row("Attempts", parts.NumberText(good.Attempt), parts.NumberText(j.Attempt)))
	if bytes.Equal(good.Input, j.Input) {
		rows = append(rows, comparedRow{Name: "Input", Was: inputText(good), Is: "the same"})
	} else {
		rows = append(rows, row("Input", inputText(good), inputText(j)))
	}
	if a, b := lastWorker(attempts), lastWorker(mine); a != "" || b != "" {
		rows = append(rows, row("Worker", dash(a), dash(b)))
	}
	return rows
}

// TaskChanged reports that the task was changed after the successful job ended.
func (c *compared) TaskChanged(t *task.Task) bool {
	return t != nil && t.UpdatedAt.After(c.Good.CreatedAt)
}

// ranFor is how long the last attempt of a job took, or a cycle as a whole.
func ranFor(j job.Job, attempts []job.Attempt) time.Duration {
	if n := len(attempts); n > 0 && !attempts[n-1].BeganAt().IsZero() {
		return max(0, attempts[n-1].EndedAt.Sub(attempts[n-1].BeganAt()))
	}
	return max(0, j.FinishedAt.Sub(j.CreatedAt))
}

func lastExit(attempts []job.Attempt) string {
	if n := len(attempts); n > 0 {
		return exit(attempts[n-1])
	}
	return ""
}

func lastWorker(attempts []job.Attempt) string {
	if n := len(attempts); n > 0 {
		return attempts[n-1].Worker
	}
	return ""
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func inputText(j job.Job) string {
	if len(j.Input) == 0 {
		return "none"
	}
	return parts.Short(200, string(j.Input))
}

// attemptBar is an attempt as a bar in the time of its job. One that runs has no end yet.
type attemptBar struct {
	job.Attempt
	Leg  leg
	Runs bool
}

// attemptBars are the attempts of a job on one axis.
func attemptBars(j job.Job, attempts []job.Attempt, now time.Time) (bars []attemptBar) {
	for _, a := range attempts {
		from := a.BeganAt()
		if from.IsZero() {
			from = a.ClaimedAt
		}
		bars = append(bars, attemptBar{Attempt: a, Leg: leg{"Attempt " + parts.NumberText(a.Number) + ": " + parts.Words(a.Outcome), outcomeTones[a.Outcome], from, a.EndedAt}})
	}
	if j.State == job.Running && len(bars) > 0 {
		bars = append(bars, attemptBar{Attempt: job.Attempt{Number: j.Attempt, ClaimedAt: j.ClaimedAt}, Runs: true, Leg: leg{"Attempt " + parts.NumberText(j.Attempt) + " runs", "busy", j.ClaimedAt, now}})
	}
	return bars
}
