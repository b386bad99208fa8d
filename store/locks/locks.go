// Package locks takes locks that several nouns share. The lock order is: jobs by id, the lock of all cycles, runs of workflows by
// id, schedules by id, monitors, and limit keys at the end.
//
// A transition waits for rows only in that order. A transition that already holds later rows goes backwards: it locks earlier
// rows only if they are free, and begins again if not (see [Backwards]). An example is the fire of schedules that end their
// earlier runs.
package locks

import (
	"slices"
	"time"

	"github.com/belfry-run/belfry/store/base"
)

// Rows selects rows of a table, with a key that orders them and a condition with one parameter.
type Rows struct {
	Table, Key string
	Where      string
	Of         any // the parameter
}

func (r Rows) query() string {
	return `select ` + r.Key + ` from belfry.` + r.Table + ` where ` + r.Where + ` order by ` + r.Key
}

// backwards is set in a transition that goes backwards in the lock order.
type backwards bool

// Backwards records that the transition has locked schedules, and goes on with rows that come before schedules.
func Backwards(c *base.Change) { *base.Kept[backwards](c) = true }

// Now locks rows without waiting. If another transition has one of them, it may wait for rows of this one, so the transition
// begins again. In a transaction of the caller it does nothing: a later statement waits.
func (r Rows) Now(c *base.Change) error {
	if !c.Base().Far || c.Foreign {
		return nil
	}
	held, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, r.query()+c.SQL.SkipLocked(r.Table), r.Of)
	if err != nil {
		return err
	}
	busy, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, r.query(), r.Of)
	if err == nil && len(busy) > len(held) { // a row that appeared between the two queries also counts as busy, which does no harm
		err = base.Meets{Table: r.Table, Key: r.Key, IDs: slices.DeleteFunc(busy, func(id int64) bool { return slices.Contains(held, id) })}
	}
	return err
}

// NowIfBackwards is Now in a transition that goes backwards. It is called before a statement that locks the rows.
func (r Rows) NowIfBackwards(c *base.Change) error {
	if !*base.Kept[backwards](c) {
		return nil
	}
	return r.Now(c)
}

// Lock locks rows. It waits for them, unless the transition goes backwards.
func (r Rows) Lock(c *base.Change) error {
	lock := c.SQL.ForUpdate(r.Table)
	if lock == "" {
		return nil
	}
	if bool(*base.Kept[backwards](c)) && !c.Foreign {
		return r.Now(c)
	}
	_, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, r.query()+lock, r.Of)
	return err
}

// Rest is the delay before the next look at rows that other transactions hold. Rows that come due meanwhile wait for it too.
const Rest = 20 * time.Millisecond

// SoonIfHeld returns when to look again after a read that skips locked rows has found none: after [Rest] if the query, which is
// the same read without locks, finds a row, else at next. The transaction that holds the row may roll back, which wakes no loop.
func SoonIfHeld(c *base.Change, query string, next time.Time) (time.Time, error) {
	if !c.Base().Far { // SQLite has one writer
		return next, nil
	}
	_, held, err := base.First(c.Ctx, c.Tx, base.ScanInt, query+` limit 1`)
	if soon := c.Now.Add(Rest); err == nil && held && (next.IsZero() || next.After(soon)) {
		next = soon
	}
	return next, err
}

// Cycles locks all cycles: one transaction at a time advances cycles and changes the timings of their members. Cycles that share
// members would otherwise lock these timings in different orders, and deadlock.
func Cycles(c *base.Change) error {
	return Rows{"member_timing", "task_id", "task_id = $1", int64(0)}.Lock(c)
}
