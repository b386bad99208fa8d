package jobs

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// readyShares is the condition that the lease of a job may share a row with
// others, on what [SelectReady] reads: nothing follows from its end.
const readyShares = `kind <> 'program' and schedule_id = 0 and trigger = 'enqueue'`

// leaseRow is a lease as a batch carries it.
type leaseRow struct {
	JobID      int64   `json:"job_id"`
	SlotOf     *string `json:"slot_of"`
	DeadlineAt int64   `json:"deadline_at"`
	Ahead      int     `json:"ahead"` // of its worker's free slots
}

func slotOf(q job.Queue) *string {
	if q.GlobalLimit == 0 {
		return nil
	}
	return &q.Name
}

// lease is that of [plain]. Many leases of plain jobs share a row.
func (fast) lease(c *Change, w job.WorkerState, rows []JobRow, leases []leaseRow) (job.Claim, error) {
	if len(rows) < c.s.Opt.PackFrom || !canShare(rows, leases) {
		return plain{}.lease(c, w, rows, leases)
	}
	number, at, err := c.SQL.LeaseNumber(c.Ctx, c.Tx, base.Micros(c.Now))
	if err != nil {
		return job.Claim{}, err
	}
	p := base.Pack{Number: number, Session: w.Session, Queue: rows[0].Queue, ClaimedAt: at, Jobs: make([]int64, len(rows))}
	for i, j := range rows {
		p.Jobs[i] = j.ID
		p.Ahead = max(p.Ahead, leases[i].Ahead) // of the whole pack, if some of it has to wait
	}
	if ok, err := c.SQL.Pack(c.Ctx, c.Tx, p); err != nil || !ok {
		if err != nil {
			return job.Claim{}, err
		}
		return c.leaseEach(w, number, at, rows, leases)
	}
	return c.leased(w, number, at, rows)
}

// canShare reports that the leases of jobs can share a row: they are of one
// queue, without a limit over all workers, and nothing follows from their ends.
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
func (c *Change) leaseAtOnce(w job.WorkerState, q job.Queue, p picking) (a base.Answer, err error) {
	a.Claim.Jobs = []job.LeasedJob{}
	var number, picked, at int64
	parts, args := c.parts(p)
	own := len(args) + 1
	args = append(args, w.Session, slotOf(q), base.Micros(c.Now), job.DeadlineGrace.Microseconds(), c.s.Opt.PackFrom, p.slots)
	rows, err := base.CollectInto(c.Ctx, c.Tx, c.s.rows.take(p.n), ScanReady(&number, &picked, &at), c.SQL.Lease(parts, readyShares, own), args...)
	if err != nil {
		return a, err
	}
	defer c.s.rows.giveBack(rows)
	if len(rows) == 0 && p.hopeful { // perhaps another node was faster with all that was picked
		p.hopeful = false
		return c.leaseAtOnce(w, q, p)
	}
	may, err := c.spare(rows, p.slots)
	if err != nil {
		return a, err
	}
	if may < len(rows) {
		a.Claim, err = c.leaseFewer(w, p, number, at, rows, may)
		return a, err
	}
	if int(picked) < p.n {
		a.Seen = c.none()
	}
	c.picked(p, rows, int(picked) == p.n)
	if len(rows) > 0 {
		c.s.usual.Store(q.Name, rows[0].TaskID)
		a.Claim, err = c.leased(w, number, at, rows)
	}
	return a, err
}

// leaseFewer keeps the first n of the jobs that were leased.
func (c *Change) leaseFewer(w job.WorkerState, p picking, number, at int64, rows []JobRow, n int) (job.Claim, error) {
	if err := c.unlease(rows[n:]); err != nil {
		return job.Claim{}, err
	}
	c.pickedOf(p, rows, n, true)
	if n == 0 {
		return job.Claim{Jobs: []job.LeasedJob{}}, nil
	}
	if n <= p.slots { // none of them waits
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.leases set ahead = 0 where session = $1 and number = $2`, w.Session, number); err != nil {
			return job.Claim{}, err
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.packs set ahead = 0 where number = $1`, number); err != nil {
			return job.Claim{}, err
		}
	}
	return c.leased(w, number, at, rows[:n])
}

func deadline(claimedAt int64, timeout core.Duration) time.Time {
	return base.Instant(claimedAt).Add(timeout.D() + job.DeadlineGrace)
}

// leased is the answer to a claim: jobs that have their lease.
func (c *Change) leased(w job.WorkerState, number, at int64, rows []JobRow) (job.Claim, error) {
	rows, tasks, err := c.withTasks(rows)
	if err != nil {
		return job.Claim{}, err
	}
	rows, secrets, err := c.s.Hooks.Equip(c, rows, tasks)
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
		j.State, j.Lease, j.Session, j.ClaimedAt, j.DeadlineAt = job.Running, number, w.Session, base.Instant(at), deadline(at, j.Timeout)
		j.Attempt++
	}
	c.Wake(base.TopicJobs)
	return out, nil
}

// withTasks reads the tasks of leased jobs. A job whose task was deleted while
// an attempt ran, and that was handed back since, ends here.
func (c *Change) withTasks(rows []JobRow) ([]JobRow, map[int64]task.Task, error) {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].TaskID
	}
	ids = base.Unique(ids)
	tasks, err := c.tasks().TasksByID(ids)
	if err != nil {
		return nil, nil, err
	}
	if len(tasks) == len(ids) {
		return rows, tasks, nil
	}
	var gone []Ending
	kept := rows[:0]
	for _, j := range rows {
		if _, ok := tasks[j.TaskID]; ok {
			kept = append(kept, j)
			continue
		}
		gone = append(gone, Ending{Row: j, Settled: job.Withdraw(j.Job, schedule.ReasonDeleted, "task "+j.Task+" deleted")})
	}
	left := make([]JobRow, len(gone))
	for i, e := range gone {
		left[i] = e.Row
	}
	if err := c.unlease(left); err != nil {
		return nil, nil, err
	}
	return kept, tasks, c.End(gone, true)
}
