package samples

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// A sample costs what waits up to a bound, and nothing for what is idle: lanes are walked by seeking from one to the next
// in their index, and each is counted within it. Claims leave jobs where they are, so the leased ones are taken off.
const (
	// mostLines bounds the lines that are counted. Each is counted up to its share of firstBudget, and those that are longer up
	// to their share of longBudget.
	mostLines   = 20_000
	firstBudget = 20_000
	longBudget  = 100_000
	leastEach   = 10
	// inFront is how many of a line are looked at for the oldest. In a queue that takes turns it need not be the first.
	inFront = 10

	minuteSpan, hourSpan = 60, 3600
)

// place is where a sample counts.
type place struct{ queue, namespace string }

// placeOf reads a lane, which is queue, kind, handler, namespace and requirement.
func placeOf(lane string) place {
	parts := strings.Split(lane, "\x1f")
	if len(parts) != 5 {
		return place{}
	}
	return place{parts[0], parts[3]}
}

// sampleRow is what was seen at a place.
type sampleRow struct {
	Queue     string `json:"queue"`
	Namespace string `json:"namespace"`
	Ready     int64  `json:"ready"`
	More      int64  `json:"more"`
	Oldest    int64  `json:"oldest"`
	Running   int64  `json:"running"`
}

// SampleQueues takes the sample of the present minute, unless one was taken, and answers the time by the clock that decides.
// However many nodes take it, one is kept.
func (s *Store) SampleQueues(ctx context.Context) (now time.Time, err error) {
	if now, err = s.Now(ctx); err != nil {
		return now, err
	}
	minute := now.Truncate(time.Minute)
	var rows []sampleRow
	var partial, taken bool
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		_, taken, err = base.First(ctx, tx, base.ScanInt, `select at from belfry.sampled where span = $1 and at = $2`, minuteSpan, base.Micros(minute))
		if err != nil || taken {
			return err
		}
		rows, partial, err = s.look(ctx, tx, now)
		return err
	})
	if err != nil || taken {
		return now, err
	}
	return now, s.write(ctx, "sample queues", func(c *base.Change) error {
		n, err := c.Tx.Exec(ctx, `
			insert into belfry.sampled (span, at, more)
			values ($1, $2, $3)
			on conflict (span, at) do nothing`, minuteSpan, base.Micros(minute), base.Bit(partial))
		if err != nil || n == 0 {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `
			insert into belfry.sampled (span, at, more)
			values ($1, $2, $3)
			on conflict (span, at) do update
			set more = case when excluded.more > belfry.sampled.more then excluded.more else belfry.sampled.more end`,
			hourSpan, base.Micros(minute.Truncate(time.Hour)), base.Bit(partial)); err != nil || len(rows) == 0 {
			return err
		}
		for span, at := range map[int]time.Time{minuteSpan: minute, hourSpan: minute.Truncate(time.Hour)} {
			if err := keep(c, span, at, rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// keep writes what was seen, or the most of what was seen within the hour.
func keep(c *base.Change, span int, at time.Time, rows []sampleRow) error {
	from, args := c.SQL.Table(3, "t", base.BatchOf(rows))
	larger := func(column string) string {
		return column + ` = case when excluded.` + column + ` > belfry.queue_samples.` + column + ` then excluded.` + column + ` else belfry.queue_samples.` + column + ` end`
	}
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.queue_samples (queue, namespace, span, at, ready, more, oldest, running)
		select queue, namespace, $1, $2, ready, more, oldest, running
		from `+from+`
		where true
		on conflict (queue, namespace, span, at) do update
		set `+larger("ready")+`, `+larger("more")+`, `+larger("oldest")+`, `+larger("running"),
		append([]any{span, base.Micros(at)}, args...)...)
	return err
}

// look counts what waits and what runs in all queues, by namespace and together.
func (s *Store) look(ctx context.Context, tx base.Tx, now time.Time) (rows []sampleRow, partial bool, err error) {
	seen := map[place]*sampleRow{}
	at := func(p place) *sampleRow {
		r := seen[p]
		if r == nil {
			r = &sampleRow{Queue: p.queue, Namespace: p.namespace}
			seen[p] = r
		}
		return r
	}
	type leased struct {
		job string // state and lane
		n   int64
	}
	running, err := base.Collect(ctx, tx, func(r base.Rows) (l leased, err error) { return l, r.Scan(&l.job, &l.n) }, `
		select job, count(*)
		from (select coalesce((select state || ' ' || lane from belfry.jobs where id = job_id), '') as job from belfry.running) as leased
		group by job`)
	if err != nil {
		return nil, false, err
	}
	inLine, most := map[place]int64{}, int64(0)
	for _, l := range running {
		state, lane, _ := strings.Cut(l.job, " ")
		p := placeOf(lane)
		at(p).Running += l.n
		if state == string(job.Ready) {
			inLine[p] += l.n
			most = max(most, inLine[p])
		}
	}
	lines, _, err := base.First(ctx, tx, base.ScanInt, linesText+` select count(*) from lines`)
	if err != nil {
		return nil, false, err
	}
	partial = lines >= mostLines
	each := share(firstBudget, lines)
	counts, err := s.count(ctx, tx, each+most, front(inFront, "true"), "")
	if err != nil {
		return nil, false, err
	}
	longer, served := map[string]bool{}, map[string]bool{}
	for _, c := range counts {
		if c.more {
			longer[c.lane] = true
		}
		if inLine[placeOf(c.lane)] > 0 {
			served[c.lane] = true
		}
	}
	if again := share(longBudget, int64(len(longer))); len(longer) > 0 && again > each {
		more, err := s.count(ctx, tx, again+most, "0", ` where `+s.SQL.In("t.lane", 1), s.SQL.List(slices.Sorted(maps.Keys(longer))))
		if err != nil {
			return nil, false, err
		}
		for i := range more {
			more[i].oldest = counts[slices.IndexFunc(counts, func(c counted) bool { return c.lane == more[i].lane && c.priority == more[i].priority })].oldest
		}
		counts = append(slices.DeleteFunc(counts, func(c counted) bool { return longer[c.lane] }), more...)
	}
	oldest := map[place]int64{}
	note := func(c counted) {
		if p := placeOf(c.lane); c.oldest > 0 && (oldest[p] == 0 || c.oldest < oldest[p]) {
			oldest[p] = c.oldest
		}
	}
	for _, c := range counts {
		r := at(placeOf(c.lane))
		if r.Ready += c.n; c.more {
			r.More = 1
		}
		if !served[c.lane] {
			note(c)
		}
	}
	if len(served) > 0 { // those in front have been leased
		fronts, err := s.count(ctx, tx, 0, front(inFront+most, s.UnleasedOfMany()), ` where `+s.SQL.In("t.lane", 1), s.SQL.List(slices.Sorted(maps.Keys(served))))
		if err != nil {
			return nil, false, err
		}
		for _, c := range fronts {
			note(c)
		}
	}
	for p, r := range seen {
		if r.Ready = max(0, r.Ready-inLine[p]); r.Ready > core.CountLimit {
			r.Ready, r.More = core.CountLimit, 1
		}
		if r.Ready > 0 && oldest[p] > 0 {
			r.Oldest = max(0, base.Micros(now)-oldest[p])
		}
	}
	return together(seen), partial, nil
}

// share is how many entries are counted in each of so many lines.
func share(budget, lines int64) int64 {
	return min(max(budget/max(1, lines), leastEach), core.CountLimit)
}

// counted is how many stand in a line, and since when the oldest of those in front is due.
type counted struct {
	lane                string
	priority, n, oldest int64
	more                bool
}

// front is since when the oldest is due of the first of line t that a condition holds for; 0: there is none. The first
// are taken before it is asked, because that can only be planned as a walk along the line.
func front(first int64, cond string) string {
	return `(select coalesce(min(due_at), 0) from (
		select id, due_at from belfry.jobs where lane = t.lane and priority = t.priority and state = 'ready'
		order by turn, id limit ` + strconv.FormatInt(first, 10) + `) as front where ` + cond + `)`
}

// count counts lines up to so many.
func (s *Store) count(ctx context.Context, tx base.Tx, most int64, front, where string, args ...any) ([]counted, error) {
	return base.Collect(ctx, tx, func(r base.Rows) (c counted, err error) {
		err = r.Scan(&c.lane, &c.priority, &c.n, &c.oldest)
		if c.more = c.n > most; c.more {
			c.n = most
		}
		return c, err
	}, linesText+`
		select t.lane, t.priority,
			(select count(*) from (select 1 from belfry.jobs where lane = t.lane and priority = t.priority and state = 'ready' limit `+strconv.FormatInt(most+1, 10)+`) as bounded),
			`+front+`
		from lines t`+where, args...)
}

// together adds the sum of each queue over all namespaces.
func together(seen map[place]*sampleRow) (rows []sampleRow) {
	sums := map[string]*sampleRow{}
	for p, r := range seen {
		if p.queue == "" || r.Ready == 0 && r.Running == 0 {
			continue
		}
		rows = append(rows, *r)
		sum := sums[p.queue]
		if sum == nil {
			sum = &sampleRow{Queue: p.queue, Namespace: core.AnyNamespace}
			sums[p.queue] = sum
		}
		sum.Ready, sum.Running = sum.Ready+r.Ready, sum.Running+r.Running
		sum.More, sum.Oldest = max(sum.More, r.More), max(sum.Oldest, r.Oldest)
		if sum.Ready > core.CountLimit {
			sum.Ready, sum.More = core.CountLimit, 1
		}
	}
	for _, sum := range sums {
		rows = append(rows, *sum)
	}
	slices.SortFunc(rows, func(a, b sampleRow) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Namespace, b.Namespace))
	})
	return rows
}

// linesText lists the lines, in which jobs of a lane with one priority wait behind each other, by seeking from each to the
// next.
var linesText = `
	with recursive lanes (lane) as (
		select (select lane from belfry.jobs where state = 'ready' order by lane limit 1)
		union all
		select (select j.lane from belfry.jobs j where j.state = 'ready' and j.lane > lanes.lane order by j.lane limit 1)
		from lanes
		where lanes.lane is not null
	), first (lane) as (
		select lane from lanes where lane is not null limit ` + strconv.Itoa(mostLines) + `
	), all_lines (lane, priority) as (
		select first.lane, (select j.priority from belfry.jobs j where j.lane = first.lane and j.state = 'ready' order by j.priority desc limit 1)
		from first
		union all
		select a.lane, (select j.priority from belfry.jobs j where j.lane = a.lane and j.state = 'ready' and j.priority < a.priority order by j.priority desc limit 1)
		from all_lines a
		where a.priority is not null
	), lines (lane, priority) as (
		select lane, priority from all_lines where priority is not null limit ` + strconv.Itoa(mostLines) + `
	)`
