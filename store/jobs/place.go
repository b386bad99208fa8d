package jobs

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// place gives new jobs their places under limits and their turns, which limits and fair queues count from then on. A job that
// is not made must not come here.
func (c *Change) place(ins []*Insertion, rows []newJobRow) error {
	if err := arrive(c, ins); err != nil {
		return err
	}
	turns, err := turnsOf(c).New(len(ins), func(i int) *job.Job { return &ins[i].Job })
	if err != nil {
		return err
	}
	for i, in := range ins {
		r := &rows[i]
		r.State, r.Reason, r.Limited = string(in.State), string(in.Reason), base.Bit(in.Limited)
		switch {
		case in.State != job.Ready:
			r.ReadyAt, r.Turn = 0, 0
		case turns != nil:
			r.Turn = turns[i]
		}
	}
	return nil
}

// placedRow is what becomes of a new job by its place, as a batch carries it.
type placedRow struct {
	ID      int64  `json:"id"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Limited int    `json:"limited"`
	ReadyAt int64  `json:"ready_at"`
	Turn    int64  `json:"turn"`
}

func placeOf(r newJobRow) placedRow {
	return placedRow{r.ID, r.State, r.Reason, r.Limited, r.ReadyAt, r.Turn}
}

// placeWritten is place for jobs of which it was not known before they were written whether they are made.
func (c *Change) placeWritten(ins []*Insertion, rows []newJobRow) error {
	before := make([]placedRow, len(rows))
	for i := range rows {
		before[i] = placeOf(rows[i])
	}
	if err := c.place(ins, rows); err != nil {
		return err
	}
	var moved []placedRow
	var ids []int64
	for i := range rows {
		if p := placeOf(rows[i]); p != before[i] {
			moved, ids = append(moved, p), append(ids, p.ID)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(moved))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set state = t.state, reason = t.reason, limited = t.limited, ready_at = t.ready_at, turn = t.turn
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1), append([]any{c.SQL.List(ids)}, args...)...)
	return err
}
