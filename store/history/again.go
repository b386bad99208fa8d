package history

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/store/base"
)

// RollBatch bounds the rows that one transaction writes.
const RollBatch = 1000

// RollAgain resets marks in the future. They were moved while the clock was ahead, and nothing would be rolled up until it has
// passed them. Rolling up an hour again gives the same result. In the days of schedules, jobs that ended while the clock was
// ahead count twice.
func (s *Store) RollAgain(ctx context.Context) error {
	return s.write(ctx, "roll up again", func(c *Change) error {
		hour := c.Now.Add(-time.Hour - base.RollGrace).Truncate(time.Hour)
		if _, err := c.Tx.Exec(ctx, `update belfry.rolled set hour = $1, day = $2 where hour > $3`, base.HourOf(hour), hour.Unix()/86400, base.HourOf(c.Now)); err != nil {
			return err
		}
		_, err := c.Tx.Exec(ctx, `update belfry.rolled_jobs set minute = $1, after = 0 where minute > $2`, MinuteOf(c.Now.Add(-jobGrace)), MinuteOf(c.Now))
		return err
	})
}
