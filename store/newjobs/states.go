package newjobs

import "github.com/belfry-run/belfry/store/base"

// stateRow is the state of a new job in a batch.
type stateRow struct {
	ID      int64  `json:"id"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Limited int    `json:"limited"`
	ReadyAt int64  `json:"ready_at"`
	Turn    int64  `json:"turn"`
}

func stateRowOf(r Row) stateRow {
	return stateRow{r.ID, r.State, r.Reason, r.Limited, r.ReadyAt, r.Turn}
}

// Move updates the state of inserted jobs, if it has changed since the insertion.
func Move(c *base.Change, before, rows []Row) error {
	var moved []stateRow
	var ids []int64
	for i := range rows {
		if p := stateRowOf(rows[i]); p != stateRowOf(before[i]) {
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
