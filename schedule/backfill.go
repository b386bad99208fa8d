package schedule

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Backfill runs a range of past nominal times of a schedule, one after another or
// all at once, in addition to its plan. The cadence, high-water mark and run
// count of the schedule do not change.
type Backfill struct {
	Namespace   string    `json:"namespace,omitempty" doc:"Default: default"`
	Schedule    string    `json:"schedule" doc:"Name of the schedule"`
	From        time.Time `json:"from" doc:"First nominal time, inclusive"`
	To          time.Time `json:"to" doc:"Last nominal time, inclusive; not after now"`
	Overlap     Overlap   `json:"overlap,omitempty" enum:"buffer_all,allow" doc:"buffer_all runs one after another, allow does not wait; default: buffer_all"`
	OnlyMissing bool      `json:"only_missing,omitempty" doc:"Leave out nominal times that became a job already"`
	Limit       int       `json:"limit,omitempty" doc:"Most jobs it may make; default: 1000; at most 100000"`
	Note        string    `json:"note,omitempty" doc:"Why"`
	Key         string    `json:"key,omitempty" doc:"Idempotency key: while the first backfill of the schedule with it is listed, a second is not made, the first is returned; other settings with it are refused, but for to, which may be later, and note"`

	ID         int64         `json:"id,omitempty" readOnly:"true"`
	ScheduleID int64         `json:"schedule_id,omitempty" readOnly:"true"`
	State      BackfillState `json:"state,omitempty" readOnly:"true"`
	Done       time.Time     `json:"done,omitzero" readOnly:"true" doc:"Nominal times up to here are dealt with"`
	Made       int           `json:"made,omitempty" readOnly:"true" doc:"Jobs made"`
	LeftOut    int           `json:"left_out,omitempty" readOnly:"true" doc:"Nominal times left out because they had a job, or a calendar keeps them out"`
	CreatedAt  time.Time     `json:"created_at,omitzero" readOnly:"true"`
	CreatedBy  string        `json:"created_by,omitempty" readOnly:"true"`
	EndedAt    time.Time     `json:"ended_at,omitzero" readOnly:"true"`
}

// BackfillState is the state of a backfill.
type BackfillState string

// A backfill that reached its limit is completed, with Done before To.
const (
	BackfillActive    BackfillState = "active"
	BackfillPaused    BackfillState = "paused"
	BackfillCompleted BackfillState = "completed"
	BackfillCanceled  BackfillState = "canceled"
)

// Cut reports whether the limit ended a backfill before its last nominal time.
func (b Backfill) Cut() bool {
	return b.State == BackfillCompleted && b.Made >= b.Limit && b.Done.Before(b.To)
}

// Limits of a backfill.
const (
	DefaultBackfillLimit = 1000
	MaxBackfillLimit     = 100_000
	// BackfillStep is the most nominal times of one pass.
	BackfillStep = 200
)

// TriggerBackfill is the trigger of jobs of a backfill.
const TriggerBackfill Trigger = "backfill"

// WithDefaults returns a copy with the defaults of empty fields.
func (b Backfill) WithDefaults() Backfill {
	b.Namespace = core.Or(b.Namespace, core.DefaultNamespace)
	b.Overlap = core.Or(b.Overlap, OverlapBufferAll)
	b.Limit = core.Or(b.Limit, DefaultBackfillLimit)
	b.From, b.To = core.Micro(b.From), core.Micro(b.To)
	return b
}

// Validate returns the problems of a backfill that has its defaults as one error, or nil.
func (b Backfill) Validate(now time.Time) error {
	var p core.Problems
	core.CheckName(&p, "namespace", b.Namespace)
	core.CheckName(&p, "schedule", b.Schedule)
	switch {
	case b.From.IsZero():
		p.Add("from", "", "is missing", "the first nominal time to run")
	case b.To.IsZero():
		p.Add("to", "", "is missing", "the last nominal time to run")
	case b.To.Before(b.From):
		p.Add("to", b.To.Format(time.RFC3339), "is before from", "")
	case b.To.After(now):
		p.Add("to", b.To.Format(time.RFC3339), "is in the future", "the schedule itself runs what is to come")
	}
	if b.Overlap != OverlapBufferAll && b.Overlap != OverlapAllow {
		p.Add("overlap", string(b.Overlap), "makes no sense for a backfill", "buffer_all to run one after another, allow not to wait")
	}
	if b.Limit < 1 || b.Limit > MaxBackfillLimit {
		p.Addf("limit", b.Limit, "is outside 1 to %d", MaxBackfillLimit)
	}
	if len(b.Note) > core.MaxDescription {
		p.Addf("note", b.Note, "has more than %d bytes", core.MaxDescription)
	}
	if clean, cut := core.CleanText(b.Key, core.MaxKey); cut || clean != b.Key {
		p.Add("key", b.Key, fmt.Sprintf("is not plain text of at most %d bytes", core.MaxKey), "")
	}
	return p.Err(fmt.Sprintf("backfill of schedule %q", b.Schedule))
}

// Repeats reports whether b is the same request as o, which has the same key. It ignores To, because a client that repeats a
// request may compute To anew.
func (b Backfill) Repeats(o Backfill) bool {
	return b.From.Equal(o.From) && b.Overlap == o.Overlap && b.OnlyMissing == o.OnlyMissing && b.Limit == o.Limit
}

// Refill is the result of [Fill]: the nominal times to run now, and the new state
// of the backfill.
type Refill struct {
	Run []time.Time
	Backfill
}

// Fill decides what an active backfill does next. ran are the
// [Backfill.Candidates] that already became jobs, in UTC; running is how many
// jobs of the backfill have not ended; room is how many jobs it may create now.
func Fill(b Backfill, s Schedule, plan Plan, ran map[time.Time]bool, running, room int, now time.Time) Refill {
	r := Refill{Backfill: b}
	for range BackfillStep {
		t := plan.next(s, b.after())
		if t.IsZero() || t.After(b.To) {
			r.State, r.EndedAt, r.Done = BackfillCompleted, now, b.To
			return r
		}
		if r.Made >= b.Limit {
			r.State, r.EndedAt = BackfillCompleted, now
			return r
		}
		_, closed := plan.gate.closed(t)
		switch {
		case closed || b.OnlyMissing && ran[core.Micro(t)]:
			r.LeftOut++
		case b.Overlap == OverlapBufferAll && running+len(r.Run) > 0, len(r.Run) >= room:
			return r
		default:
			r.Run = append(r.Run, t)
			r.Made++
		}
		b.Done, r.Done = t, t
	}
	return r
}

// after returns the instant after which the next nominal time lies.
func (b Backfill) after() time.Time {
	if b.Done.IsZero() {
		return b.From.Add(-time.Microsecond)
	}
	return b.Done
}

// Candidates returns the nominal times that one [Fill] considers.
func (b Backfill) Candidates(s Schedule, plan Plan) []time.Time {
	times := s.Upcoming(plan, b.after(), BackfillStep)
	for i, t := range times {
		if t.After(b.To) {
			return times[:i]
		}
	}
	return times
}

// Without takes nominal times, in their order, out of a row that represents
// several times. It returns the rows before, between and after them. Together
// with the taken times they represent as many times as before.
func (o Occurrence) Without(s Schedule, plan Plan, taken []time.Time) (rest []Occurrence) {
	left, from := o.Count, o.Nominal
	keep := func(first, last time.Time, n int) {
		piece := o
		piece.Nominal, piece.DueAt, piece.Until, piece.Count = core.Micro(first), core.Micro(first), time.Time{}, n
		if n > 1 {
			piece.Until = core.Micro(last)
		}
		rest = append(rest, piece)
	}
	for _, t := range taken {
		if t.Before(from) || t.After(o.Until) || !t.Equal(o.Nominal) && !plan.has(s, t) {
			continue
		}
		if t.After(from) {
			n, last := plan.count(s, from, t.Add(-time.Microsecond))
			keep(from, last, n)
			left -= n
		}
		left--
		if from = plan.next(s, t); from.IsZero() || from.After(o.Until) {
			if left > 0 && t.Before(o.Until) { // the rules were edited since
				keep(o.Until, o.Until, left)
			}
			return rest
		}
	}
	if o.Count > core.CountLimit || left < 1 { // the times were not counted exactly, or the rules were edited
		left, _ = plan.count(s, from, o.Until)
	}
	keep(from, o.Until, left)
	return rest
}

// count counts the planned nominal times from first, which is one, up to upTo. It
// stops at [core.CountLimit] and one more. last is the last counted time.
func (plan Plan) count(s Schedule, first, upTo time.Time) (n int, last time.Time) {
	n, last = 1, first
	for t := first; n <= core.CountLimit; n++ {
		if t = plan.next(s, t); t.IsZero() || t.After(upTo) {
			return n, last
		}
		last = t
	}
	return n, plan.prev(s, upTo.Add(time.Microsecond))
}
