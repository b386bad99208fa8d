package cycles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// ReadCycle returns a task of kind cycle.
func (s *Store) ReadCycle(ctx context.Context, tx base.Tx, namespace, name string) (task.Task, error) {
	t, err := s.tasks.ReadTask(ctx, tx, base.NamespaceOr(namespace), name)
	if err == nil && t.Cycle == nil {
		err = core.Errorf(core.Conflict, "task %q is no cycle", name).WithHint("see: belfry cycle list")
	}
	return t, err
}

// CycleStatus returns a cycle, its run in progress, and why each of its members is due or not.
func (s *Store) CycleStatus(ctx context.Context, namespace, name string) (out cycle.Status, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		t, err := s.ReadCycle(ctx, tx, namespace, name)
		if err == nil {
			out, err = s.cycleStatus(ctx, tx, t, now)
		}
		return err
	})
	return out, err
}

// Cycles lists cycles by name.
func (s *Store) Cycles(ctx context.Context, f view.DocumentFilter) (p core.Page[cycle.Status], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	w.And("kind = ?", string(task.KindCycle))
	now, err := s.Now(ctx)
	if err != nil {
		return p, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		found, err := base.CollectPage(ctx, tx, limit, s.tasks.ScanTask, func(t task.Task) string { return base.EncodeCursor(t.Namespace, t.Name) }, `
			select `+tasks.TaskColumns+`
			from belfry.tasks
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		if err != nil {
			return err
		}
		p = core.Page[cycle.Status]{Items: make([]cycle.Status, len(found.Items)), Next: found.Next}
		for i, t := range found.Items {
			if p.Items[i], err = s.cycleStatus(ctx, tx, t, now); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

func (s *Store) cycleStatus(ctx context.Context, tx base.Tx, t task.Task, now time.Time) (out cycle.Status, err error) {
	out = cycle.Status{Task: t.Redacted()}
	run, found, err := base.First(ctx, tx, ScanRun, `select doc from belfry.cycle_runs where task_id = $1 order by job_id limit 1`, t.ID)
	if err != nil {
		return out, err
	}
	if found {
		out.Run, out.Done = &run, run.Position()
	}
	timings, err := s.timings(ctx, tx, t)
	if err != nil {
		return out, err
	}
	for _, m := range t.Cycle.Members {
		timing := timings[m.Task]
		status := cycle.MemberStatus{Member: m, Timing: timing, DueAt: m.DueAt(timing)}
		if status.Due, status.Why = m.Due(timing, now, now); timing.RunningJob != 0 {
			status.Due, status.Why = false, fmt.Sprintf("it runs now, as job %d", timing.RunningJob)
		}
		out.Members = append(out.Members, status)
	}
	last, found, err := base.First(ctx, tx, jobs.ScanJob, jobs.SelectDone+` where task = $1 and task_id = $2 and output is not null order by id desc limit 1`, t.Name, t.ID)
	if err != nil {
		return out, err
	}
	if found {
		out.LastJob, out.Last = last.ID, &cycle.Output{}
		if err := base.ScanDoc(out.Last).Scan(string(last.Output)); err != nil {
			return out, err
		}
	}
	next, _, err := base.First(ctx, tx, base.ScanInt, `select next_at from belfry.schedules where task_id = $1 and next_at > 0 order by next_at limit 1`, t.ID)
	out.NextAt = base.Instant(next)
	return out, err
}

// RunCycle creates a job of a cycle now, independent of its schedule, unless a run is in progress or waiting.
func (s *Store) RunCycle(ctx context.Context, namespace, name string) (j job.Job, err error) {
	namespace = base.NamespaceOr(namespace)
	err = s.write(ctx, "run cycle", func(c *Change) error {
		if _, err := s.ReadCycle(ctx, c.Tx, namespace, name); err != nil {
			return err
		}
		ins, err := c.jobs().Prepare([]job.NewJob{{Namespace: namespace, Task: name}})
		if err != nil {
			return err
		}
		ins[0].Trigger = job.TriggerManual
		j = ins[0].Job
		if err := c.OneRun([]*jobs.Insertion{&ins[0]}); err != nil {
			return err
		}
		if err := c.jobs().Admit(true, []*jobs.Insertion{&ins[0]}); err != nil {
			return err
		}
		if err := c.jobs().InsertJobs([]*jobs.Insertion{&ins[0]}); err != nil {
			return err
		}
		return c.Audit("run", "task", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// LiveCycles returns the jobs of a cycle that are in progress or waiting.
func (s *Store) LiveCycles(ctx context.Context, tx base.Tx, t task.Task) ([]int64, error) {
	return base.Collect(ctx, tx, base.ScanInt, `
		select job_id
		from belfry.cycle_runs
		where task_id = $1
		union
		select id
		from belfry.jobs
		where kind = 'cycle' and state = 'ready' and task_id = $1
		order by 1
		limit `+strconv.Itoa(core.MaxBatch), t.ID)
}

// OneRun rejects a job of a cycle that has a run in progress or waiting, and a second job of one cycle in a batch. A run that
// starts later is skipped at its start instead.
func (c *Change) OneRun(ins []*jobs.Insertion) error {
	var cycles []*jobs.Insertion
	for _, in := range ins {
		if in.Kind == task.KindCycle && in.State == job.Ready {
			cycles = append(cycles, in)
		}
	}
	slices.SortFunc(cycles, func(a, b *jobs.Insertion) int { return cmp.Compare(a.TaskID, b.TaskID) })
	for i, in := range cycles {
		if i > 0 && cycles[i-1].TaskID == in.TaskID {
			return core.Errorf(core.Conflict, "cycle %q is asked for twice in one call", in.Task).WithHint("a cycle has one run at a time")
		}
		t, err := c.tasks().LockTask(in.Namespace, in.Task) // of two concurrent requests, the second sees the job of the first
		if err != nil {
			return err
		}
		live, err := c.s.LiveCycles(c.Ctx, c.Tx, t)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			return core.Errorf(core.Conflict, "cycle %q is under way, as job %d", in.Task, live[0]).
				WithHint("belfry cycle show %s, or belfry cycle cancel %s", in.Task, in.Task)
		}
	}
	return nil
}

// NotUnderWay is the error of an action on a cycle that does not run: [core.Conflict].
func NotUnderWay(name string) error {
	return core.Errorf(core.Conflict, "cycle %q is not under way", name).WithHint("belfry cycle run %s", name)
}

// SkipMember skips a member in the run in progress. If the member is running, its job is asked to end.
func (s *Store) SkipMember(ctx context.Context, namespace, name, member string) (out cycle.Run, err error) {
	err = s.write(ctx, "skip member", func(c *Change) error {
		t, err := s.ReadCycle(ctx, c.Tx, namespace, name)
		if err != nil {
			return err
		}
		// The job of the running member is locked first, as by a transition that settles it.
		run, _, err := base.First(ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where task_id = $1 order by job_id limit 1`, t.ID)
		if err != nil {
			return err
		}
		if _, err := c.jobs().LockJobs([]int64{run.MemberJob}); err != nil {
			return err
		}
		if err := locks.Cycles(c.Change); err != nil {
			return err
		}
		run, found, err := base.First(ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where task_id = $1 order by job_id limit 1`+s.SQL.ForUpdate("cycle_runs"), t.ID)
		if err != nil {
			return err
		}
		if !found {
			return NotUnderWay(name)
		}
		place := slices.IndexFunc(run.Members, func(m task.Member) bool { return m.Task == member })
		switch {
		case place < 0:
			return core.Errorf(core.NotFound, "cycle %q has no member %q", name, member).WithHint("see: belfry cycle show %s", name)
		case place < run.Position():
			return core.Errorf(core.Conflict, "member %q is done in this cycle", member)
		}
		if !slices.Contains(run.Skip, member) {
			run.Skip, run.SkippedBy = append(run.Skip, member), access.ActorOf(ctx)
		}
		if out = run; run.WaitsFor != 0 && place == run.Position() {
			if err := c.advance(run); err != nil {
				return err
			}
		} else if _, err := c.Tx.Exec(ctx, `update belfry.cycle_runs set doc = $2 where job_id = $1`, run.JobID, base.Text(run)); err != nil {
			return err
		}
		if place == run.Position() && run.MemberJob != 0 {
			rows, err := c.jobs().LockJobs([]int64{run.MemberJob})
			if err != nil {
				return err
			}
			if err := c.jobs().CancelRows(rows, schedule.ReasonCanceled, "left out of its cycle by "+access.ActorOf(ctx)); err != nil {
				return err
			}
		}
		return c.Audit("skip-member", "task", t.Namespace, t.Name, member, nil, nil)
	})
	return out, err
}
