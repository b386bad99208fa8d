package limits

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// keyRow is a key of a limit.
type keyRow struct {
	ID          int64
	Owner, Name string
	Key         string
	Next        int64 // where its row of starts is
	Look        int64 // when to look at it again; 0: never
	Stopped     int64 // of a sequence: the job that failed
}

const keyColumns = `k.id, k.owner, k.name, k.value, k.next_at, k.look_at, k.stopped_by`

func scanKey(rows base.Rows) (k keyRow, err error) {
	return k, rows.Scan(&k.ID, &k.Owner, &k.Name, &k.Key, &k.Next, &k.Look, &k.Stopped)
}

// heads is how many of those who wait under a key are looked at together.
const heads = 4

// room is a key under its lock, and what it has room for.
type room struct {
	keyRow
	gate    job.Gate
	free    bool // its limit is no more
	entered int
	unbegun int // ready, without a lease
	heads   []int64
	crowded bool // more wait under it than the heads
	waits   bool // one at least does
	visits  bool // it is locked for a job that waits elsewhere, and is not looked at itself
	left    bool // a job has left it just now

	next    int64 // [keyRow.Next] as it will be
	stopped int64 // [keyRow.Stopped] as it will be
	look    int64 // when it must be looked at, as far as is known; 0: not by itself

	rest time.Duration // how long others of a sequence are left alone, which another transaction was changing
}

// lateLook is how soon to look again for a worker to have begun what was admitted.
const lateLook = 50 * time.Millisecond

// lets reports that one more may enter. A rate that lets none in says when to look again, and so does a sequence whose
// others are to be skipped.
func (r *room) lets(now int64) bool {
	if r.free {
		return true
	}
	if r.gate.Strict && r.stopped != 0 {
		if r.gate.OnFailure == flow.SequenceSkips {
			r.lookAt(now + r.rest.Microseconds())
		}
		return false
	}
	if r.gate.Running > 0 && r.entered >= r.gate.Running {
		return false
	}
	if r.gate.Pace.IsZero() {
		return true
	}
	if r.unbegun >= r.gate.Pace.Burst() { // or a backlog would begin at once when a worker comes
		r.lookAt(now + max(lateLook.Microseconds(), min(r.gate.Pace.Every, time.Second.Microseconds())))
		return false
	}
	if _, ok, from := r.gate.Pace.Take(r.next, now); !ok {
		r.lookAt(from)
		return false
	}
	return true
}

// enter counts one that enters.
func (r *room) enter(now int64) {
	r.entered++
	r.unbegun++
	if !r.free && !r.gate.Pace.IsZero() {
		r.next, _, _ = r.gate.Pace.Take(r.next, now)
	}
}

func (r *room) lookAt(at int64) {
	if r.look == 0 || at < r.look {
		r.look = at
	}
}

// locked says that a transition has locked keys.
type locked struct{ any bool }

// holds reports that this transition has locked keys, or those of turns. It must not wait for others then: their holder
// may wait for its own. With one writer, no other transition has any.
func holds(c *Change) bool {
	return c.s.Far && (base.Kept[locked](c.Change).any || c.turns().Holds())
}

// lock locks keys in the order of their ids, or those of them that are not locked yet, and reads them.
func (c *Change) lock(ids []int64, wait bool) (map[int64]*room, error) {
	if len(ids) == 0 {
		return map[int64]*room{}, nil
	}
	how := c.SQL.ForUpdate("k")
	if !wait {
		how = c.SQL.SkipLocked("k")
	}
	rows, err := base.Collect(c.Ctx, c.Tx, scanKey, `
		select `+keyColumns+`
		from belfry.limit_keys k
		where `+c.SQL.In("k.id", 1)+`
		order by k.id`+how, c.SQL.List(ids))
	if err != nil {
		return nil, err
	}
	rooms, err := roomsOf(c, rows)
	if err != nil {
		return nil, err
	}
	return rooms, c.count(rooms)
}

// roomsOf are keys that are locked, as if nothing were under them.
func roomsOf(c *Change, rows []keyRow) (map[int64]*room, error) {
	var of owners
	for _, k := range rows {
		of.add(k.Owner)
		base.Kept[locked](c.Change).any = true
	}
	gates, err := c.gates(of)
	if err != nil {
		return nil, err
	}
	rooms := make(map[int64]*room, len(rows))
	for _, k := range rows {
		r := &room{keyRow: k, next: k.Next, stopped: k.Stopped}
		i := slices.IndexFunc(gates[k.Owner], func(g job.Gate) bool { return g.Name == k.Name })
		if r.free = i < 0; !r.free {
			r.gate = gates[k.Owner][i]
		}
		if p := r.gate.Pace; !p.IsZero() {
			r.next = p.Near(r.next, base.Micros(c.Now))
		}
		rooms[k.ID] = r
	}
	return rooms, nil
}

// count reads under the locks what has entered and who comes next.
func (c *Change) count(rooms map[int64]*room) error {
	if len(rooms) == 0 {
		return nil
	}
	var paced, leaseless []int64
	ids := make([]int64, 0, len(rooms))
	most, burst := 1, 0
	for id, r := range rooms {
		ids = append(ids, id)
		most = max(most, r.gate.Running)
		if r.gate.CountsUnbegun() {
			if burst = max(burst, r.gate.Pace.Burst()); r.gate.Leaseless {
				leaseless = append(leaseless, id)
			} else {
				paced = append(paced, id)
			}
		}
	}
	slices.Sort(ids)
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var id, entered int64
		var waiting string
		if err := rows.Scan(&id, &entered, &waiting); err != nil {
			return none, err
		}
		r := rooms[id]
		r.entered, r.heads = int(entered), r.heads[:0]
		for text := range strings.SplitSeq(waiting, ",") {
			if head, err := strconv.ParseInt(text, 10, 64); err == nil {
				r.heads = append(r.heads, head)
			}
		}
		at := heads
		if r.gate.Strict { // the others are not next whatever becomes of the first
			at = 1
		}
		r.crowded = len(r.heads) > at
		r.heads = r.heads[:min(at, len(r.heads))]
		r.waits = len(r.heads) > 0
		if r.free || r.gate.OnFailure == flow.SequenceGoesOn || r.gate.OnFailure == flow.SequenceSkips && !r.waits {
			r.stopped = 0
		}
		return none, nil
	}, `
		select k.id,
			(select count(*) from (select 1 from belfry.limit_jobs a where a.key_id = k.id and a.stage = 2 limit $2 + 0) as bounded),
			coalesce((
				select string_agg(cast(w.job_id as text), ',')
				from (
					select job_id
					from belfry.limit_jobs
					where key_id = k.id and stage = 1
					order by priority desc, job_id
					limit `+strconv.Itoa(heads+1)+`) as w), '')
		from belfry.limit_keys k
		where `+c.SQL.In("k.id", 1), c.SQL.List(ids), most)
	if err != nil {
		return err
	}
	if err := c.countUnbegun(rooms, paced, c.SQL.Unleased("a.job_id"), burst); err != nil {
		return err
	}
	return c.countUnbegun(rooms, leaseless, `(select j.state from belfry.jobs j where j.id = a.job_id) = 'ready'`, burst)
}

// countUnbegun counts, up to a number, the jobs that have entered and have not begun.
func (c *Change) countUnbegun(rooms map[int64]*room, ids []int64, unbegun string, most int) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var id int64
		var n int
		if err = rows.Scan(&id, &n); err == nil {
			rooms[id].unbegun = n
		}
		return none, err
	}, `
		select k.id,
			(select count(*) from (select 1 from belfry.limit_jobs a where a.key_id = k.id and a.stage = 2 and `+unbegun+` limit $2 + 0) as bounded)
		from belfry.limit_keys k
		where `+c.SQL.In("k.id", 1), c.SQL.List(ids), most)
	return err
}

// savedKey is what changes of a key, as a batch carries it.
type savedKey struct {
	ID   int64 `json:"id"`
	Next int64 `json:"next_at"`
	Look int64 `json:"look_at"`
	Stop int64 `json:"stopped_by"`
}

// linger is how long an unneeded key stays: most are needed again.
const linger = time.Minute

// save writes what has become of keys. Where all that could be let in has been, a look that is due has been made, and
// keys that are empty then, and were before, are forgotten.
func (c *Change) save(rooms map[int64]*room, looked bool) error {
	now := base.Micros(c.Now)
	var saved []savedKey
	var idle []int64
	for id, r := range rooms {
		look := r.Look
		due := looked && !r.visits && look > 0 && look <= now
		switch empty := r.entered == 0 && !r.waits && r.stopped == 0; {
		case r.look > 0 && (look == 0 || due || r.look < look):
			look = r.look
		case r.look > 0:
		case empty && due && r.next <= now && !r.left:
			idle = append(idle, id)
			look = 0
		case empty && (look == 0 || due):
			look = max(r.next, now+linger.Microseconds())
		case due:
			look = 0
		}
		if look != r.Look || r.next != r.Next || r.stopped != r.Stopped {
			saved = append(saved, savedKey{id, r.next, look, r.stopped})
		}
		if look > 0 && (r.Look == 0 || look < r.Look) {
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
