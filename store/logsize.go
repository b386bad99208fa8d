package store

import (
	"sync"

	"github.com/belfry-run/belfry"
)

// logSizes remember how much of each attempt's log was kept, so that a worker
// that nobody has to trust cannot fill the database. A node that comes to know
// of an attempt later begins with what is there.
type logSizes struct {
	mu    sync.Mutex
	known map[logWriter]int64
}

// logWriter is an attempt and who says that it is his.
type logWriter struct {
	session string
	ref     belfry.Ref
}

// maxLogSizes bounds the attempts that are remembered. Those that write go on
// to be.
const maxLogSizes = 10_000

func (l *logSizes) of(w logWriter) (size int64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, known = l.known[w]
	return size, known
}

func (l *logSizes) keep(w logWriter, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLogSizes {
		l.known = map[logWriter]int64{}
	}
	l.known[w] = size
}

// boundLogs refuses what would make the log of an attempt longer than
// [belfry.MaxLog]. Honest workers end theirs before, at the limit of the task.
func (c *change) boundLogs(session string, rows []logRow) error {
	grown := map[belfry.Ref]int64{}
	for _, r := range rows {
		grown[belfry.Ref{JobID: r.JobID, Lease: r.Lease}] += int64(len(r.Text))
	}
	for ref, by := range grown {
		w := logWriter{session, ref}
		size, known := c.s.logSizes.of(w)
		if !known {
			var err error
			if size, _, err = first(c.ctx, c.tx, scanInt, `select coalesce(sum(length(text)), 0) from logs where job_id = $1 and lease = $2`, ref.JobID, ref.Lease); err != nil {
				return err
			}
		}
		if size += by; size > belfry.MaxLog {
			return belfry.Errorf(belfry.TooLarge, "the log of job %d is over the limit of %d bytes for an attempt", ref.JobID, belfry.MaxLog).WithHint("write less, or write it to a file")
		}
		c.after(func() { c.s.logSizes.keep(w, size) })
	}
	return nil
}
