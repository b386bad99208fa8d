// Package shifts moves times after the clock was set: see [base.Store.FollowClock].
package shifts

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/locks"
)

// New makes a store follow its clock.
func New(b *base.Store) { b.OnShift(shift) }

// shift moves the times that were written before the clock was set, and not the times written since. After a step back these
// are times in the future, after a step forward times far in the past.
//
// Rows are locked in the same order as elsewhere: sessions before jobs, and jobs, in the order of their ids, before leases. In
// the opposite order, shift and a worker's finish would deadlock. A PostgreSQL server whose clock was set may detect that
// deadlock much later than it should.
//
// Rows of a transaction that was in progress are found after it has ended, by the transaction number in the row. Rows with the
// time of their writing are found by that time if it is in the future.
func shift(c *base.Change, step base.Step) error {
	d, late, of := step.By, step.To > 0, ""
	before, than := ">", step.At
	if d > 0 {
		before, than = "<", step.At.Add(-d/2)
	}
	args := []any{d.Microseconds(), base.Micros(than), step.From % numbers, step.To - step.From}
	if late {
		of = ` and (xmin::text::bigint - $3 + 8589934592) % 4294967296 < $4`
	}
	if _, err := c.Tx.Exec(c.Ctx, `select count(*) from (select id from belfry.sessions where ended_at = 0 order by id`+c.SQL.ForUpdate("sessions")+`) as locked`); err != nil {
		return err
	}
	moved := `id in (select job_id from belfry.running where claimed_at ` + before + ` $1)`
	if d < 0 {
		moved += ` or state = 'scheduled' and due_at > $1 or state = 'ready' and (ready_at > $1 or aged > 0 and turn > $1)`
	}
	if _, err := c.Tx.Exec(c.Ctx, `select count(*) from (select id from belfry.jobs where `+moved+` order by id`+c.SQL.ForUpdate("jobs")+`) as locked`, base.Micros(than)); err != nil {
		return err
	}
	if err := unpack(c, step); err != nil {
		return err
	}
	if err := locks.Cycles(c); err != nil {
		return err
	}
	if err := shiftRuns(c, step.Total.Microseconds()); err != nil {
		return err
	}
	for _, q := range statements(d, late, before, of) {
		with := args
		if !strings.Contains(q, "$3") {
			with = args[:2]
		}
		if _, err := c.Tx.Exec(c.Ctx, q, with...); err != nil {
			return err
		}
	}
	return nil
}

// statements returns the statements that move the times of a step of d: those before (< or >) $2 by $1, and in a late pass only
// the rows that match of.
func statements(d time.Duration, late bool, before, of string) []string {
	ofLeases := of
	if d < 0 { // leases that were in packs are written anew
		ofLeases = ""
	}
	queries := []string{
		`update belfry.leases set deadline_at = deadline_at + $1, claimed_at = claimed_at + $1 where claimed_at ` + before + ` $2` + ofLeases,
		`update belfry.sessions set expires_at = expires_at + $1, renewed_at = renewed_at + $1 where ended_at = 0 and renewed_at ` + before + ` $2` + of,
		`update belfry.listening set since = since + $1, until = until + $1 where until ` + before + ` $2` + of,
	}
	if !late { // all writers of cycle runs had their lock before
		queries = append(queries,
			`update belfry.cycle_runs set started_at = started_at + $1, deadline_at = deadline_at + $1 where started_at `+before+` $2`,
			// Intervals of members count elapsed time, so they move in both directions. The interval of a run in progress
			// counts from its turn, whether or not there was an earlier turn.
			`update belfry.member_timing set started_at = started_at + $1 where started_at > 0 and started_at `+before+` $2`,
			`update belfry.member_timing set cycle_at = cycle_at + $1 where cycle_at > 0 and cycle_at `+before+` $2`,
			`update belfry.member_timing set turn_at = turn_at + $1 where turn_at > 0 and turn_at `+before+` $2`)
	}
	if d < 0 {
		queries = append(queries,
			`update belfry.jobs set due_at = due_at + $1 where state = 'scheduled' and (failures > 0 or snoozes > 0 or trigger in ('check', 'cycle') and nominal = 0 or attempt = 0 and id in (select job_id from belfry.debounced)) and due_at > $2`+of,
			`update belfry.debounced set last_at = last_at + $1 where last_at > $2`+of,
			`update belfry.steps set wake_at = wake_at + $1, saved_at = saved_at + $1 where wake_at > $2`+of,
			`update belfry.alerts set due_at = due_at + $1 where state = 'pending' and due_at > $2`+of,
			`update belfry.hooks set due_at = case when due_at > $2 then due_at + $1 else due_at end, taken_until = case when taken_until > $2 then taken_until + $1 else taken_until end where (due_at > $2 or taken_until > $2)`+of,
			// The turn of an aged job is the time at which it was raised. Turns of fair queues exceed 2 to the power of 52,
			// which no instant does.
			`update belfry.jobs set ready_at = case when ready_at > $2 then ready_at + $1 else ready_at end, turn = case when turn = ready_at and ready_at > $2 or aged > 0 and turn > $2 and turn < 4503599627370496 then turn + $1 else turn end where state = 'ready' and (ready_at > $2 or aged > 0 and turn > $2)`+of,
			`update belfry.limit_keys set next_at = next_at + $1, look_at = case when look_at > $2 then look_at + $1 else look_at end where (next_at > $2 or look_at > $2)`+of,
			// While the clock is before the high-water mark, next_at is only the time of a look. finish_at is then only a name,
			// just after the mark: see finishDue in package schedule.
			`update belfry.schedules
			set finish_at = finish_at + $1,
				next_at = case when next_at = finish_at or next_at > $2 and finish_at - high_water < 1000000 then next_at + $1 else next_at end
			where finish_at > $2`+of)
	}
	return queries
}

// numbers is the count of transaction numbers that a row can distinguish.
const numbers = 1 << 32

// unpack splits packs into leases, because a pack has no time for each job. In a late pass only leases of a clock that was
// ahead move.
func unpack(c *base.Change, step base.Step) error {
	if step.To > 0 {
		_, ahead, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select job_id from belfry.running where claimed_at > $1 limit 1`, base.Micros(step.At))
		if err != nil || !ahead {
			return err
		}
	}
	return c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{All: true})
}

// shiftRuns moves the next looks at workflow runs in progress, in both directions. A run stores the clock correction at its
// last write, and its other times move when they are read. A run that was not committed yet moves in the next pass.
func shiftRuns(c *base.Change, total int64) error {
	const behind = ` from belfry.workflow_runs where due_at > 0 and clock + set_by <> $1`
	if _, err := c.Tx.Exec(c.Ctx, `select count(*) from (select job_id`+behind+` order by job_id`+c.SQL.ForUpdate("workflow_runs")+`) as locked`, total); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.workflow_runs
		set due_at = due_at + $1 - clock - set_by, set_by = $1 - clock
		where due_at > 0 and clock + set_by <> $1`, total)
	return err
}
