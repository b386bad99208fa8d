package jobs

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// course is the timeline of a job: consecutive legs, such as waiting and running, and the points of its last attempt.
type course struct {
	From, To time.Time
	Legs     []leg
	Points   []point
}

// leg is a span of a job's time.
type leg struct {
	Name, Tone string
	From, To   time.Time
}

// kind is the total duration of the legs of one kind.
type kind struct {
	leg
	Since parts.Moment // start of the present leg: its length grows while it is shown
}

// Span is how long it took.
func (l leg) Span() time.Duration { return max(0, l.To.Sub(l.From)) }

// Said is the leg in words.
func (l leg) Said() string { return l.Name + ": " + core.SpanText(l.Span()) }

// point is an instant of a job's way, and how long it took to get there.
type point struct {
	Name  string
	At    time.Time
	Took  string       // its longest leg
	Since parts.Moment // as of a kind
}

// There reports that the job has reached the point.
func (p point) There() bool { return !p.At.IsZero() }

var outcomeTones = map[job.Outcome]string{
	job.OutcomeOK: "good", job.OutcomeError: "bad", job.OutcomeTimeout: "bad", job.OutcomeLost: "bad",
	job.OutcomeCanceled: "idle", job.OutcomeSnoozed: "idle", job.OutcomeHandedBack: "idle",
}

// newCourse returns the timeline of a job up to now. Attempts are the ended ones, oldest first.
func newCourse(j job.Job, attempts []job.Attempt, now time.Time) course {
	c := course{From: j.CreatedAt, To: now}
	if !j.FinishedAt.IsZero() {
		c.To = j.FinishedAt
	}
	due := j.DueAt
	if len(attempts) > 0 && !j.State.Final() || len(attempts) > 1 {
		due = j.Nominal // the due time is that of a retry
		if due.IsZero() {
			due = j.CreatedAt
		}
	}
	at := c.From
	pass := func(name, tone string, to time.Time) {
		if to.After(at) {
			c.Legs = append(c.Legs, leg{name, tone, at, to})
			at = to
		}
	}
	if due.After(c.To) {
		due = c.To
	}
	pass("Waits for its time", "later", due)
	const wait, again = "Waits for a worker", "Waits for its next try"
	for i, a := range attempts {
		switch {
		case i == 0:
		case i == len(attempts)-1 && j.State.Final() && j.DueAt.Before(a.ClaimedAt): // known of the last one alone
			pass(again, "later", j.DueAt)
		default:
			pass(again, "later", a.ClaimedAt)
		}
		pass(wait, "wait", a.ClaimedAt)
		pass("Starts up", "start", a.StartedAt)
		pass(fmt.Sprintf("Attempt %d: %s", a.Number, parts.Words(a.Outcome)), outcomeTones[a.Outcome], a.EndedAt)
	}
	if retried := len(attempts) > 0 && !j.State.Final(); retried && j.DueAt.After(c.To) {
		pass(again, "later", c.To)
	} else if retried {
		pass(again, "later", j.DueAt)
	}
	switch {
	case j.State == job.Running:
		pass(wait, "wait", j.ClaimedAt)
		pass(fmt.Sprintf("Attempt %d runs", j.Attempt), "busy", c.To)
	case !j.State.Final() && j.DueAt.After(now):
		pass("Waits for its time", "later", c.To)
	default:
		pass(wait, "wait", c.To)
	}
	c.Points = points(j, attempts, now)
	return c
}

// points are due, claimed, started and finished of the last attempt.
func points(j job.Job, attempts []job.Attempt, now time.Time) []point {
	var claimed, started time.Time
	switch n := len(attempts); {
	case j.State == job.Running:
		claimed = j.ClaimedAt
	case j.State.Final() && n > 0:
		claimed, started = attempts[n-1].ClaimedAt, attempts[n-1].StartedAt
	}
	ready := j.DueAt
	due := point{Name: "Due", At: j.DueAt}
	if late := j.CreatedAt.Sub(j.DueAt); late > 0 {
		ready = j.CreatedAt
		if late >= time.Second {
			due.Took = "created " + core.SpanText(late) + " later"
		}
	}
	after := func(from, to time.Time, what string) string {
		if from.IsZero() || to.Before(from) {
			return ""
		}
		return core.SpanText(to.Sub(from)) + " " + what
	}
	all := []point{due, {Name: "Claimed", At: claimed, Took: after(ready, claimed, "waiting")}}
	ran := claimed
	if !started.IsZero() {
		all, ran = append(all, point{Name: "Started", At: started, Took: after(claimed, started, "starting up")}), started
	}
	end := point{Name: "Finished", At: j.FinishedAt, Took: after(ran, j.FinishedAt, "running")}
	if j.State == job.Running {
		end.Took, end.Since = core.SpanText(max(0, now.Sub(claimed)).Truncate(time.Second))+" so far", parts.NewMoment(claimed, now, time.UTC, true)
	}
	return append(all, end)
}

const courseWidth = 1000

// X and Width place a leg in a picture of 1000: each can be seen, however
// short it is.
func (c course) X(l leg) int {
	return int(int64(courseWidth-4) * int64(l.From.Sub(c.From)) / max(1, int64(c.To.Sub(c.From))))
}

func (c course) Width(l leg) int {
	return max(4, int(int64(courseWidth)*int64(l.Span())/max(1, int64(c.To.Sub(c.From)))))
}

// Said is the whole way in words.
func (c course) Said() string {
	text := ""
	for i, l := range c.Legs {
		if i == 12 {
			return text + fmt.Sprintf("and %d more", len(c.Legs)-i)
		}
		text += l.Said() + "; "
	}
	return text
}

// Kinds is the legend of the timeline: each kind of leg once, with the sum of its times.
func (c course) Kinds() (out []kind) {
	names := map[string]string{"later": "Not due", "wait": "Waiting for a worker", "start": "Startup", "busy": "Running", "good": "Succeeded", "bad": "Failed", "idle": "Ended early"}
	sum := map[string]time.Duration{}
	for _, l := range c.Legs {
		if sum[l.Tone] == 0 {
			out = append(out, kind{leg: leg{Name: names[l.Tone], Tone: l.Tone}})
		}
		sum[l.Tone] += l.Span()
		if l.Tone == "busy" { // the running attempt, which is the last leg
			out[len(out)-1].Since = parts.NewMoment(l.From, l.To, time.UTC, true)
		}
	}
	for i, l := range out {
		out[i].To = l.From.Add(sum[l.Tone])
	}
	return out
}
