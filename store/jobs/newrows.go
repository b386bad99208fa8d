package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/newjobs"
)

// newRows returns the rows of new jobs, as if every due job were ready.
func newRows(c *Change, ins []*Insertion) ([]newjobs.Row, error) {
	marks, err := c.s.bounds.In(c.Change).Mark(len(ins), func(i int) *job.Job { return &ins[i].Job })
	if err != nil {
		return nil, err
	}
	rows := make([]newjobs.Row, len(ins))
	for i, in := range ins {
		if in.Kind == "" { // no worker would ever claim it
			return nil, core.Errorf(core.Internal, "job %d has no task", in.ID)
		}
		rows[i] = newjobs.RowOf(&in.Job, in.TaskID)
		rows[i].Metered, rows[i].Bounded = marks[i].Metered, marks[i].Bounded
		if in.State == job.Ready {
			rows[i].ReadyAt = base.Micros(c.Now)
			rows[i].Turn = rows[i].ReadyAt
		}
		if !in.requirement.IsZero() {
			if rows[i].Requirement, err = c.tasks().RequirementID(in.requirement); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// admitNew admits new jobs under limits, and gives them their turns. Limits and fair queues count them from then on, so
// admitNew must only get jobs that are inserted.
func admitNew(c *Change, ins []*Insertion, rows []newjobs.Row) error {
	if err := admit(c, ins); err != nil {
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

// admitWritten is admitNew for jobs that may meet an active key: only after the insert is it known which of them exist.
func admitWritten(c *Change, ins []*Insertion, rows []newjobs.Row) error {
	before := slices.Clone(rows)
	if err := admitNew(c, ins, rows); err != nil {
		return err
	}
	return newjobs.Move(c.Change, before, rows)
}
