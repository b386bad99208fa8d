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

// The cost of a sample grows with the waiting jobs, up to a bound. Idle lanes cost nothing: the sample seeks from one lane to
// the next in their index, and counts within each. A claim leaves its job in the lane, so leased jobs are subtracted.
const (
	// mostLines bounds the lines that are counted. Each line is first counted up to its share of firstBudget, and longer lines
	// then up to their share of longBudget.
	mostLines   = 20_000
	firstBudget = 20_000
	longBudget  = 100_000
	leastEach   = 10
	// inFront is the number of jobs at the head of a line among which the oldest is looked for. In a fair queue the first is
	// not always the oldest.
	inFront = 10

	minuteSpan, hourSpan = 60, 3600
)

// countKey identifies a sample: a queue and a namespace.
type countKey struct{ queue, namespace string }

// countKeyOf parses a lane, which is queue, kind, handler, namespace and requirement.
func countKeyOf(lane string) countKey {
	parts := strings.Split(lane, "\x1f")
	if len(parts) != 5 {
		return countKey{}
	}
	return countKey{parts[0], parts[3]}
}

// sampleRow holds the counts of one place.
type sampleRow struct {
	Queue     string `json:"queue"`
	Namespace string `json:"namespace"`
	Ready     int64  `json:"ready"`
	More      int64  `json:"more"`
	Oldest    int64  `json:"oldest"`
	Running   int64  `json:"running"`
}

// SampleQueues takes the sample of the present minute, unless it exists, and returns the time of the database clock. If several
// nodes take it, one sample is kept.
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
		rows, partial, err = s.countAll(ctx, tx, now)
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
			if err := storeRows(c, span, at, rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// storeRows writes counts: those of a minute, or the largest ones within an hour.
func storeRows(c *base.Change, span int, at time.Time, rows []sampleRow) error {
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

// countAll counts waiting and running jobs in all queues, by namespace and in total.
func (s *Store) countAll(ctx context.Context, tx base.Tx, now time.Time) (rows []sampleRow, partial bool, err error) {
	seen := map[countKey]*sampleRow{}
	at := func(p countKey) *sampleRow {
		r := seen[p]
		if r == nil {
			r = &sampleRow{Queue: p.queue, Namespace: p.namespace}
			seen[p] = r
		}
		return r
	}
	inLine, most, err := leasedInLines(ctx, tx, func(p countKey, n int64) { at(p).Running += n })
	if err != nil {
		return nil, false, err
	}
	lines, _, err := base.First(ctx, tx, base.ScanInt, linesText+` select count(*) from lines`)
	if err != nil {
		return nil, false, err
	}
	partial = lines >= mostLines
	each := share(firstBudget, lines)
	counts, err := s.countLines(ctx, tx, each+most, front(inFront, "true"), "")
	if err != nil {
		return nil, false, err
	}
	longer, served := map[string]bool{}, map[string]bool{}
	for _, c := range counts {
		if c.more {
			longer[c.lane] = true
		}
		if inLine[countKeyOf(c.lane)] > 0 {
			served[c.lane] = true
		}
	}
	if again := share(longBudget, int64(len(longer))); len(longer) > 0 && again > each {
		if counts, err = s.recount(ctx, tx, counts, longer, again+most); err != nil {
			return nil, false, err
		}
	}
	oldest := map[countKey]int64{}
	note := func(c counted) {
		if p := countKeyOf(c.lane); c.oldest > 0 && (oldest[p] == 0 || c.oldest < oldest[p]) {
			oldest[p] = c.oldest
		}
	}
	for _, c := range counts {
		r := at(countKeyOf(c.lane))
		if r.Ready += c.n; c.more {
			r.More = 1
		}
		if !served[c.lane] {
			note(c)
		}
	}
	if len(served) > 0 { // the head of these lines may be leased
		fronts, err := s.countLines(ctx, tx, 0, front(inFront+most, s.UnleasedOfMany()), ` where `+s.SQL.In("t.lane", 1), s.SQL.List(slices.Sorted(maps.Keys(served))))
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
	return withTotals(seen), partial, nil
}

// leasedInLines counts running jobs by place. Those whose row is still ready stand in the line of their lane: inLine counts them,
// and most is the largest count.
func leasedInLines(ctx context.Context, tx base.Tx, count func(p countKey, n int64)) (inLine map[countKey]int64, most int64, err error) {
	type leased struct {
		job string // state and lane
		n   int64
	}
	running, err := base.Collect(ctx, tx, func(r base.Rows) (l leased, err error) { return l, r.Scan(&l.job, &l.n) }, `
		select job, count(*)
		from (select coalesce((select state || ' ' || lane from belfry.jobs where id = job_id), '') as job from belfry.running) as leased
		group by job`)
	if err != nil {
		return nil, 0, err
	}
	inLine = map[countKey]int64{}
	for _, l := range running {
		state, lane, _ := strings.Cut(l.job, " ")
		p := countKeyOf(lane)
		count(p, l.n)
		if state == string(job.Ready) {
			inLine[p] += l.n
			most = max(most, inLine[p])
		}
	}
	return inLine, most, nil
}

// recount counts the longer lines again, up to more jobs, and keeps the oldest job of the first count.
func (s *Store) recount(ctx context.Context, tx base.Tx, counts []counted, longer map[string]bool, most int64) ([]counted, error) {
	more, err := s.countLines(ctx, tx, most, "0", ` where `+s.SQL.In("t.lane", 1), s.SQL.List(slices.Sorted(maps.Keys(longer))))
	if err != nil {
		return nil, err
	}
	for i := range more {
		more[i].oldest = counts[slices.IndexFunc(counts, func(c counted) bool { return c.lane == more[i].lane && c.priority == more[i].priority })].oldest
	}
	return append(slices.DeleteFunc(counts, func(c counted) bool { return longer[c.lane] }), more...), nil
}

// share returns how many jobs are counted in each line.
func share(budget, lines int64) int64 {
	return min(max(budget/max(1, lines), leastEach), core.CountLimit)
}

// counted is the number of jobs in a line, and the due time of the oldest job at its head.
type counted struct {
	lane                string
	priority, n, oldest int64
	more                bool
}

// front returns the query for the earliest due time among the first jobs of line t that match a condition, or 0. The condition
// is applied after the limit, because only then the query is planned as a walk along the line.
func front(first int64, cond string) string {
	return `(select coalesce(min(due_at), 0) from (
		select id, due_at from belfry.jobs where lane = t.lane and priority = t.priority and state = 'ready'
		order by turn, id limit ` + strconv.FormatInt(first, 10) + `) as front where ` + cond + `)`
}

// countLines counts the jobs of lines, at most so many each.
func (s *Store) countLines(ctx context.Context, tx base.Tx, most int64, front, where string, args ...any) ([]counted, error) {
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

// withTotals adds the sum of each queue over all namespaces.
func withTotals(seen map[countKey]*sampleRow) (rows []sampleRow) {
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

// linesText lists the lines by seeking from one to the next. A line is the jobs of a lane with one priority.
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
