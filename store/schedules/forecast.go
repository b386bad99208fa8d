package schedules

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// How many nominal times a forecast works out one by one: of one schedule, and of
// all. Those of fixed rates are counted and not worked out.
const (
	maxEach   = 200_000 // more than two days have seconds
	fewEach   = 200     // however many schedules there are
	maxStarts = 1_000_000
)

// Forecast counts the starts of each minute and hour within a span, jitter and
// calendars included, so that people see where they collide. Checks of monitors,
// which come all the time, count only if they are asked for. It looks at the
// schedules that are due first. Those whose times are the same are worked out
// once: most of a million are a few hundred rules.
func (s *Store) Forecast(ctx context.Context, a schedule.Ahead) (out schedule.Forecast, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	a = a.Span(now)
	if err := a.Validate(); err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		out, err = s.ForecastIn(ctx, tx, a, maxForecast)
		return err
	})
	return out, err
}

func (s *Store) ForecastIn(ctx context.Context, tx base.Tx, a schedule.Ahead, rows int) (out schedule.Forecast, err error) {
	loads, err := schedule.NewLoads(a.Zone)
	if err != nil {
		return out, err
	}
	due, behind, err := dueFirst(ctx, tx, a, a.Checks, rows, timedColumns, scanTimed, func(t timed) time.Time { return t.nextAt })
	if err != nil {
		return out, err
	}
	groups, own := alike(due)
	groups = append(groups, own...)
	each := max(fewEach, min(maxEach, maxStarts/max(len(groups), 1)))
	for _, g := range groups {
		sc, err := g.one.schedule()
		if err != nil {
			return out, err
		}
		cut, err := s.load(ctx, tx, loads, a, sc, g, each)
		if err != nil {
			return out, err
		}
		if !cut.IsZero() && (behind.IsZero() || cut.Before(behind)) {
			behind = cut
		}
		out.Schedules += g.n
	}
	n := out.Schedules
	out = loads.Forecast(a.ByHour)
	out.Schedules, out.Partial, out.Until = n, !behind.IsZero(), behind
	return out, nil
}

// load counts the starts of schedules with the same times. If there are more
// than are worked out, it answers from when on some are not counted.
func (s *Store) load(ctx context.Context, tx base.Tx, loads *schedule.Loads, a schedule.Ahead, sc schedule.Schedule, g *timedGroup, most int) (cut time.Time, err error) {
	var q comingQueue
	if err := s.comes(ctx, tx, &q, a, sc); err != nil || len(q) == 0 {
		return cut, err
	}
	c := &q[0]
	if step, fixed := sc.FixedRate(); fixed {
		until := c.until
		if !sc.End.IsZero() && sc.End.Before(until) {
			until = sc.End
		}
		times := int64(until.Sub(c.at)/step) + 1
		if sc.MaxRuns > 0 {
			times = min(times, c.left)
		}
		loads.AddFixed(c.at, step, times, g.n, g.named)
		return cut, nil
	}
	var starts []time.Time
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return cut, err
		}
		if n == most {
			cut = c.at
			break
		}
		if start := c.starts(); !start.IsZero() {
			starts = append(starts, start)
		}
		if !c.passes(c.at) {
			break
		}
	}
	loads.Add(starts, g.n, g.named)
	return cut, nil
}

// starts is when it starts that comes next: jitter and calendars may move that,
// also behind the end of the span, and take it away.
func (c *coming) starts() time.Time {
	if c.sc.Jitter == 0 && len(c.sc.Calendars()) == 0 {
		c.left--
		return c.at
	}
	return c.next().DueAt
}

// timed is a schedule with what its times depend on.
type timed struct {
	schedule.LoadOf
	id, runs         int64
	doc              string
	finishAt, nextAt time.Time
}

func (t timed) schedule() (sc schedule.Schedule, err error) {
	err = json.Unmarshal([]byte(t.doc), &sc)
	sc.ID, sc.Namespace, sc.Name, sc.FinishAt, sc.Runs = t.id, t.Namespace, t.Schedule, t.finishAt, t.runs
	return sc, err
}

const timedColumns = `s.id, s.namespace, s.name, s.doc, s.finish_at, s.runs, s.next_at`

func scanTimed(r base.Rows) (t timed, err error) {
	return t, r.Scan(&t.id, &t.Namespace, &t.Schedule, &t.doc, base.ScanTime(&t.finishAt), &t.runs, base.ScanTime(&t.nextAt))
}

// timedGroup is schedules with the same times.
type timedGroup struct {
	one   timed
	n     int
	named []schedule.LoadOf // some of them
}

// timing are the parts of a schedule that its times depend on, as they are kept.
type timing struct {
	Rules    json.RawMessage `json:"rules"`
	Zone     string          `json:"zone"`
	Gap      string          `json:"dst_gap"`
	Fold     string          `json:"dst_fold"`
	Start    string          `json:"start"`
	End      string          `json:"end"`
	MaxRuns  int64           `json:"max_runs"`
	Jitter   json.RawMessage `json:"jitter"`
	Blackout []string        `json:"blackout"`
	Within   []string        `json:"within"`
}

// timesKey is what the times of a schedule depend on, if they depend on no more.
type timesKey struct{ rules, zone, gap, fold, start, end string }

// timesKeyOf reads it from a schedule as it is kept.
func timesKeyOf(doc string) (k timesKey, shared bool) {
	var of timing
	var sc schedule.Schedule
	if err := json.Unmarshal([]byte(doc), &of); err != nil || of.MaxRuns+int64(len(of.Jitter)+len(of.Blackout)+len(of.Within)) > 0 {
		return k, false
	}
	if err := json.Unmarshal([]byte(doc), &sc); err != nil || sc.OwnTimes() {
		return k, false
	}
	return timesKey{string(of.Rules), of.Zone, of.Gap, of.Fold, of.Start, of.End}, true
}

// alike puts schedules together that have the same times, and leaves others,
// whose times depend on more, to themselves. Of those that differ in nothing but
// the name, one is read.
func alike(due []timed) (groups, own []*timedGroup) {
	type read struct {
		timesKey
		shared bool
	}
	known, texts := map[timesKey]*timedGroup{}, map[string]read{}
	for _, t := range due {
		unnamed := strings.Replace(t.doc, `"name":"`+t.Schedule+`"`, "", 1)
		r, seen := texts[unnamed]
		if !seen {
			r.timesKey, r.shared = timesKeyOf(t.doc)
			texts[unnamed] = r
		}
		same := known[r.timesKey]
		switch {
		case !r.shared || !t.finishAt.IsZero():
			own = append(own, groupOf(t))
		case same == nil:
			known[r.timesKey] = groupOf(t)
			groups = append(groups, known[r.timesKey])
		default:
			same.n++
			if len(same.named) < maxNamed {
				same.named = append(same.named, t.LoadOf)
			}
		}
	}
	return groups, own
}

func groupOf(t timed) *timedGroup {
	return &timedGroup{one: t, n: 1, named: []schedule.LoadOf{t.LoadOf}}
}

// maxNamed is how many of a group are named at most.
const maxNamed = 10
