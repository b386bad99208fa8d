package cycles

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/task"
)

// timingRow is the timing of a member with its task.
type timingRow struct {
	task.MemberTiming
	taskID int64
	turnAt time.Time // turn of the run in progress
}

func scanTiming(rows base.Rows) (t timingRow, err error) {
	return t, rows.Scan(&t.taskID, &t.Task, base.ScanTime(&t.StartedAt), base.ScanTime(&t.CycleAt), base.ScanTime(&t.SucceededAt), &t.RunningJob, base.ScanTime(&t.turnAt), base.ScanTime(&t.ResetAt))
}

const timingColumns = `t.id, t.name, coalesce(m.started_at, 0), coalesce(m.cycle_at, 0), coalesce(m.succeeded_at, 0), coalesce(m.running_job, 0), coalesce(m.turn_at, 0), coalesce(m.reset_at, 0)`

// lockTiming reads the timing of a member, and prevents other cycles from running the member until this transaction ends.
func (c *Change) lockTiming(namespace, task string) (t timingRow, found bool, err error) {
	if _, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.member_timing (task_id)
		select id
		from belfry.tasks
		where namespace = $1 and name = $2
		on conflict (task_id) do nothing`, namespace, task); err != nil {
		return t, false, err
	}
	if lock := c.SQL.ForUpdate("member_timing"); lock != "" {
		if _, err := c.Tx.Exec(c.Ctx, `select task_id from belfry.member_timing where task_id = (select id from belfry.tasks where namespace = $1 and name = $2)`+lock, namespace, task); err != nil {
			return t, false, err
		}
	}
	return base.First(c.Ctx, c.Tx, scanTiming, `
		select `+timingColumns+`
		from belfry.tasks t
		join belfry.member_timing m on m.task_id = t.id
		where t.namespace = $1 and t.name = $2`, namespace, task)
}

// timings returns the last success of each member of a cycle.
func (s *Store) timings(ctx context.Context, tx base.Tx, t task.Task) (map[string]task.MemberTiming, error) {
	names := make([]string, len(t.Cycle.Members))
	byName := make(map[string]task.MemberTiming, len(names))
	for i, m := range t.Cycle.Members {
		names[i], byName[m.Task] = m.Task, task.MemberTiming{Task: m.Task}
	}
	rows, err := base.Collect(ctx, tx, scanTiming, `
		select `+timingColumns+`
		from belfry.tasks t
		join belfry.member_timing m on m.task_id = t.id
		where t.namespace = $1 and `+s.SQL.In("t.name", 2), t.Namespace, s.SQL.List(names))
	for _, r := range rows {
		byName[r.Task] = r.MemberTiming
	}
	return byName, err
}

// ResetTiming clears the last success of members, in every cycle, so that they are due. Without names it clears all members of
// the cycle.
func (s *Store) ResetTiming(ctx context.Context, namespace, name string, members ...string) (reset []string, err error) {
	err = s.write(ctx, "reset timing", func(c *Change) error {
		reset = nil
		t, err := s.ReadCycle(ctx, c.Tx, namespace, name)
		if err != nil {
			return err
		}
		for _, m := range t.Cycle.Members {
			if len(members) == 0 || slices.Contains(members, m.Task) {
				reset = append(reset, m.Task)
			}
		}
		for _, m := range members {
			if !slices.Contains(reset, m) {
				return core.Errorf(core.NotFound, "cycle %q has no member %q", name, m).WithHint("see: belfry cycle show %s", name)
			}
		}
		if err := locks.Cycles(c.Change); err != nil { // others lock these timings in another order
			return err
		}
		for _, m := range reset {
			if _, err := c.Tx.Exec(ctx, `
				update belfry.member_timing
				set reset_at = case when started_at > 0 then $3 else reset_at end, started_at = 0, cycle_at = 0, succeeded_at = 0
				where task_id = (select id from belfry.tasks where namespace = $1 and name = $2)`, t.Namespace, m, base.Micros(c.Now)); err != nil {
				return err
			}
		}
		return c.Audit("reset-timing", "task", t.Namespace, t.Name, fmt.Sprint(reset), nil, nil)
	})
	return reset, err
}
