package jobs

import (
	"encoding/json"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
)

// memberBar is a member of a cycle's run as a bar in the time of the run.
type memberBar struct {
	cycle.MemberResult
	Leg leg
}

var memberTones = map[cycle.MemberState]string{cycle.MemberOK: "good", cycle.MemberFailed: "bad", cycle.MemberSkipped: "idle"}

// cycleBars are the members of a cycle's job that have had their turn.
func (p *page) cycleBars(j job.Job) (bars []memberBar, err error) {
	var out cycle.Output
	if j.State.Final() {
		if len(j.Output) > 0 && json.Unmarshal(j.Output, &out) != nil {
			return nil, nil // the job ended without a run, such as by a cancel before its start
		}
	} else {
		s, err := p.api.CycleStatus(p.R.Context(), j.Namespace, j.Task)
		if core.CodeOf(err) == core.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if s.Run != nil && s.Run.JobID == j.ID {
			out = s.Run.Output(p.Now)
			if s.Run.MemberJob != 0 {
				out.Members = append(out.Members, cycle.MemberResult{Task: s.Run.Current, State: "running", JobID: s.Run.MemberJob, StartedAt: s.Run.TurnAt})
			}
		}
	}
	for _, m := range out.Members {
		b := memberBar{MemberResult: m, Leg: leg{Name: m.Task + ": " + parts.Words(m.State), Tone: memberTones[m.State], From: m.StartedAt, To: m.EndedAt}}
		if b.Leg.Tone == "" {
			b.Leg.Tone, b.Leg.To = "busy", p.Now
		}
		bars = append(bars, b)
	}
	return bars, nil
}

// newCycleCourse is the way of a cycle's job: the turns of its members. No
// worker runs the job itself.
func newCycleCourse(j job.Job, bars []memberBar, now time.Time) course {
	c := course{From: j.CreatedAt, To: now}
	if !j.FinishedAt.IsZero() {
		c.To = j.FinishedAt
	}
	at := c.From
	var first time.Time
	for _, b := range bars {
		if b.Leg.From.IsZero() {
			continue
		}
		if first.IsZero() {
			first = b.Leg.From
		}
		if b.Leg.From.After(at) {
			c.Legs = append(c.Legs, leg{"Waits for its turn", "later", at, b.Leg.From})
		}
		c.Legs, at = append(c.Legs, b.Leg), b.Leg.To
	}
	c.Points = []point{{Name: "Due", At: j.DueAt}, {Name: "Started", At: first}, {Name: "Finished", At: j.FinishedAt}}
	if !first.IsZero() && !j.FinishedAt.IsZero() {
		c.Points[2].Took = core.SpanText(j.FinishedAt.Sub(first)) + " running"
	}
	return c
}
