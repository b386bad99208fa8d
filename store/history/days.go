package history

import (
	"slices"

	"github.com/belfry-run/belfry/store/base"
)

// addTotals adds the totals of a minute to the days of a table. key is the column that identifies their subject.
func addTotals[T any](c *Change, table, key string, rows []T) error {
	for part := range slices.Chunk(rows, RollBatch) {
		from, args := c.SQL.Table(1, "t", base.BatchOf(part))
		is := "belfry." + table
		_, err := c.Tx.Exec(c.Ctx, `
			insert into `+is+` (day, `+key+`, ok, failed, canceled, skipped, ran)
			select day, `+key+`, ok, failed, canceled, skipped, ran
			from `+from+`
			where true
			on conflict (day, `+key+`) do update
			set ok = `+is+`.ok + excluded.ok, failed = `+is+`.failed + excluded.failed,
				canceled = `+is+`.canceled + excluded.canceled, skipped = `+is+`.skipped + excluded.skipped,
				ran = `+is+`.ran + excluded.ran`, args...)
		if err != nil {
			return err
		}
	}
	return nil
}
