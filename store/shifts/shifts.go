// Package shifts moves times after the clock was set: see [base.Store.FollowClock].
package shifts

import (
	"strings"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/locks"
)

// New has a store follow its clock.
func New(b *base.Store) { b.OnShift(shift) }

// shift moves what was written before the clock was set, and not what was
// since: after a step back that has times which are still to come, after a step
// forward times that are long gone.
//
// Everything is locked as elsewhere: sessions before jobs, and jobs, by their
// ids, before leases. A worker's finish that met this the other way round would
// wait for it, and it for the finish; and a server of PostgreSQL whose clock was
// set may look for such a ring much later than it should.
//
// What was written by a transaction that was under way is found when that has ended, by its number in the row. Where rows
// say when they were written, a time that is still to come says so too.
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
	ofLeases := of
	if d < 0 { // those that were in packs are written anew
		ofLeases = ""
	}
	queries := []string{
		`update belfry.leases set deadline_at = deadline_at + $1, claimed_at = claimed_at + $1 where claimed_at ` + before + ` $2` + ofLeases,
		`update belfry.sessions set expires_at = expires_at + $1, renewed_at = renewed_at + $1 where ended_at = 0 and renewed_at ` + before + ` $2` + of,
		`update belfry.listening set since = since + $1, until = until + $1 where until ` + before + ` $2` + of,
	}
	if !late { // all who write those of cycles had their lock before
		queries = append(queries,
			`update belfry.cycle_runs set started_at = started_at + $1, deadline_at = deadline_at + $1 where started_at `+before+` $2`,
			// Intervals of members count time that passed, in either direction. That of a run under way counts from its
			// turn, whether there was one before or not.
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
			// The turn of what has aged is when it was raised; those of fair queues are larger than 2 to the power of 52, and no instant is.
			`update belfry.jobs set ready_at = case when ready_at > $2 then ready_at + $1 else ready_at end, turn = case when turn = ready_at and ready_at > $2 or aged > 0 and turn > $2 and turn < 4503599627370496 then turn + $1 else turn end where state = 'ready' and (ready_at > $2 or aged > 0 and turn > $2)`+of,
			`update belfry.limit_keys set next_at = next_at + $1, look_at = case when look_at > $2 then look_at + $1 else look_at end where (next_at > $2 or look_at > $2)`+of,
			// Behind the high-water mark the next time is a look, and the time that counts from the finish is only a
			// name, just after that mark: see finishDue in package schedule.
			`update belfry.schedules
			set finish_at = finish_at + $1,
				next_at = case when next_at = finish_at or next_at > $2 and finish_at - high_water < 1000000 then next_at + $1 else next_at end
			where finish_at > $2`+of)
	}
	for _, q := range queries {
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

// numbers are how many numbers of transactions are told apart in a row.
const numbers = 1 << 32

// unpack takes packs apart, which have no time of their own for each job. Only those of a clock that was ahead move late.
func unpack(c *base.Change, step base.Step) error {
	if step.To > 0 {
		_, ahead, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select job_id from belfry.running where claimed_at > $1 limit 1`, base.Micros(step.At))
		if err != nil || !ahead {
			return err
		}
	}
	return c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{All: true})
}

// shiftRuns moves when to look at workflows under way, in either direction. A run says by how much the clock was followed
// when it was written, and its other times move when they are read: one that was not committed yet moves in the next pass.
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
