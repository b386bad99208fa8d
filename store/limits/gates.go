package limits

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// keyRow is a row of limit_keys: a limit key.
type keyRow struct {
	ID          int64
	Owner, Name string
	Value       string
	Next        int64 // of a rate: the time of the next start when all starts are evenly spaced
	Look        int64 // time of the next look; 0: none
	Stopped     int64 // of a sequence: the job whose failure stopped it
}

const keyColumns = `k.id, k.owner, k.name, k.value, k.next_at, k.look_at, k.stopped_by`

func scanKey(rows base.Rows) (k keyRow, err error) {
	return k, rows.Scan(&k.ID, &k.Owner, &k.Name, &k.Value, &k.Next, &k.Look, &k.Stopped)
}

// firstWaiting is how many waiting jobs of a key are read at once, unless fewer can be admitted.
const firstWaiting = 4

// lockedKey is a limit key under its lock, with its jobs counted.
type lockedKey struct {
	keyRow
	gate       job.Gate
	unlimited  bool    // the limit of this key was deleted
	admitted   int     // admitted jobs, counted up to the limit
	rough      bool    // admitted says only whether there is one; see [counting]
	unbegun    int     // of the admitted jobs, those that have not begun: ready, without a lease
	first      []int64 // first waiting jobs, in the order of admission
	hasMore    bool    // more jobs may wait than first
	hasWaiting bool    // at least one job waits
	secondary  bool    // locked only for a job that waits under another key; its own look stays pending
	jobLeft    bool    // a job was released from this key in this transition

	next    int64 // new [keyRow.Next]
	stopped int64 // new [keyRow.Stopped]
	look    int64 // time of the earliest look that this transition needs; 0: none

	skipDelay time.Duration // of a sequence that skips: delay before the next look, while another transaction changes its jobs
}

// lateLook is the delay before the next look while admitted jobs have not begun.
const lateLook = 50 * time.Millisecond

// admits reports whether the key has capacity for one more job. If its rate is exhausted, or its sequence skips waiting
// jobs, it schedules the next look.
func (k *lockedKey) admits(now int64) bool {
	if k.unlimited {
		return true
	}
	if k.gate.Strict && k.stopped != 0 {
		if k.gate.OnFailure == flow.SequenceSkips {
			k.lookAt(now + k.skipDelay.Microseconds())
		}
		return false
	}
	if k.gate.Running > 0 && k.admitted >= k.gate.Running {
		return false
	}
	if k.gate.Pace.IsZero() {
		return true
	}
	if k.unbegun >= k.gate.Pace.Burst() { // otherwise a backlog would begin at once when a worker comes
		k.lookAt(now + max(lateLook.Microseconds(), min(k.gate.Pace.Every, time.Second.Microseconds())))
		return false
	}
	if _, ok, from := k.gate.Pace.Take(k.next, now); !ok {
		k.lookAt(from)
		return false
	}
	return true
}

// admitOne counts one more admitted job.
func (k *lockedKey) admitOne(now int64) {
	k.admitted++
	k.unbegun++
	if !k.unlimited && !k.gate.Pace.IsZero() {
		k.next, _, _ = k.gate.Pace.Take(k.next, now)
	}
}

// lookAt schedules a look, unless an earlier one is scheduled.
func (k *lockedKey) lookAt(at int64) {
	if k.look == 0 || at < k.look {
		k.look = at
	}
}

// keyLocks records whether a transition has locked limit keys.
type keyLocks struct{ held bool }

// holdsKeys reports whether this transition has locked limit keys or keys of fair queues. It must not wait for more keys then:
// their holder may wait for the keys of this transition. With one writer, no other transition holds a key.
func holdsKeys(c *Change) bool {
	return c.s.Far && (base.Kept[keyLocks](c.Change).held || c.turns().Holds())
}

// counting is how much of the jobs of a key is read.
type counting struct {
	first int  // waiting jobs: at most so many
	rough bool // admitted jobs: if none waits, only whether there is one
	most  int  // admitted jobs to count at first, while the limit of the key is not known; at least 1
}

// lock locks limit keys in the order of their ids, and counts their jobs. Without wait, it leaves out keys that another
// transaction has locked.
func (c *Change) lock(ids []int64, wait bool, how counting) (map[int64]*lockedKey, error) {
	if len(ids) == 0 {
		return map[int64]*lockedKey{}, nil
	}
	slices.Sort(ids)
	query := `
		select k.id
		from belfry.limit_keys k
		where ` + c.SQL.In("k.id", 1) + `
		order by k.id`
	var err error
	switch {
	case !c.s.Far: // with one writer, no other transaction has a key
	case wait: // the lock is sent with the query below, which sees what others have done under it
		err = base.ExecSoon(c.Ctx, c.Tx, query+c.SQL.ForUpdate("k"), c.SQL.List(ids))
	default:
		ids, err = base.Collect(c.Ctx, c.Tx, base.ScanInt, query+c.SQL.SkipLocked("k"), c.SQL.List(ids))
	}
	if err != nil || len(ids) == 0 {
		return map[int64]*lockedKey{}, err
	}
	how.most = max(how.most, 1)
	counts, err := readCounts(c, ids, how)
	if err != nil {
		return nil, err
	}
	rows := make([]keyRow, len(counts))
	for i, n := range counts {
		rows[i] = n.keyRow
	}
	locked, err := newLockedKeys(c, rows)
	if err != nil {
		return nil, err
	}
	return locked, takeCounts(c, locked, counts, how)
}

// newLockedKeys makes locked keys of rows, with their gates and without jobs.
func newLockedKeys(c *Change, rows []keyRow) (map[int64]*lockedKey, error) {
	var of owners
	for _, row := range rows {
		of.add(row.Owner)
		base.Kept[keyLocks](c.Change).held = true
	}
	gates, err := c.gates(of)
	if err != nil {
		return nil, err
	}
	locked := make(map[int64]*lockedKey, len(rows))
	for _, row := range rows {
		k := &lockedKey{keyRow: row, next: row.Next, stopped: row.Stopped}
		i := slices.IndexFunc(gates[row.Owner], func(g job.Gate) bool { return g.Name == row.Name })
		if k.unlimited = i < 0; !k.unlimited {
			k.gate = gates[row.Owner][i]
		}
		if p := k.gate.Pace; !p.IsZero() {
			k.next = p.Near(k.next, base.Micros(c.Now))
		}
		locked[row.ID] = k
	}
	return locked, nil
}

// count reads the number of admitted jobs and the first waiting jobs of each key, under the locks.
func (c *Change) count(locked map[int64]*lockedKey, how counting) error {
	if len(locked) == 0 {
		return nil
	}
	how.most = mostRunning(locked)
	counts, err := readCounts(c, slices.Sorted(maps.Keys(locked)), how)
	if err != nil {
		return err
	}
	return takeCounts(c, locked, counts, how)
}

// mostRunning returns the largest running limit of keys, at least 1.
func mostRunning(locked map[int64]*lockedKey) int {
	most := 1
	for _, k := range locked {
		most = max(most, k.gate.Running)
	}
	return most
}

// keyCount is a limit key with its jobs.
type keyCount struct {
	keyRow
	admitted int
	waiting  string // ids of the first waiting jobs, in the order of admission, with commas between
}

// readCounts reads keys with their jobs.
func readCounts(c *Change, ids []int64, how counting) ([]keyCount, error) {
	waiting := `
				select cast(job_id as text) as job
				from belfry.limit_jobs
				where key_id = k.id and stage = 1
				order by priority desc, job_id
				limit ` + strconv.Itoa(how.first)
	if how.first > 1 { // the aggregate would double the time of the query
		waiting = `select string_agg(w.job, ',') from (` + waiting + `) as w`
	}
	return base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (n keyCount, err error) {
		return n, rows.Scan(&n.ID, &n.Owner, &n.Name, &n.Value, &n.Next, &n.Look, &n.Stopped, &n.admitted, &n.waiting)
	}, `
		select `+keyColumns+`,
			(select count(*) from (select 1 from belfry.limit_jobs a where a.key_id = k.id and a.stage = 2 limit $2 + 0) as bounded),
			coalesce((`+waiting+`), '')
		from belfry.limit_keys k
		where `+c.SQL.In("k.id", 1), c.SQL.List(ids), how.most)
}

// takeCounts sets the counts of keys. Where they are not enough for a decision, it counts again, now that the limits are known.
func takeCounts(c *Change, locked map[int64]*lockedKey, counts []keyCount, how counting) error {
	short := how.most < mostRunning(locked)
	for _, n := range counts {
		k := locked[n.ID]
		k.admitted, k.rough, k.first = n.admitted, short, k.first[:0]
		for text := range strings.SplitSeq(n.waiting, ",") {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				k.first = append(k.first, id)
			}
		}
		most := how.first
		if k.gate.Strict { // a sequence admits no other job before its first one
			most = 1
		}
		k.hasMore = len(k.first) >= most
		k.first = k.first[:min(most, len(k.first))]
		k.hasWaiting = len(k.first) > 0
		if k.unlimited || k.gate.OnFailure == flow.SequenceGoesOn || k.gate.OnFailure == flow.SequenceSkips && !k.hasWaiting {
			k.stopped = 0
		}
	}
	if short {
		again := locked
		if how.rough {
			again = selected(locked, func(k *lockedKey) bool { return k.hasWaiting })
		}
		return c.count(again, counting{first: how.first})
	}
	var paced, leaseless []int64
	burst := 0
	for id, k := range locked {
		if k.gate.CountsUnbegun() {
			if burst = max(burst, k.gate.Pace.Burst()); k.gate.Leaseless {
				leaseless = append(leaseless, id)
			} else {
				paced = append(paced, id)
			}
		}
	}
	if err := c.countUnbegun(locked, paced, c.SQL.Unleased("a.job_id"), burst); err != nil {
		return err
	}
	return c.countUnbegun(locked, leaseless, `(select j.state from belfry.jobs j where j.id = a.job_id) = 'ready'`, burst)
}

// selected returns the keys for which is reports true.
func selected(locked map[int64]*lockedKey, is func(k *lockedKey) bool) map[int64]*lockedKey {
	some := maps.Clone(locked)
	maps.DeleteFunc(some, func(_ int64, k *lockedKey) bool { return !is(k) })
	return some
}

// countUnbegun counts the admitted jobs of keys that have not begun, up to most of each key.
func (c *Change) countUnbegun(locked map[int64]*lockedKey, ids []int64, unbegun string, most int) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var id int64
		var n int
		if err = rows.Scan(&id, &n); err == nil {
			locked[id].unbegun = n
		}
		return none, err
	}, `
		select k.id,
			(select count(*) from (select 1 from belfry.limit_jobs a where a.key_id = k.id and a.stage = 2 and `+unbegun+` limit $2 + 0) as bounded)
		from belfry.limit_keys k
		where `+c.SQL.In("k.id", 1), c.SQL.List(ids), most)
	return err
}

// savedKey is the new state of a limit key, as a row of a batch.
type savedKey struct {
	ID   int64 `json:"id"`
	Next int64 `json:"next_at"`
	Look int64 `json:"look_at"`
	Stop int64 `json:"stopped_by"`
}

// linger is how long the row of an empty key is kept: most keys are needed again.
const linger = time.Minute

// save writes the new state of keys. After a complete look (looked), a due look is done, and a key that is still empty is
// deleted.
func (c *Change) save(locked map[int64]*lockedKey, looked bool) error {
	now := base.Micros(c.Now)
	var saved []savedKey
	var idle []int64
	for id, k := range locked {
		look := k.Look
		due := looked && !k.secondary && look > 0 && look <= now
		switch empty := k.admitted == 0 && !k.hasWaiting && k.stopped == 0; {
		case k.look > 0 && (look == 0 || due || k.look < look):
			look = k.look
		case k.look > 0:
		case empty && due && k.next <= now && !k.jobLeft:
			idle = append(idle, id)
			look = 0
		case empty && (look == 0 || due):
			look = max(k.next, now+linger.Microseconds())
		case due:
			look = 0
		}
		if look != k.Look || k.next != k.Next || k.stopped != k.Stopped {
			saved = append(saved, savedKey{id, k.next, look, k.stopped})
		}
		if look > 0 && (k.Look == 0 || look < k.Look) {
			c.Wake(base.TopicEngine)
		}
	}
	if len(saved) > 0 {
		slices.SortFunc(saved, func(a, b savedKey) int { return int(a.ID - b.ID) })
		from, args := c.SQL.ManyTable(2, "t", base.BatchOf(saved))
		ids := make([]int64, len(saved))
		for i, s := range saved {
			ids[i] = s.ID
		}
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.limit_keys
			set next_at = t.next_at, look_at = t.look_at, stopped_by = t.stopped_by
			from `+from+`
			where belfry.limit_keys.id = t.id and `+c.SQL.Among("belfry.limit_keys.id", 1), append([]any{c.SQL.List(ids)}, args...)...); err != nil {
			return err
		}
	}
	if len(idle) == 0 {
		return nil
	}
	slices.Sort(idle)
	_, err := c.Tx.Exec(c.Ctx, `
		delete from belfry.limit_keys
		where `+c.SQL.In("id", 1)+` and (select count(*) from (select 1 from belfry.limit_jobs j where j.key_id = belfry.limit_keys.id limit 1) as one) = 0`, c.SQL.List(idle))
	return err
}
