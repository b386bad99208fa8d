// Package locks has the locks that more than one noun takes, in the order in which rows are locked: jobs by their ids, the
// lock of all cycles, runs of workflows by their ids, schedules by theirs, monitors, and keys of limits at the end.
//
// A transition waits for rows in that order alone. One that has what comes later, such as the fire of schedules that end
// their earlier runs, takes the others if they are free, and is begun again if they are not: see [Backwards].
package locks

import (
	"slices"

	"github.com/belfry-run/belfry/store/base"
)

// Rows are rows of a table, by a key that orders them and a condition with one parameter.
type Rows struct {
	Table, Key string
	Where      string
	Of         any
}

func (r Rows) query() string {
	return `select ` + r.Key + ` from belfry.` + r.Table + ` where ` + r.Where + ` order by ` + r.Key
}

// backwards is set in a transition that has rows which are locked after the others.
type backwards bool

// Backwards notes that the transition has locked schedules and goes on with what is locked before them.
func Backwards(c *base.Change) { *base.Kept[backwards](c) = true }

// Now locks rows, or has the transition begun again, which holds what others that have them wait for. One of the caller's
// waits.
func (r Rows) Now(c *base.Change) error {
	if !c.Base().Far || c.Foreign {
		return nil
	}
	held, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, r.query()+c.SQL.SkipLocked(r.Table), r.Of)
	if err != nil {
		return err
	}
	busy, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, r.query(), r.Of)
	if err == nil && len(busy) > len(held) { // one that came back meanwhile is no reason, and does no harm
		err = base.Meets{Table: r.Table, Key: r.Key, IDs: slices.DeleteFunc(busy, func(id int64) bool { return slices.Contains(held, id) })}
	}
	return err
}

// NowIfBackwards is Now in a transition that goes backwards, before a statement that locks the rows.
func (r Rows) NowIfBackwards(c *base.Change) error {
	if !*base.Kept[backwards](c) {
		return nil
	}
	return r.Now(c)
}

// Lock locks rows, and waits for them unless the transition goes backwards.
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

// Cycles lets one transaction at a time take cycles further, and change the timings of their members. Those that share members
// lock these timings in any order, and would wait for each other.
func Cycles(c *base.Change) error {
	return Rows{"member_timing", "task_id", "task_id = $1", int64(0)}.Lock(c)
}
