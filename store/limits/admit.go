package limits

import (
	"cmp"
	"slices"
	"time"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/turns"
)

// rounds bounds the rounds of admission in one transition. The engine admits the remaining jobs in its next pass.
const rounds = 8

// candidate is a waiting job that may be admitted.
type candidate struct {
	id       int64
	priority int
	at       *lockedKey // the key under which it waits
	under    []keyJob   // its stages under all its keys
}

// admit admits the next waiting jobs of locked keys, up to their capacity, and returns the number of admitted jobs.
func (c *Change) admit(locked map[int64]*lockedKey) (admitted int, err error) {
	now := base.Micros(c.Now)
	var turned turns.Again // of all rounds, because keys of fair queues are locked in one order
	for round := 0; ; round++ {
		next, err := c.candidates(locked, round == 0)
		if err != nil {
			return admitted, err
		}
		if len(next) == 0 {
			break
		}
		if round == rounds {
			for _, n := range next {
				n.at.lookAt(now)
			}
			break
		}
		chosen, moved, again := c.choose(locked, next)
		if err := c.makeReady(chosen, admitted, &turned); err != nil {
			return admitted, err
		}
		if err := c.move(moved); err != nil {
			return admitted, err
		}
		admitted += len(chosen)
		if len(chosen)+len(moved) == 0 {
			break
		}
		if err := c.count(again, counting{first: firstWaiting}); err != nil {
			return admitted, err
		}
	}
	if err := c.turns().PlaceAgain(turned); err != nil {
		return admitted, err
	}
	return admitted, c.save(locked, true)
}

// candidates returns the first waiting jobs of the keys that have capacity, and locks all keys of these jobs. If another
// transaction is changing a job or has locked one of its keys, the job is left for a later look. If few is set, a key has no
// more candidates than it can admit: most of them have capacity under their other keys.
func (c *Change) candidates(locked map[int64]*lockedKey, few bool) ([]*candidate, error) {
	now := base.Micros(c.Now)
	byID := map[int64]*candidate{}
	var ids []int64
	further := 0
	for _, k := range locked {
		if len(k.first) == 0 || !k.admits(now) {
			continue
		}
		waiting := k.first
		if k.hasMore && k.capacity() > len(waiting) && further < furtherKeys {
			further++
			var err error
			if waiting, err = c.furtherWaiting(k); err != nil {
				return nil, err
			}
		}
		if few {
			waiting = waiting[:min(len(waiting), k.capacity())]
		}
		for _, id := range waiting {
			if byID[id] == nil {
				byID[id] = &candidate{id: id, at: k}
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	under, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (s keyJob, err error) {
		return s, rows.Scan(&s.KeyID, &s.JobID, &s.Priority, &s.Stage)
	}, `
		select l.key_id, l.job_id, l.priority, l.stage
		from belfry.jobs j
		join belfry.limit_jobs l on l.job_id = j.id
		where `+c.SQL.In("j.id", 1)+` and j.state = 'waiting' and j.limited = 1
		order by j.id, l.key_id`+c.SQL.SkipLocked("j"), c.SQL.List(ids))
	if err != nil {
		return nil, err
	}
	var more []int64
	for _, s := range under {
		n := byID[s.JobID]
		n.priority, n.under = max(n.priority, s.Priority), append(n.under, s)
		if locked[s.KeyID] == nil {
			more = append(more, s.KeyID)
		}
	}
	others, err := c.lock(base.Unique(more), false, counting{first: firstWaiting})
	if err != nil {
		return nil, err
	}
	for id, k := range others {
		k.secondary, locked[id] = true, k
	}
	rough := map[int64]*lockedKey{}
	for _, s := range under {
		if k := locked[s.KeyID]; k != nil && k.rough {
			rough[s.KeyID] = k
		}
	}
	if err := c.count(rough, counting{first: 1}); err != nil {
		return nil, err
	}
	next := make([]*candidate, 0, len(ids))
	for _, id := range ids {
		n := byID[id]
		if len(n.under) == 0 || slices.ContainsFunc(n.under, func(s keyJob) bool { return locked[s.KeyID] == nil }) { // another transaction has locked the job, or a key of it
			n.at.lookAt(now + busyLook.Microseconds())
			continue
		}
		slices.SortStableFunc(n.under, func(a, b keyJob) int { // sequences first: a job keeps its place in each sequence that admits it
			return base.Bit(locked[b.KeyID].gate.Strict) - base.Bit(locked[a.KeyID].gate.Strict)
		})
		next = append(next, n)
	}
	slices.SortFunc(next, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.id, b.id))
	})
	return next, nil
}

// A key with capacity for many jobs gets a query of its own. Such a query reads at most furtherJobs jobs; one round has at
// most furtherKeys queries.
const (
	furtherJobs = 500
	furtherKeys = 8
)

// capacity is how many more jobs the running limit of a key may admit, up to furtherJobs.
func (k *lockedKey) capacity() int {
	if k.unlimited || k.gate.Running == 0 {
		return furtherJobs
	}
	return min(furtherJobs, k.gate.Running-k.admitted)
}

func (c *Change) furtherWaiting(k *lockedKey) ([]int64, error) {
	return base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select job_id
		from belfry.limit_jobs
		where key_id = $1 and stage = 1
		order by priority desc, job_id
		limit $2 + 0`, k.ID, k.capacity())
}

// busyLook is the delay before the next look at a job that another transaction is changing.
const busyLook = 20 * time.Millisecond

// choose decides which candidates are admitted (chosen), and which of them wait under another key from now on (moved). It
// returns in again the keys to count again: those whose next waiting jobs have not been read.
func (c *Change) choose(locked map[int64]*lockedKey, next []*candidate) (chosen, moved []*candidate, again map[int64]*lockedKey) {
	now := base.Micros(c.Now)
	again = map[int64]*lockedKey{}
	for _, n := range next {
		from := n.at
		var full *lockedKey
		passes := 0
		for _, s := range n.under {
			k := locked[s.KeyID]
			if s.Stage != stageAdmitted && !k.admits(now) {
				full = k
				break
			}
			passes++
		}
		if full == n.at {
			continue
		}
		for i := range n.under { // sequences come first
			s := &n.under[i]
			if k := locked[s.KeyID]; s.Stage != stageAdmitted && (full == nil || k.gate.Strict && i < passes) {
				s.Stage = stageAdmitted
				k.admitOne(now)
			}
		}
		if full == nil {
			chosen = append(chosen, n)
		} else {
			n.at = full
			moved = append(moved, n)
			again[full.ID] = full
		}
		from.first = slices.DeleteFunc(from.first, func(id int64) bool { return id == n.id })
		from.hasWaiting = from.hasMore || len(from.first) > 0
		if from.hasMore && from.admits(now) {
			again[from.ID] = from
		}
	}
	return chosen, moved, again
}

// makeReady makes admitted jobs ready, and adds the jobs of fair queues to turned.
func (c *Change) makeReady(all []*candidate, before int, turned *turns.Again) error {
	if len(all) == 0 {
		return nil
	}
	ids := make([]int64, len(all))
	for i, n := range all {
		ids[i] = n.id
	}
	// All jobs of a round have one turn: jobs with equal turns are claimed in the order of their ids, the order of admission.
	queues, err := base.Collect(c.Ctx, c.Tx, turned.Scan, `
		update belfry.jobs
		set state = 'ready', reason = '', ready_at = $2, turn = $2
		where `+c.SQL.In("id", 1)+`
		returning case when kind in ('cycle', 'workflow') then '' else queue end, id, `+turns.BaseOf, c.SQL.List(ids), base.Micros(c.Now)+int64(before))
	if err != nil {
		return err
	}
	for _, q := range base.Unique(queues) {
		if q == "" { // the engine runs these jobs, not a worker
			c.Wake(base.TopicEngine)
			continue
		}
		c.Wake(base.TopicQueue(q))
	}
	c.Wake(base.TopicJobs)
	_, err = c.Tx.Exec(c.Ctx, `update belfry.limit_jobs set stage = 2 where `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return err
}

// move lets jobs wait under other keys.
func (c *Change) move(all []*candidate) error {
	if len(all) == 0 {
		return nil
	}
	var rows []keyJob
	ids := make([]int64, len(all))
	for i, n := range all {
		ids[i] = n.id
		for _, s := range n.under {
			switch {
			case s.KeyID == n.at.ID:
				s.Stage = stageWaiting
			case s.Stage != stageAdmitted:
				s.Stage = stageElsewhere
			}
			rows = append(rows, s)
		}
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.limit_jobs
		set stage = t.stage
		from `+from+`
		where belfry.limit_jobs.job_id = t.job_id and belfry.limit_jobs.key_id = t.key_id and `+c.SQL.Among("belfry.limit_jobs.job_id", 1),
		append([]any{c.SQL.List(ids)}, args...)...)
	return err
}
