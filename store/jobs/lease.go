package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// readyShares is the condition, on the columns of [SelectReady], that the lease of a job may share a row with others: the end of
// such a job has no consequences for other rows.
const readyShares = `kind <> 'program' and schedule_id = 0 and trigger = 'enqueue'`

// leaseRow is a lease, as a row of a batch.
type leaseRow struct {
	JobID      int64   `json:"job_id"`
	SlotOf     *string `json:"slot_of"`
	DeadlineAt int64   `json:"deadline_at"`
	Ahead      int     `json:"ahead"` // 1: claimed ahead of the worker's free slots
}

func slotOf(q job.Queue) *string {
	if q.GlobalLimit == 0 {
		return nil
	}
	return &q.Name
}

// lease is the lease of [plain], but many leases of simple jobs share a row, a pack.
func (fast) lease(c *claim, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	if len(rows) < c.s.Opt.PackFrom || !canShare(rows, leases) {
		return plain{}.lease(c, rows, leases)
	}
	number, at, err := c.SQL.LeaseNumber(c.Ctx, c.Tx, base.Micros(c.Now))
	if err != nil {
		return job.Claim{}, err
	}
	p := base.Pack{Number: number, Session: c.w.Session, Queue: rows[0].Queue, ClaimedAt: at, Jobs: make([]int64, len(rows))}
	for i, j := range rows {
		p.Jobs[i] = j.ID
		p.Ahead, p.Limited = max(p.Ahead, leases[i].Ahead), max(p.Limited, base.Bit(j.Limited)) // set for the whole pack if set for one job
	}
	if ok, err := c.SQL.Pack(c.Ctx, c.Tx, p); err != nil || !ok {
		if err != nil {
			return job.Claim{}, err
		}
		return c.leaseEach(number, at, rows, leases)
	}
	return c.leased(number, at, rows)
}

// canShare reports whether the leases of jobs can share a row: the jobs are of one queue without a global limit, and their ends
// have no consequences for other rows.
func canShare(rows []JobRow, leases []leaseRow) bool {
	for i := range rows {
		j := &rows[i].Job
		if leases[i].SlotOf != nil || j.Queue != rows[0].Queue || j.Kind == task.KindProgram || j.ScheduleID != 0 || j.Trigger != job.TriggerEnqueue {
			return false
		}
	}
	return true
}

// leaseAtOnce picks and leases in one statement.
func (c *claim) leaseAtOnce(q job.Queue) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	wanted := min(c.r.Want[q.Name], core.MaxBatch)
	n, err := c.withinLimit(q, wanted)
	a.Limited = n < wanted
	if err != nil || n <= 0 {
		return a, err
	}
	slots := c.slots(q, wanted)
	p, some, err := c.picking(q, c.inTurn(q, n, slots))
	if err != nil {
		return a, err
	}
	var number, picked, at int64
	var rows []JobRow
	for some {
		parts, args := c.parts(p)
		own := len(args) + 1
		args = append(args, c.w.Session, slotOf(q), base.Micros(c.Now), job.DeadlineGrace.Microseconds(), c.s.Opt.PackFrom, slots)
		if rows, err = base.CollectInto(c.Ctx, c.Tx, p.makeRows(), ScanReady(p.Room, &number, &picked, &at), c.SQL.Lease(parts, readyShares, own), args...); err != nil {
			return a, err
		}
		if len(rows) > 0 || !p.hopeful {
			break
		}
		p.hopeful = false // another node may have leased all picked jobs
	}
	may, err := c.spare(q, rows, slots)
	if err != nil {
		return a, err
	}
	if some {
		c.picked(p, rows, may, int(picked) == p.N)
	}
	if err := turnsOf(c.Change).Reach(q, may, func(i int) (int, int64) { return rows[i].Priority, rows[i].turn }); err != nil {
		return a, err
	}
	switch {
	case may < len(rows):
		if err := c.leaseFewer(number, rows[may:], may <= slots); err != nil {
			return a, err
		}
	case int(picked) < p.N:
		a.Seen, a.Limited = c.nothing(), false
	}
	if may > 0 {
		c.s.lastTask.Store(q.Name, rows[0].TaskID)
		a.Claim, err = c.leased(number, at, rows[:may])
	}
	return a, err
}

// leaseFewer takes back the leases of rest. If every other leased job can begin at once (begin), their leases are no longer ahead.
func (c *claim) leaseFewer(number int64, rest []JobRow, begin bool) error {
	if err := c.unlease(rest); err != nil || !begin {
		return err
	}
	for _, query := range []string{
		`update belfry.leases set ahead = 0 where session = $1 and number = $2`,
		`update belfry.packs set ahead = 0 where session = $1 and number = $2`,
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, c.w.Session, number); err != nil {
			return err
		}
	}
	return nil
}

// leased makes the answer to a claim, of jobs that have their leases.
func (c *claim) leased(number, at int64, rows []JobRow) (job.Claim, error) {
	rows, err := c.caughtUp(rows)
	if err != nil {
		return job.Claim{}, err
	}
	rows, tasks, err := c.withTasks(rows)
	if err != nil {
		return job.Claim{}, err
	}
	rows, secrets, err := c.s.Hooks.Equip(c.Change, rows, tasks)
	if err != nil {
		return job.Claim{}, err
	}
	out := job.Claim{Lease: number, Jobs: make([]job.LeasedJob, len(rows))}
	shared := make(map[int64]*task.Task, len(tasks))
	for id, t := range tasks {
		shared[id] = &t
	}
	for i := range rows {
		l := &out.Jobs[i]
		l.Job, l.Task, l.Secrets = rows[i].Job, shared[rows[i].TaskID], secrets[rows[i].ID]
		j := &l.Job
		j.Priority -= j.Aged
		l.InTurn = slices.Contains(c.fair, j.Queue)
		j.State, j.Lease, j.Session, j.ClaimedAt, j.DeadlineAt = job.Running, number, c.w.Session, base.Instant(at), job.Deadline(base.Instant(at), j.Kind, j.Timeout)
		j.Attempt++
	}
	c.Wake(base.TopicJobs)
	return out, nil
}

// caughtUp leaves out leased jobs that do not follow a change of their definition yet.
func (c *claim) caughtUp(rows []JobRow) ([]JobRow, error) {
	if len(rows) == 0 || !base.Kept[claimable](c.Change.Change).left {
		return rows, nil
	}
	return c.s.Hooks.CatchUp(c.Change, c.w, rows, c.unlease)
}

// withTasks reads the tasks of leased jobs. A job whose task was deleted during an attempt, and that was handed back since, ends
// here.
func (c *claim) withTasks(rows []JobRow) ([]JobRow, map[int64]task.Task, error) {
	ids := base.Unique(idsOf(rows, func(j *JobRow) int64 { return j.TaskID }))
	tasks, err := c.tasks().TasksByID(ids)
	if err != nil {
		return nil, nil, err
	}
	if len(tasks) == len(ids) {
		return rows, tasks, nil
	}
	var gone []Ending
	var left []JobRow
	kept := rows[:0]
	for _, j := range rows {
		if _, ok := tasks[j.TaskID]; ok {
			kept = append(kept, j)
			continue
		}
		gone = append(gone, Ending{Row: j, Settled: job.Withdraw(j.Job, schedule.ReasonDeleted, "task "+j.Task+" deleted")})
		left = append(left, j)
	}
	if err := c.unlease(left); err != nil {
		return nil, nil, err
	}
	return kept, tasks, c.End(gone, true)
}
