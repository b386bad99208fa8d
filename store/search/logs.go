package search

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// logRow is a piece of log in a batch.
type logRow struct {
	JobID  int64  `json:"job_id"`
	Lease  int64  `json:"lease"`
	Seq    int    `json:"seq"`
	Stream string `json:"stream"`
	At     int64  `json:"at"`
	Size   int64  `json:"size"`
	Body   string `json:"body"` // packed last
}

// piece identifies a piece of log.
type piece struct {
	job.Ref
	seq int
}

// Append stores pieces of logs. Only the session that holds a job may write its log, under the same lease.
func (s *Store) Append(ctx context.Context, session string, ls []job.LogPiece) error {
	if len(ls) > core.MaxBatch {
		return job.TooMany("pieces", len(ls))
	}
	return s.write(ctx, "append log", func(c *Change) error {
		rows, seen := make([]logRow, 0, len(ls)), make(map[piece]bool, len(ls))
		for _, l := range ls {
			if err := l.Validate(); err != nil {
				return err
			}
			id := piece{l.Ref, l.Seq}
			if seen[id] {
				continue
			}
			seen[id] = true
			clean, _ := core.CleanText(l.Text, job.MaxLogPiece)
			if clean == "" { // no limit of bytes would bound such rows
				continue
			}
			rows = append(rows, logRow{l.JobID, l.Lease, l.Seq, string(l.Stream), base.Micros(c.plausibleTime(l.At)), int64(len(clean)), clean})
		}
		owners, err := c.boundLogs(session, rows)
		if err != nil {
			return err
		}
		if rows, err = c.meterLogs(session, rows, owners); err != nil {
			return err
		}
		for i := range rows {
			rows[i].Body = packLog(rows[i].Body)
		}
		from, args := s.SQL.Table(2, "t", base.BatchOf(rows))
		_, err = c.Tx.Exec(c.Ctx, `
			insert into belfry.logs (job_id, lease, attempt, seq, stream, at, size, body)
			select t.job_id, t.lease, (select attempt + 1 from belfry.jobs where id = t.job_id), t.seq, t.stream, t.at, t.size, `+s.SQL.Unhex("t.body")+`
			from `+from+`
			where `+freshPieces+`
			order by t.job_id, t.seq`, append([]any{session}, args...)...)
		c.Wake(base.TopicJobs)
		return err
	})
}

// freshPieces selects the pieces of a batch that the session may write, that are not stored yet, and whose log has not ended.
// Only one session may write under a lease, and it waits for each answer, so a look before the write is enough to drop
// duplicates.
var freshPieces = `(select session from belfry.live where id = t.job_id and number = t.lease) = $1
			and not exists (select 1 from belfry.logs l where l.job_id = t.job_id and l.lease = t.lease and l.seq in (t.seq, ` + strconv.Itoa(job.LastLogSeq) + `))`

// plausibleTime replaces the time of a worker whose clock is far off. Logs are partitioned by time, and a piece of 1970 would
// be pruned at once.
func (c *Change) plausibleTime(at time.Time) time.Time {
	if d := c.Now.Sub(at); d > job.LogLate || d < -job.LogEarly {
		return c.Now
	}
	return at
}

// Logs lists a job's log, attempt by attempt, oldest first.
func (s *Store) Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (p core.Page[job.LogLine], err error) {
	after, err := base.DecodeCursor(f.Cursor, 2)
	if err != nil {
		return p, err
	}
	w := &base.Where{}
	w.And("job_id = ?", id)
	if f.Attempt > 0 {
		w.And("attempt = ?", f.Attempt)
	}
	if after != nil {
		lease, errL := strconv.ParseInt(after[0], 10, 64)
		seq, errS := strconv.Atoi(after[1])
		if errL != nil || errS != nil {
			return p, core.InvalidField("cursor", f.Cursor, "is not a cursor of this list", "")
		}
		w.Args = append(w.Args, lease, seq)
		w.Conds = append(w.Conds, "(lease, seq) > ("+base.Placeholder(len(w.Args)-1)+", "+base.Placeholder(len(w.Args))+")")
	}
	limit := min(f.Bound(), 100) // of up to 64 KiB each
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		if _, err := s.jobs.ReadJob(ctx, tx, namespace, id); err != nil {
			return err
		}
		lines, err := base.Collect(ctx, tx, func(r base.Rows) (l job.LogLine, err error) {
			return l, r.Scan(&l.JobID, &l.Lease, &l.Attempt, &l.Seq, &l.Stream, base.ScanTime(&l.At), scanLog{&l.Text})
		}, `
			select job_id, lease, attempt, seq, stream, at, body
			from belfry.logs
			where `+w.Sql()+`
			order by lease, seq
			limit `+strconv.Itoa(limit), w.Args...)
		if lines == nil {
			lines = []job.LogLine{}
		}
		// The cursor is set even on the last page: a reader that follows a log continues from it.
		p = core.Page[job.LogLine]{Items: lines, Next: f.Cursor}
		if n := len(lines); n > 0 {
			p.Next = base.EncodeCursor(strconv.FormatInt(lines[n-1].Lease, 10), strconv.Itoa(lines[n-1].Seq))
		}
		return err
	})
	return p, err
}

// LastNote returns what a worker noted last in the log of the attempt that runs now; empty for nothing. The output of the job is
// in other streams.
func LastNote(ctx context.Context, tx base.Tx, j job.Job) (string, error) {
	text, _, err := base.First(ctx, tx, func(r base.Rows) (text string, err error) { return text, r.Scan(scanLog{&text}) }, `
		select body
		from belfry.logs
		where job_id = $1 and lease = $2 and stream = 'log' and at >= $3
		order by seq desc
		limit 1`, j.ID, j.Lease, base.Micros(j.ClaimedAt.Add(-job.LogEarly)))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1], err
}
