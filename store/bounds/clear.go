package bounds

import (
	"slices"

	"github.com/belfry-run/belfry/store/base"
)

// Clear locks rows that come before queues in the lock order, in a transition that has already locked the row of a queue. If
// another transaction has one of the rows, it may wait for the queue, so the transition begins again. A transaction of the caller
// cannot begin again, and waits.
func (c *Change) Clear(table string, ids []int64) error {
	if len(ids) == 0 || !c.s.Far || c.Foreign || len(*base.Kept[accounts](c.Change)) == 0 {
		return nil
	}
	look := func(how string) ([]int64, error) {
		return base.Collect(c.Ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.`+table+`
			where `+c.SQL.In("id", 1)+`
			order by id`+how, c.SQL.List(ids))
	}
	free, err := look(c.SQL.SkipLocked(table))
	if err != nil {
		return err
	}
	busy, err := look(``)
	busy = slices.DeleteFunc(busy, func(id int64) bool { return slices.Contains(free, id) })
	if err != nil || len(busy) == 0 {
		return err
	}
	return base.Meets{Table: table, IDs: busy}
}
