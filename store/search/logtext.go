package search

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// pieceSize is a piece of a log and its position in the log.
type pieceSize struct{ lease, seq, size, at, offset int64 }

// LogText returns a part of a job's log by byte offset, its last lines, or the lines that a search finds. It reads the sizes of
// all pieces, and only the texts that it returns.
func (s *Store) LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (out job.LogText, err error) {
	match, err := q.Match()
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		out = job.LogText{}
		if _, err := s.jobs.ReadJob(ctx, tx, namespace, id); err != nil {
			return err
		}
		pieces, err := s.logPieces(ctx, tx, id, q, &out.Size)
		if err != nil {
			return err
		}
		limit := int64(q.Bound())
		out.Offset = min(q.Offset, out.Size)
		if q.Offset < 0 {
			out.Offset = max(0, out.Size+q.Offset)
		}
		if q.Tail > 0 {
			out.Offset = max(0, out.Size-limit)
		}
		if match != nil {
			limit = job.MaxLogSearch
		}
		text, at, err := s.logBytes(ctx, tx, id, q, pieces, out.Offset, limit)
		if err != nil {
			return err
		}
		out.At, out.Next = at, out.Offset+int64(len(text))
		switch {
		case match != nil:
			out.Next = out.Find(text, match)
		case q.Tail > 0:
			tail := lastLines(text, q.Tail)
			out.Offset += int64(len(text) - len(tail))
			out.Text = tail
		default:
			out.Text = text
		}
		return nil
	})
	return out, err
}

func logWhere(id int64, q job.LogQuery) *base.Where {
	w := &base.Where{}
	w.And("job_id = ?", id)
	if q.Attempt > 0 {
		w.And("attempt = ?", q.Attempt)
	}
	w.Equals("stream", string(q.Stream))
	return w
}

func (s *Store) logPieces(ctx context.Context, tx base.Tx, id int64, q job.LogQuery, size *int64) ([]pieceSize, error) {
	w := logWhere(id, q)
	*size = 0
	return base.Collect(ctx, tx, func(r base.Rows) (p pieceSize, err error) {
		err = r.Scan(&p.lease, &p.seq, &p.size, &p.at)
		p.offset = *size
		*size += p.size
		return p, err
	}, `select lease, seq, size, at from belfry.logs where `+w.Sql()+` order by lease, seq`, w.Args...)
}

// logBytes reads bytes from an offset on.
func (s *Store) logBytes(ctx context.Context, tx base.Tx, id int64, q job.LogQuery, pieces []pieceSize, from, limit int64) (string, time.Time, error) {
	first, n := -1, 0
	for i, p := range pieces {
		if p.offset+p.size <= from || p.offset >= from+limit {
			continue
		}
		if first < 0 {
			first = i
		}
		n++
	}
	if n == 0 {
		return "", time.Time{}, nil
	}
	w := logWhere(id, q)
	w.Args = append(w.Args, pieces[first].lease, pieces[first].seq)
	w.Conds = append(w.Conds, "(lease, seq) >= ("+base.Placeholder(len(w.Args)-1)+", "+base.Placeholder(len(w.Args))+")")
	texts, err := base.Collect(ctx, tx, func(r base.Rows) (text string, err error) { return text, r.Scan(scanLog{&text}) }, `select body from belfry.logs where `+w.Sql()+` order by lease, seq limit `+strconv.Itoa(n), w.Args...)
	all := strings.Join(texts, "")
	begin := min(max(0, from-pieces[first].offset), int64(len(all)))
	return all[begin:min(int64(len(all)), begin+limit)], base.Instant(pieces[first].at), err
}

func lastLines(text string, n int) string {
	end := len(strings.TrimSuffix(text, "\n"))
	for ; n > 0; n-- {
		end = strings.LastIndexByte(text[:end], '\n')
		if end < 0 {
			return text
		}
	}
	return text[end+1:]
}
