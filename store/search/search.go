package search

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/view"
)

const maxListRows = 10_000 // for a page

const maxBulkRows = 50_000 // for a batch of a bulk action

const LookCount = 10_000 // for a number

const maxStateRows = 4_000 // for a number of each state

// walk is a search through one table in the order of job ids. narrow holds the terms that an index answers, and all holds every
// term.
type walk struct {
	rows   string // select of whole jobs
	from   string // the same without columns
	keys   string // table of the ids that match narrow
	key    string
	narrow *base.Where
	all    *base.Where
	exact  bool // narrow holds every term
}

// walks returns the tables that a filter concerns, with their walks.
func (s *Store) walks(ctx context.Context, tx base.Tx, f job.Filter) ([]walk, error) {
	var live, final []job.State
	for _, st := range f.States {
		if st.Final() {
			final = append(final, st)
		} else {
			live = append(live, st)
		}
	}
	scheduleID, err := s.scheduleOf(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	after, before, err := s.idSpan(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	build := func(rows, from, keys, key string, states []job.State, attempt string) walk {
		w := walk{rows: rows, from: from, keys: keys, key: key, narrow: &base.Where{}, all: &base.Where{}}
		for _, q := range []*base.Where{w.narrow, w.all} {
			q.Span(key, f.ID, after, before)
			switch {
			case keys == "belfry.running":
				q.Equals("session", f.Session)
			case scheduleID > 0:
				q.And("schedule_id = ?", scheduleID)
				q.Conds = append(q.Conds, "schedule_id > 0") // without this the partial index is not used
			case keys == "belfry.jobs_done" && slices.Equal(states, []job.State{job.Failed}):
				q.Conds = append(q.Conds, inState(states))
			case keys == "belfry.jobs_done":
				q.Equals("task", f.Task)
			}
		}
		if len(states) > 0 {
			w.all.Conds = append(w.all.Conds, inState(states))
		}
		jobTerms(w.all, f, scheduleID > 0 && keys != "belfry.running", attempt)
		w.exact = slices.Equal(w.all.Conds, w.narrow.Conds)
		return w
	}
	var out []walk
	if len(f.States) == 0 || len(live) > 0 {
		running := slices.Equal(live, []job.State{job.Running})
		switch {
		case running || f.Session != "" && (len(live) == 0 || slices.Contains(live, job.Running)):
			out = append(out, build(jobs.SelectLeased+` from belfry.running join belfry.jobs on id = job_id`, `belfry.running join belfry.jobs on id = job_id`, "belfry.running", "job_id", nil, "attempt + 1"))
		case f.Session == "":
			out = append(out, build(jobs.SelectLive, "belfry.live", "belfry.jobs", "id", live, "case when job_id is null then attempt else attempt + 1 end"))
		}
	}
	if len(f.States) == 0 || len(final) > 0 {
		out = append(out, build(jobs.SelectDone, "belfry.jobs_done", "belfry.jobs_done", "id", final, "attempt"))
	}
	return out, nil
}

// jobTerms adds the terms of a filter except its states. A schedule that was found implies name and namespace.
func jobTerms(w *base.Where, f job.Filter, scheduled bool, attempt string) {
	if !scheduled {
		w.Namespace("namespace", base.NamespaceOr(f.Namespace))
		w.Equals("schedule", f.Schedule)
	}
	w.Equals("task", f.Task)
	w.Equals("queue", f.Queue)
	w.Equals("kind", string(f.Kind))
	w.Equals("trigger", string(f.Trigger))
	if f.Trigger == "" && f.Task == "" && slices.Equal(f.States, []job.State{job.Failed}) { // a failed trial is not a dead job
		w.And("trigger <> ?", string(job.TriggerTrial))
	}
	w.Equals("reason", string(f.Reason))
	w.Equals("session", f.Session)
	if f.Tag != "" {
		w.And("replace(tags, ?, '') <> tags", ","+f.Tag+",")
	}
	if f.Error != "" {
		w.And("replace(lower(error), lower(?), '') <> lower(error)", f.Error)
	}
	if f.MinAttempt > 0 {
		w.And(attempt+" >= ?", f.MinAttempt)
	}
	if f.MaxAttempt > 0 {
		w.And(attempt+" between 1 and ?", f.MaxAttempt)
	}
	if !f.Since.IsZero() {
		w.And("created_at >= ?", base.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", base.Micros(f.Until))
	}
}

// scheduleOf returns the id of the schedule that now has the filter's name. It is 0 if there is none, or if several namespaces
// have one.
func (s *Store) scheduleOf(ctx context.Context, tx base.Tx, f job.Filter) (int64, error) {
	if f.Schedule == "" || f.Namespace == core.AnyNamespace {
		return 0, nil
	}
	id, _, err := base.First(ctx, tx, base.ScanInt, `select id from belfry.schedules where namespace = $1 and name = $2`, base.NamespaceOr(f.Namespace), f.Schedule)
	return id, err
}

// idMargin is the largest difference between the order of ids and of creation. A job has its id before its transaction ends,
// and clocks are set back a little.
const idMargin = 10 * time.Minute

// idSpan returns the ids around the jobs created in a span, both excluded, and 0 for no bound. So a search for old jobs does
// not walk through all later ones.
func (s *Store) idSpan(ctx context.Context, tx base.Tx, f job.Filter) (after, before int64, err error) {
	if f.ID > 0 {
		return 0, 0, nil
	}
	if !f.Since.IsZero() {
		if after, _, err = s.idsAt(ctx, tx, f.Since.Add(-idMargin)); err != nil {
			return 0, 0, err
		}
	}
	if !f.Until.IsZero() {
		_, before, err = s.idsAt(ctx, tx, f.Until.Add(idMargin))
	}
	return after, before, err
}

// idsAt bisects the ids of finished jobs. It returns an id created before an instant and one created after it, close to each
// other.
func (s *Store) idsAt(ctx context.Context, tx base.Tx, at time.Time) (below, above int64, err error) {
	type seen struct{ id, created int64 }
	probe := func(query string, args ...any) (seen, bool, error) {
		return base.First(ctx, tx, func(r base.Rows) (p seen, err error) { return p, r.Scan(&p.id, &p.created) }, query, args...)
	}
	lo, found, err := probe(`select id, created_at from belfry.jobs_done order by id limit 1`)
	if err != nil || !found {
		return 0, 0, err
	}
	hi, _, err := probe(`select id, created_at from belfry.jobs_done order by id desc limit 1`)
	if err != nil {
		return 0, 0, err
	}
	us := base.Micros(at)
	if lo.created >= us {
		return 0, lo.id, nil
	}
	if hi.created < us {
		return hi.id, 0, nil
	}
	for hi.id-lo.id > base.LookFirst {
		mid := lo.id + (hi.id-lo.id)/2
		p, _, err := probe(`select id, created_at from belfry.jobs_done where id <= $1 order by id desc limit 1`, mid)
		switch {
		case err != nil:
			return 0, 0, err
		case p.created < us && p.id > lo.id:
			lo = p
		case p.created < us: // no job between: the rest is above
			lo.id = mid
		default:
			hi = p
		}
	}
	return lo.id, hi.id, nil
}

// extent is the extent of a search.
type extent struct {
	rows  int
	until int64 // the last id looked at, if the search stopped before the end; 0: it is complete
}

// nextPart returns the end of the next part of a walk: so many rows after beyond.
func (s *Store) nextPart(ctx context.Context, tx base.Tx, w walk, beyond int64, rows int, order string) (end int64, n int, err error) {
	q := w.narrow.Clone()
	q.Beyond(w.key, beyond, order)
	last := map[string]string{"desc": "min", "asc": "max"}[order]
	type reach struct{ n, end int64 }
	r, _, err := base.First(ctx, tx, func(r base.Rows) (v reach, err error) { return v, r.Scan(&v.n, &v.end) }, `
		select count(*), coalesce(`+last+`(id), 0)
		from (select `+w.key+` as id from `+w.keys+` where `+q.Sql()+` order by `+w.key+` `+order+` limit `+strconv.Itoa(rows)+`) as part`, q.Args...)
	return r.end, int(r.n), err
}

// visit goes through a walk part by part, until take has enough, nothing is left, or so many rows were looked at. An exact walk
// is one part.
func (s *Store) visit(ctx context.Context, tx base.Tx, w walk, beyond int64, look int, order string, take func(w *base.Where) (enough bool, err error)) (l extent, err error) {
	if w.exact {
		q := w.all.Clone()
		q.Beyond(w.key, beyond, order)
		_, err = take(q)
		return l, err
	}
	for step := base.LookFirst; ; step *= 4 {
		step = min(step, look-l.rows)
		end, n, err := s.nextPart(ctx, tx, w, beyond, step, order)
		if err != nil || n == 0 {
			return extent{rows: l.rows}, err
		}
		q := w.all.Clone()
		q.Beyond(w.key, beyond, order)
		q.And(w.key+map[string]string{"desc": " >= ?", "asc": " <= ?"}[order], end)
		enough, err := take(q)
		l.rows += n
		if beyond, l.until = end, end; err != nil || enough || l.rows >= look {
			return l, err
		}
		if n < step {
			return extent{rows: l.rows}, nil
		}
	}
}

// searchJobs returns jobs after an id, newest or oldest first. If the search stops before the end, it also returns how far it
// looked.
func (s *Store) searchJobs(ctx context.Context, tx base.Tx, f job.Filter, beyond int64, limit, look int, order string) (all []jobs.JobRow, l extent, err error) {
	walks, err := s.walks(ctx, tx, f)
	if err != nil {
		return nil, l, err
	}
	for _, w := range walks {
		var found []jobs.JobRow
		full := false
		part, err := s.visit(ctx, tx, w, beyond, look, order, func(q *base.Where) (bool, error) {
			room := limit - len(found)
			rows, more, err := base.CollectSome(ctx, tx, room, nil, jobs.ScanJob, w.rows+` where `+q.Sql()+` order by `+w.key+` `+order+` limit `+strconv.Itoa(room), q.Args...)
			found = append(found, rows...)
			full = more || len(found) >= limit
			return full, err
		})
		if err != nil {
			return nil, l, err
		}
		l.rows += part.rows
		if full {
			part.until = found[len(found)-1].ID
		}
		if part.until > 0 && (l.until == 0 || (part.until > l.until) == (order == "desc")) {
			l.until = part.until // only as far as the shortest of the walks
		}
		all = append(all, found...)
	}
	sign := map[string]int{"desc": -1, "asc": 1}[order]
	slices.SortFunc(all, func(a, b jobs.JobRow) int { return sign * cmp.Compare(a.ID, b.ID) })
	if l.until > 0 {
		all = slices.DeleteFunc(all, func(j jobs.JobRow) bool { return sign*cmp.Compare(j.ID, l.until) > 0 })
	}
	return all[:min(len(all), limit)], l, nil
}

// CountJobs counts the jobs that match a filter, up to a cap. It looks at a bounded number of rows, so its cost does not depend
// on the number of jobs.
func (s *Store) CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (out job.Count, err error) {
	if err := f.Validate(); err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		out.Counted, err = s.CountIn(ctx, tx, f, o.Bound(), LookCount)
		if err != nil || !o.ByState {
			return err
		}
		out.States = map[job.State]core.Counted{}
		for _, st := range job.States {
			if len(f.States) > 0 && !slices.Contains(f.States, st) {
				continue
			}
			one := f
			one.States = []job.State{st}
			if out.States[st], err = s.CountIn(ctx, tx, one, o.Bound(), maxStateRows); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// CountIn counts the jobs of a filter up to limit, and reads at most look rows of the list. The answer
// reports whether there are more.
func (s *Store) CountIn(ctx context.Context, tx base.Tx, f job.Filter, limit, look int) (out core.Counted, err error) {
	walks, err := s.walks(ctx, tx, f)
	if err != nil {
		return out, err
	}
	for _, w := range walks {
		if w.keys == "belfry.jobs" && len(f.States) == 1 && f.ID == 0 && f.Schedule == "" {
			if err := s.countWaiting(ctx, tx, w, f, look, &out); err != nil {
				return out, err
			}
			continue
		}
		part, err := s.visit(ctx, tx, w, 0, look, "desc", func(q *base.Where) (bool, error) {
			err := s.countPart(ctx, tx, w.from, q, limit+1-out.Count, &out)
			return out.Count > limit, err
		})
		if err != nil {
			return out, err
		}
		out.Looked += part.rows
		out.More = out.More || part.until > 0
	}
	if out.Count > limit {
		out.Count, out.More = limit, true
	}
	return out, nil
}

func (s *Store) countPart(ctx context.Context, tx base.Tx, from string, q *base.Where, limit int, out *core.Counted) error {
	n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from (select 1 from `+from+` where `+q.Sql()+` limit `+strconv.Itoa(max(limit, 0))+`) as bounded`, q.Args...)
	out.Count += int(n)
	return err
}

// countWaiting counts live jobs of one state with the index of that state, where the order does not matter. It finds a few
// scheduled jobs beside a million ready ones.
func (s *Store) countWaiting(ctx context.Context, tx base.Tx, w walk, f job.Filter, look int, out *core.Counted) error {
	q := w.all.Clone()
	part := ` from belfry.jobs where state = '` + string(f.States[0]) + `'`
	if f.Queue != "" {
		q.Args = append(q.Args, f.Queue)
		part += ` and queue = ` + base.Placeholder(len(q.Args))
	}
	n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from (select 1`+strings.ReplaceAll(part, base.Placeholder(len(q.Args)), "$1")+` limit `+strconv.Itoa(look+1)+`) as bounded`, q.Args[len(w.all.Args):]...)
	if err != nil {
		return err
	}
	out.Looked += min(int(n), look)
	out.More = out.More || int(n) > look
	return s.countPart(ctx, tx, `(select *`+part+` limit `+strconv.Itoa(look)+`) as jobs left join belfry.running on job_id = id`, q, look, out)
}

// inState returns the condition on states that are all live or all final. The states are constants of Belfry, and are written
// out so that partial indexes apply.
func inState(states []job.State) string {
	if len(states) == 0 {
		return "true"
	}
	var any []string
	for _, st := range states {
		switch {
		case st.Final():
			any = append(any, "state = '"+string(st)+"'")
		case st == job.Running:
			any = append(any, "job_id is not null")
		default:
			any = append(any, "state = '"+string(st)+"' and job_id is null")
		}
	}
	return "(" + strings.Join(any, " or ") + ")"
}
