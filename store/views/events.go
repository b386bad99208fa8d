package views

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/view"
)

// judgedPause is the time for which further judged checks are gathered before watchers are woken. With many monitors there is
// always one, and each answer is followed by a read of rows.
const judgedPause = 100 * time.Millisecond

// eventBatch bounds the events of one kind in one answer.
const eventBatch = 200

// seen is the position of a watcher: the last audit row, job, lease and end. Many jobs can share a lease or the instant of
// their end, so the last job of each is part of the position. Nothing is written for watchers: their events come from existing
// rows, and judged checks from the memory of this process.
type seen struct {
	audit, job, lease, leaseJob, done, doneJob, life, judged int64
}

func (n *seen) parts() []*int64 {
	return []*int64{&n.audit, &n.job, &n.lease, &n.leaseJob, &n.done, &n.doneJob, &n.life, &n.judged}
}

func (n seen) cursor() string {
	var parts []string
	for _, p := range n.parts() {
		parts = append(parts, strconv.FormatInt(*p, 10))
	}
	return base.EncodeCursor(parts...)
}

func decodeSeen(cursor string) (n seen, err error) {
	parts, err := base.DecodeCursor(cursor, len(n.parts()))
	for i, to := range n.parts() {
		if err == nil {
			*to, err = strconv.ParseInt(parts[i], 10, 64)
		}
	}
	if err != nil { // an error of a list would say that it begins at the start without one
		return n, core.InvalidField("cursor", cursor, "is not a cursor of events", "leave it out to begin now")
	}
	return n, nil
}

// Events returns the changes since a cursor, and the next cursor. It waits for a change for at most wait. An empty cursor means
// from now on.
func (s *Store) Events(ctx context.Context, namespace, cursor string, wait time.Duration) (events []view.Event, next string, err error) {
	if namespace == "" {
		namespace = core.DefaultNamespace
	}
	if cursor == "" {
		at, err := s.seenNow(ctx)
		return nil, at.cursor(), err
	}
	from, err := decodeSeen(cursor)
	if err == nil {
		err = s.refuseAhead(ctx, cursor, from)
	}
	if err != nil {
		return nil, "", err
	}
	ends := time.NewTimer(wait)
	defer ends.Stop()
	for {
		woken := s.Hub.On(base.TopicJobs)
		events, to, err := s.events(ctx, namespace, from)
		if err != nil || len(events) > 0 || wait <= 0 {
			return events, to.cursor(), err
		}
		from = to
		again := time.NewTimer(s.Opt.Poll)
		events, over := s.awaitEvents(ctx, namespace, &from, woken, again.C, ends.C)
		again.Stop()
		if len(events) > 0 || ctx.Err() != nil {
			return events, from.cursor(), nil
		}
		if over {
			wait = 0
		}
	}
}

// awaitEvents waits until another read of rows is worthwhile, or the time is over. It also returns when checks were judged, and
// then with their events, which need no read.
func (s *Store) awaitEvents(ctx context.Context, namespace string, from *seen, woken <-chan struct{}, again, ends <-chan time.Time) (events []view.Event, over bool) {
	for {
		judged := s.Hub.On(base.TopicJudged)
		if events = s.monitors.JudgedSince(namespace, &from.life, &from.judged); len(events) > 0 {
			pause := time.NewTimer(judgedPause)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			return append(events, s.monitors.JudgedSince(namespace, &from.life, &from.judged)...), false
		}
		select {
		case <-judged:
		case <-woken:
			return nil, false
		case <-again:
			return nil, false
		case <-ends:
			return nil, true
		case <-ctx.Done():
			return nil, true
		}
	}
}

func (s *Store) seenNow(ctx context.Context) (n seen, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		n = seen{}
		n.life, n.judged = s.monitors.JudgedFrom()
		for _, q := range []struct {
			to    *int64
			query string
		}{
			{&n.audit, `select coalesce(max(seq), 0) from belfry.audit`},
			{&n.job, `select greatest_id from (select max(id) as greatest_id from (select max(id) as id from belfry.jobs union all select max(id) from belfry.jobs_done) as both_tables) as m where greatest_id is not null`},
			{&n.lease, `select coalesce(max(number), 0) from belfry.running`},
			{&n.leaseJob, `select max(job_id) from belfry.running where number = (select max(number) from belfry.running) having count(*) > 0`},
			{&n.done, `select coalesce(max(finished_at), 0) from belfry.jobs_done`},
			{&n.doneJob, `select max(id) from belfry.jobs_done where finished_at = (select max(finished_at) from belfry.jobs_done) having count(*) > 0`},
		} {
			v, _, err := base.First(ctx, tx, base.ScanInt, q.query)
			if err != nil {
				return err
			}
			*q.to = v
		}
		return nil
	})
	return n, err
}

// refuseAhead refuses a position of a time that a restore lost. Its reader would see nothing until as much has happened again,
// and then miss all of it.
func (s *Store) refuseAhead(ctx context.Context, cursor string, from seen) error {
	return s.DB().Read(ctx, func(tx base.Tx) error {
		ahead, _, err := base.First(ctx, tx, base.ScanInt, `select case when $1 > `+s.SQL.Drawn("job")+` or $2 > `+s.SQL.Drawn("audit")+` then 1 else 0 end`, from.job, from.audit)
		if err == nil && ahead == 1 {
			err = core.InvalidField("cursor", cursor, "is ahead of the database", "it was restored: leave the cursor out to begin now, and read again what you show")
		}
		return err
	})
}

func (s *Store) events(ctx context.Context, namespace string, from seen) (all []view.Event, to seen, err error) {
	to = from
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, to = nil, from
		if err := s.auditEvents(ctx, tx, namespace, &all, &to); err != nil {
			return err
		}
		for _, q := range []struct {
			query string
			from  []any
			last  func(jobs.JobRow)
			at    func(jobs.JobRow) time.Time
		}{
			{jobs.SelectLive + ` where id > $1 order by id`, []any{from.job}, func(j jobs.JobRow) { to.job = j.ID }, func(j jobs.JobRow) time.Time { return j.CreatedAt }},
			{jobs.SelectLeased + ` from belfry.running cross join belfry.jobs where id = job_id and number >= $1 and (number, job_id) > ($1, $2) order by number, job_id`, []any{from.lease, from.leaseJob},
				func(j jobs.JobRow) { to.lease, to.leaseJob = j.Lease, j.ID }, func(j jobs.JobRow) time.Time { return j.ClaimedAt }},
			// The first condition is implied by the second, but it selects partitions and packs.
			{jobs.SelectDone + ` where finished_at >= $1 and (finished_at, id) > ($1, $2) order by finished_at, id`, []any{from.done, from.doneJob},
				func(j jobs.JobRow) { to.done, to.doneJob = base.Micros(j.FinishedAt), j.ID }, func(j jobs.JobRow) time.Time { return j.FinishedAt }},
		} {
			rows, err := base.Collect(ctx, tx, jobs.ScanJob, q.query+` limit `+strconv.Itoa(eventBatch), q.from...)
			if err != nil {
				return err
			}
			for _, j := range rows {
				q.last(j)
				if namespace == core.AnyNamespace || j.Namespace == namespace {
					job := j.Job
					all = append(all, view.Event{Type: "job", At: q.at(j), Job: &job})
				}
			}
		}
		return nil
	})
	all = append(all, s.monitors.JudgedSince(namespace, &to.life, &to.judged)...)
	slices.SortStableFunc(all, func(a, b view.Event) int { return cmp.Compare(base.Micros(a.At), base.Micros(b.At)) })
	return all, to, err
}

func (s *Store) auditEvents(ctx context.Context, tx base.Tx, namespace string, all *[]view.Event, to *seen) error {
	edits, err := base.Collect(ctx, tx, base.ScanAudit, `
		select `+base.AuditColumns+`
		from belfry.audit
		where seq > $1
		order by seq
		limit `+strconv.Itoa(eventBatch), to.audit)
	for _, a := range edits {
		to.audit = a.Seq
		if edit, concerned := a.WatchedIn(namespace); concerned {
			*all = append(*all, view.Event{Type: "change", At: a.At, Edit: &edit})
		}
	}
	return err
}
