package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
)

// Limits of the nominal times that a forecast computes one by one, for one schedule and for all. Fixed rates are counted
// without computing each time.
const (
	maxEach   = 200_000 // more than the seconds of two days
	fewEach   = 200     // for each schedule, however many there are
	maxStarts = 1_000_000
)

// Forecast counts the starts of each minute and hour within a span, with jitter and calendars, so that collisions show. Checks
// of monitors run all the time and count only on request. Forecast reads the schedules that are due first. Schedules with the
// same times are computed once: a million schedules usually have a few hundred rules.
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

// ForecastIn computes the forecast of a namespace from at most that many schedules and jobs of each kind.
func (s *Store) ForecastIn(ctx context.Context, tx base.Tx, a schedule.Ahead, rows int) (out schedule.Forecast, err error) {
	loads, err := schedule.NewLoads(a.Zone)
	if err != nil {
		return out, err
	}
	due, behind, err := dueFirst(ctx, tx, a, a.Checks, rows, timedColumns, scanTimed, func(t timed) time.Time { return t.nextAt })
	if err != nil {
		return out, err
	}
	groups, own := groupByTimes(due)
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

// load counts the starts of schedules with the same times. If there are more starts than load computes, it returns the time
// from which some are not counted.
func (s *Store) load(ctx context.Context, tx base.Tx, loads *schedule.Loads, a schedule.Ahead, sc schedule.Schedule, g *timedGroup, most int) (cut time.Time, err error) {
	var q comingQueue
	if err := s.queueComing(ctx, tx, &q, a, sc); err != nil || len(q) == 0 {
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
		if !c.advance(c.at) {
			break
		}
	}
	loads.Add(starts, g.n, g.named)
	return cut, nil
}

// starts returns the start of the next occurrence. Jitter and calendars may move it, also past the end of the span, or cancel
// it.
func (c *coming) starts() time.Time {
	if c.sc.Jitter == 0 && len(c.sc.Calendars()) == 0 {
		c.left--
		return c.at
	}
	return c.next().DueAt
}

// timed is a schedule with the fields that determine its times.
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

// scanTimed reads one row of timedColumns. A large document is kept without the input: thousands are read at once.
func scanTimed(r base.Rows) (t timed, err error) {
	err = r.Scan(&t.id, &t.Namespace, &t.Schedule, &t.doc, base.ScanTime(&t.finishAt), &t.runs, base.ScanTime(&t.nextAt))
	if err != nil || len(t.doc) <= largeDoc {
		return t, err
	}
	var sc schedule.Schedule
	err = json.Unmarshal([]byte(t.doc), &sc)
	sc.Input = nil
	t.doc = ScheduleDoc(sc)
	return t, err
}

// largeDoc is the size of a document, in bytes, above which its input is left out.
const largeDoc = 4 << 10

// scanInputless reads one row of [ScheduleColumns] without the input.
func scanInputless(r base.Rows) (ScheduleRow, error) {
	s, err := ScanSchedule(r)
	s.Input = nil
	return s, err
}

// timedGroup is a group of schedules with the same times.
type timedGroup struct {
	one   timed
	n     int
	named []schedule.LoadOf // the first ones of the group by name, up to maxNamed
}

// timing holds the stored fields of a schedule that determine its times.
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

// timesKey identifies the times of a schedule, if no other fields determine them.
type timesKey struct{ rules, zone, gap, fold, start, end string }

// timesKeyOf reads the key from a stored schedule.
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

// groupByTimes groups schedules that have the same times. A schedule whose times depend on more fields is a group of its own. Of the
// schedules that differ only in the name, one is read.
func groupByTimes(due []timed) (groups, own []*timedGroup) {
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
			same.add(t)
		}
	}
	return groups, own
}

func groupOf(t timed) *timedGroup {
	return &timedGroup{one: t, n: 1, named: []schedule.LoadOf{t.LoadOf}}
}

// maxNamed bounds the named schedules of a group.
const maxNamed = 10

// add adds a schedule to the group. The first ones by name are named, whatever the order in which a database returns them.
func (g *timedGroup) add(t timed) {
	g.n++
	at, _ := slices.BinarySearchFunc(g.named, t.LoadOf, func(a, b schedule.LoadOf) int {
		return cmp.Or(cmp.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Namespace, b.Namespace))
	})
	if at < maxNamed {
		g.named = slices.Insert(g.named, at, t.LoadOf)
		g.named = g.named[:min(len(g.named), maxNamed)]
	}
}
