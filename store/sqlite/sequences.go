package sqlite

import (
	"context"
	"errors"
	"maps"

	"github.com/belfry-run/belfry/store/base"
)

// sequences gives out ids. The writer alone uses it.
type sequences struct {
	drawn map[string]ids // by sequence
	begun map[string]ids // the same when the transaction, or its part, began
}

// ids are those from next to before end: drawn, and not yet given out.
type ids struct{ next, end int64 }

// drawAhead is how many ids are drawn at least: a statement for each claim and
// each lone enqueue is a good part of what these cost. Those that a crash leaves
// over are skipped; a store that closes gives them back.
const drawAhead = 32

// take gives out n ids, larger than all that were given out before.
func (s *sequences) take(ctx context.Context, tx base.Tx, sequence string, n int) ([]int64, error) {
	d := s.drawn[sequence]
	if left := d.end - d.next; int64(n) > left {
		more := max(int64(n)-left, drawAhead)
		last, err := draw(ctx, tx, sequence, more)
		if err != nil {
			return nil, err
		}
		if first := last - more + 1; first != d.end {
			d.next = first
		}
		d.end = last + 1
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = d.next + int64(i)
	}
	d.next += int64(n)
	if s.drawn == nil {
		s.drawn = map[string]ids{}
	}
	s.drawn[sequence] = d
	return out, nil
}

// draw counts on in the table, and answers the last of n ids.
func draw(ctx context.Context, tx base.Tx, sequence string, n int64) (last int64, err error) {
	rows, err := tx.Query(ctx, `
		update belfry.sequences
		set value = value + $1
		where name = $2
		returning value`, n, sequence)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&last)
	}
	return last, errors.Join(err, rows.Err())
}

// begin is told of each transaction and savepoint, and whether somebody else may
// have drawn since the last.
func (s *sequences) begin(changed bool) {
	if changed {
		clear(s.drawn)
	}
	s.begun = maps.Clone(s.drawn)
}

// rollBack goes back to the begin, as the table does.
func (s *sequences) rollBack() { s.drawn = maps.Clone(s.begun) }

// giveBack lets the next who opens the file go on with what is left.
func (s *sequences) giveBack(tx base.Tx) {
	for sequence, d := range s.drawn {
		if d.next < d.end {
			_, _ = tx.Exec(context.Background(), `update belfry.sequences set value = $1 where name = $2 and value = $3`, d.next-1, sequence, d.end-1)
		}
	}
	clear(s.drawn)
}
