package limits

import (
	"cmp"
	"slices"
	"time"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/turns"
)

// rounds bounds the admissions of one transition; a pass of the engine goes on with what is left.
const rounds = 8

// candidate is one who waits and may come next.
type candidate struct {
	id       int64
	priority int
	at       *room
	under    []standing
}

// admit lets in who comes next under keys that are locked, as far as there is room, and answers how many that were.
func (c *Change) admit(rooms map[int64]*room) (admitted int, err error) {
	now := base.Micros(c.Now)
	var turned turns.Again // of all rounds, because keys of turns are locked in one order
	for round := 0; ; round++ {
		next, err := c.candidates(rooms)
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
		enters, moved, again := c.choose(rooms, next)
		if err := c.enter(enters, admitted, &turned); err != nil {
			return admitted, err
		}
		if err := c.move(moved); err != nil {
			return admitted, err
		}
		admitted += len(enters)
		if len(enters)+len(moved) == 0 {
			break
		}
		if err := c.count(again); err != nil {
			return admitted, err
		}
	}
	if err := c.turns().PlaceAgain(turned); err != nil {
		return admitted, err
	}
	return admitted, c.save(rooms, true)
}

// candidates are the heads of the keys that have room, with all their keys, which are locked. Heads that another
// transaction is changing are looked at later.
func (c *Change) candidates(rooms map[int64]*room) ([]*candidate, error) {
	now := base.Micros(c.Now)
	byID := map[int64]*candidate{}
	var ids []int64
	far := 0
	for _, r := range rooms {
		if len(r.heads) == 0 || !r.lets(now) {
			continue
		}
		heads := r.heads
		if r.crowded && r.space() > len(heads) && far < farKeys {
			far++
			var err error
			if heads, err = c.furtherHeads(r); err != nil {
				return nil, err
			}
		}
		for _, id := range heads {
			if byID[id] == nil {
				byID[id] = &candidate{id: id, at: r}
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	there, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where `+c.SQL.In("id", 1)+` and state = 'waiting' and limited = 1
		order by id`+c.SQL.SkipLocked("jobs"), c.SQL.List(ids))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, is := slices.BinarySearch(there, id); !is {
			byID[id].at.lookAt(now + busyLook.Microseconds())
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	under, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (s standing, err error) {
		return s, rows.Scan(&s.KeyID, &s.JobID, &s.Priority, &s.Stage)
	}, `select key_id, job_id, priority, stage from belfry.limit_jobs where `+c.SQL.In("job_id", 1)+` order by job_id, key_id`, c.SQL.List(there))
	if err != nil {
		return nil, err
	}
	var more []int64
	for _, s := range under {
		n := byID[s.JobID]
		n.priority, n.under = max(n.priority, s.Priority), append(n.under, s)
		if rooms[s.KeyID] == nil {
			more = append(more, s.KeyID)
		}
	}
	others, err := c.lock(base.Unique(more), false)
	if err != nil {
		return nil, err
	}
	for id, r := range others {
		r.visits = true
		rooms[id] = r
	}
	next := make([]*candidate, 0, len(there))
	for _, id := range there {
		n := byID[id]
		if slices.ContainsFunc(n.under, func(s standing) bool { return rooms[s.KeyID] == nil }) {
			n.at.lookAt(now + busyLook.Microseconds())
			continue
		}
		slices.SortStableFunc(n.under, func(a, b standing) int { // who passes it keeps its place in a sequence
			return base.Bit(rooms[b.KeyID].gate.Strict) - base.Bit(rooms[a.KeyID].gate.Strict)
		})
		next = append(next, n)
	}
	slices.SortFunc(next, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.id, b.id))
	})
	return next, nil
}

// Where a key has room for many, they are asked for by themselves: so many at once, and of so many keys.
const (
	farHeads = 500
	farKeys  = 8
)

// space is for how many at most a key may have room, within what is asked for at once.
func (r *room) space() int {
	if r.free || r.gate.Running == 0 {
		return farHeads
	}
	return min(farHeads, r.gate.Running-r.entered)
}

func (c *Change) furtherHeads(r *room) ([]int64, error) {
	return base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select job_id
		from belfry.limit_jobs
		where key_id = $1 and stage = 1
		order by priority desc, job_id
		limit $2 + 0`, r.ID, r.space())
}

// busyLook is how soon to look again at what another transaction was changing.
const busyLook = 20 * time.Millisecond

// choose decides of candidates who enters, and who waits under another key from now on. Only the keys under which others
// may be next whom it has not read are to be counted again: of the rest it knows what has become of them under their locks.
func (c *Change) choose(rooms map[int64]*room, next []*candidate) (enters, moved []*candidate, again map[int64]*room) {
	now := base.Micros(c.Now)
	again = map[int64]*room{}
	for _, n := range next {
		from := n.at
		var stops *room
		passes := 0
		for _, s := range n.under {
			r := rooms[s.KeyID]
			if s.Stage != entered && !r.lets(now) {
				stops = r
				break
			}
			passes++
		}
		if stops == n.at {
			continue
		}
		for i := range n.under { // those of sequences come first
			s := &n.under[i]
			if r := rooms[s.KeyID]; s.Stage != entered && (stops == nil || r.gate.Strict && i < passes) {
				s.Stage = entered
				r.enter(now)
			}
		}
		if stops == nil {
			enters = append(enters, n)
		} else {
			n.at = stops
			moved = append(moved, n)
			again[stops.ID] = stops
		}
		from.heads = slices.DeleteFunc(from.heads, func(id int64) bool { return id == n.id })
		from.waits = from.crowded || len(from.heads) > 0
		if from.crowded && from.lets(now) {
			again[from.ID] = from
		}
	}
	return enters, moved, again
}

// enter makes jobs ready, and adds those whose turns are to be placed.
func (c *Change) enter(all []*candidate, before int, turned *turns.Again) error {
	if len(all) == 0 {
		return nil
	}
	type readyRow struct {
		ID      int64 `json:"id"`
		ReadyAt int64 `json:"ready_at"`
	}
	ids, rows := make([]int64, len(all)), make([]readyRow, len(all))
	for i, n := range all {
		ids[i], rows[i] = n.id, readyRow{n.id, base.Micros(c.Now) + int64(before+i)}
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	queues, err := base.Collect(c.Ctx, c.Tx, turned.Scan, `
		update belfry.jobs
		set state = 'ready', reason = '', ready_at = t.ready_at, turn = t.ready_at
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1)+`
		returning case when belfry.jobs.kind in ('cycle', 'workflow') then '' else belfry.jobs.queue end, belfry.jobs.id, `+turns.BaseOf, append([]any{c.SQL.List(ids)}, args...)...)
	if err != nil {
		return err
	}
	for _, q := range base.Unique(queues) {
		if q == "" { // the engine begins it, and no worker
			c.Wake(base.TopicEngine)
			continue
		}
		c.Wake(base.TopicQueue(q))
	}
	c.Wake(base.TopicJobs)
	_, err = c.Tx.Exec(c.Ctx, `update belfry.limit_jobs set stage = 2 where `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return err
}

// move has jobs wait under other keys.
func (c *Change) move(all []*candidate) error {
	if len(all) == 0 {
		return nil
	}
	var rows []standing
	ids := make([]int64, len(all))
	for i, n := range all {
		ids[i] = n.id
		for _, s := range n.under {
			switch {
			case s.KeyID == n.at.ID:
				s.Stage = parked
			case s.Stage != entered:
				s.Stage = passed
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
