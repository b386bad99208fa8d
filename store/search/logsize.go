package search

import (
	"sync"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// logSizes caches the stored size of each attempt's log, so that an untrusted worker cannot fill the database. A node that sees
// an attempt for the first time starts from the stored size.
type logSizes struct {
	mu    sync.Mutex
	known map[logWriter]logSize
}

// logSize is the stored size of a log, its limit, and the namespace whose quota it counts against, if any.
type logSize struct {
	kept, most int64
	owner      string
}

// logWriter is an attempt with the session that claims to hold it.
type logWriter struct {
	session string
	ref     job.Ref
}

// maxLogSizes bounds the cached attempts. Attempts that write are cached again.
const maxLogSizes = 10_000

func (l *logSizes) of(w logWriter) (size logSize, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, known = l.known[w]
	return size, known
}

func (l *logSizes) keep(w logWriter, size logSize) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLogSizes {
		l.known = map[logWriter]logSize{}
	}
	l.known[w] = size
}

// maxPieces bounds the pieces of a log. Each piece is a row, however small. Pieces are numbered from 0, and each number exists
// once.
const maxPieces = 1 << 20

// boundLogs rejects pieces that would exceed the log size that the task allows. Honest workers end their log before, and say so
// in it. It returns the namespaces whose quotas the logs count against.
func (c *Change) boundLogs(session string, rows []logRow) (owners map[job.Ref]string, err error) {
	grown := map[job.Ref]int64{}
	owners = map[job.Ref]string{}
	for _, r := range rows {
		if r.Seq >= maxPieces {
			return nil, core.Errorf(core.TooLarge, "the log of job %d has more than %d pieces", r.JobID, maxPieces).WithHint("write less, write it to a file, or send it in fewer pieces")
		}
		grown[job.Ref{JobID: r.JobID, Lease: r.Lease}] += r.Size
	}
	for ref, by := range grown {
		w := logWriter{session, ref}
		size, known := c.s.logSizes.of(w)
		if !known {
			if size, err = c.logSize(ref); err != nil {
				return nil, err
			}
		}
		if size.kept += by; size.kept > size.most {
			return nil, core.Errorf(core.TooLarge, "the log of job %d is over the limit of %d bytes for an attempt", ref.JobID, size.most).WithHint("write less, write it to a file, or raise the limit of the task")
		}
		owners[ref] = size.owner
		c.After(func() { c.s.logSizes.keep(w, size) })
	}
	return owners, nil
}

func (c *Change) logSize(ref job.Ref) (size logSize, err error) {
	size.most = task.MaxLog
	if size.kept, _, err = base.First(c.Ctx, c.Tx, base.ScanInt, `select coalesce(sum(size), 0) from belfry.logs where job_id = $1 and lease = $2`, ref.JobID, ref.Lease); err != nil {
		return size, err
	}
	type owned struct {
		task  int64
		owner string // checks have no owner: their logs are deleted with the result
	}
	of, found, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (o owned, err error) { return o, r.Scan(&o.task, &o.owner) },
		`select task_id, case when trigger = 'check' then '' else namespace end from belfry.jobs where id = $1`, ref.JobID)
	if err != nil || !found {
		return size, err
	}
	size.owner = of.owner
	tasks, err := c.tasks().TasksByID([]int64{of.task})
	if t, there := tasks[of.task]; there {
		size.most = min(size.most, t.LogLimit())
	}
	return size, err
}
