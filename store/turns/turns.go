// Package turns gives each ready job its turn: its place in the order of claims. In most queues, the turn is the instant at
// which the job became ready. In a fair queue ([flow.Fair]), keys take turns. A row of turn_keys has the smallest turn that the
// next job of a key may get; its jobs are placed under the lock of that row. A row of turns has, for each queue and priority,
// the largest turn that was claimed (its progress).
//
// A queue that becomes fair, or is no longer fair, begins an era: its turns come after all turns of the era before, so jobs that
// already wait are claimed first. [job.Queue.TurnBase] is the begin of the present era; it is 0 in the first era of a queue.
package turns

import (
	"cmp"
	"slices"
	"sync"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/task"
)

// Store keeps the turns.
type Store struct {
	*base.Store
	queues *queues.Store

	mu    sync.Mutex
	lines map[line]*progress
	tidy  [3]any // the last key that Prune has checked
}

// New returns the part of a store that keeps turns.
func New(b *base.Store, queues *queues.Store) *Store {
	return &Store{Store: b, queues: queues, lines: map[line]*progress{}, tidy: firstKey}
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// special returns the named queues whose turns may differ from the instants at which jobs become ready. It may return others.
func (c *Change) special(names ...string) (map[string]job.Queue, error) {
	all, err := c.s.queues.In(c.Change).Special(names, nil)
	return all.Queues, err
}

// Entry is a job that becomes ready.
type Entry struct {
	Job     *job.Job
	ReadyAt int64
	Turn    int64 // the result of Place

	value *string // of the key, if it was kept
}

// Keep keeps the value of the job's key in a queue, and drops the job's input: jobs that become ready are many, and their inputs
// may be large.
func (e *Entry) Keep(q job.Queue) {
	if k, is := keyOf(q, e); is {
		e.value = &k.value
	}
	e.Job.Input = nil
}

// keyRow is what the jobs of a key that become ready together add to the key, as a row of a batch.
type keyRow struct {
	Queue    string `json:"queue"`
	Priority int    `json:"priority"`
	Value    string `json:"value"`
	Reached  int64  `json:"reached"`
	Added    int64  `json:"added"`
}

type keyName struct {
	queue    string
	priority int
	value    string
}

func compareKeys(a, b keyName) int {
	return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.priority, b.priority), cmp.Compare(a.value, b.value))
}

// keyOf returns the key of a job in a fair queue. Jobs of other queues, and jobs that the engine runs, have none.
func keyOf(q job.Queue, e *Entry) (k keyName, is bool) {
	j := e.Job
	if q.Fair == nil || task.RunByEngine(j.Kind) {
		return k, false
	}
	if e.value != nil {
		return keyName{q.Name, j.Priority, *e.value}, true
	}
	return keyName{q.Name, j.Priority, q.Fair.ValueOf(flow.KeySource{Namespace: j.Namespace, Task: j.Task, Queue: j.Queue, Input: j.Input})}, true
}

// locked are the keys that a transition has locked.
type locked map[keyName]bool

// Holds reports whether this transition has locked keys. Limit keys are locked before keys of fair queues: a transition that
// holds keys here and waits for a limit key could deadlock.
func (c *Change) Holds() bool { return len(*base.Kept[locked](c.Change)) > 0 }

// inOrder reports whether a key can be locked now: this transition has locked it already, or it comes after all keys that this
// transition has locked.
func (c *Change) inOrder(k keyName) bool {
	has := *base.Kept[locked](c.Change)
	if has[k] || !c.s.Far { // with one writer, no two transitions wait for each other
		return true
	}
	for h := range has {
		if compareKeys(h, k) > 0 {
			return false
		}
	}
	return true
}

// Place gives jobs their turns, in the given order. It locks the keys of jobs in fair queues.
func (c *Change) Place(special map[string]job.Queue, es []*Entry) error {
	keys := map[keyName][]*Entry{}
	for _, e := range es {
		q := special[e.Job.Queue]
		e.Turn = q.TurnBase + e.ReadyAt
		if k, is := keyOf(q, e); is {
			keys[k] = append(keys[k], e)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	has := base.Kept[locked](c.Change)
	if *has == nil {
		*has = make(locked, len(keys))
	}
	rows := make([]keyRow, 0, len(keys))
	for k, es := range keys {
		(*has)[k] = true
		q := special[k.queue]
		rows = append(rows, keyRow{k.queue, k.priority, k.value, c.s.reached(q, k.priority), q.Fair.Cost(k.value) * int64(len(es))})
	}
	slices.SortFunc(rows, func(a, b keyRow) int {
		return compareKeys(keyName{a.Queue, a.Priority, a.Value}, keyName{b.Queue, b.Priority, b.Value})
	})
	from, args := base.Spread(c.SQL, 1, rows)
	type after struct {
		keyName
		next int64
	}
	// The statement computes [flow.Turns] under the lock of each key. Keys are locked in the order of the batch, which does
	// not depend on the collation of the database.
	all, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (a after, err error) {
		return a, rows.Scan(&a.queue, &a.priority, &a.value, &a.next)
	}, `
		insert into belfry.turn_keys (queue, priority, value, next, added)
		select t.queue, t.priority, t.value, t.added + coalesce((
			select r.turn from belfry.turns r where r.queue = t.queue and r.priority = t.priority and r.turn > t.reached), t.reached), t.added
		from `+from+`
		where true
		on conflict (queue, priority, value) do update
		set next = case when belfry.turn_keys.next + excluded.added > excluded.next then belfry.turn_keys.next + excluded.added else excluded.next end,
			added = excluded.added
		returning queue, priority, value, next`, args...)
	if err != nil {
		return err
	}
	for _, a := range all {
		es := keys[a.keyName]
		cost := special[a.queue].Fair.Cost(a.value)
		for i, e := range es {
			e.Turn = a.next - cost*int64(len(es)-i)
		}
	}
	return nil
}

// turnRow is a job and its turn, as a row of a batch.
type turnRow struct {
	ID   int64 `json:"id"`
	Turn int64 `json:"turn"`
}

// BaseOf is an SQL expression for the turn base of the queue of a job, for [Again].
const BaseOf = `coalesce((select q.turn_base from belfry.queues q where q.name = belfry.jobs.queue), 0)`

// Again collects jobs that a statement made ready with ready_at as their turn, although their queues may need another turn.
type Again struct {
	Last int64 // id of the job that was scanned last

	ids    []int64
	queues []string
}

// Scan scans a text, the id of a job, and its [BaseOf].
func (a *Again) Scan(rows base.Rows) (text string, err error) {
	var era int64
	if err = rows.Scan(&text, &a.Last, &era); era > 0 {
		a.ids, a.queues = append(a.ids, a.Last), append(a.queues, text)
	}
	return text, err
}

// Add adds the jobs of another statement.
func (a *Again) Add(b Again) {
	a.ids, a.queues = append(a.ids, b.ids...), append(a.queues, b.queues...)
}

// PlaceAgain gives ready jobs their turns. A job whose key cannot be locked in order is scheduled, as in [Change.New].
func (c *Change) PlaceAgain(a Again) error {
	if len(a.ids) == 0 {
		return nil
	}
	special, err := c.special(a.queues...)
	if err != nil || len(special) == 0 {
		return err
	}
	jobs, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (e *Entry, err error) {
		e = &Entry{Job: &job.Job{}}
		var input *string
		err = rows.Scan(&e.Job.ID, &e.Job.Namespace, &e.Job.Task, (*string)(&e.Job.Kind), &e.Job.Queue, &e.Job.Priority, &input, &e.ReadyAt)
		e.Job.Input = base.RawJSON(input)
		e.Keep(special[e.Job.Queue])
		return e, err
	}, `
		select id, namespace, task, kind, queue, priority, input, ready_at
		from belfry.jobs
		where `+c.SQL.In("id", 1)+` and state = 'ready'
		order by ready_at, id`, c.SQL.List(a.ids))
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(e *Entry) bool {
		_, is := special[e.Job.Queue]
		return !is
	})
	jobs, err = c.setAside(special, jobs)
	if err != nil || len(jobs) == 0 {
		return err
	}
	if err := c.Place(special, jobs); err != nil {
		return err
	}
	rows, placed := make([]turnRow, len(jobs)), make([]int64, len(jobs))
	for i, e := range jobs {
		rows[i], placed[i] = turnRow{e.Job.ID, e.Turn}, e.Job.ID
	}
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(rows))
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set turn = t.turn
		from `+from+`
		where belfry.jobs.id = t.id and `+c.SQL.Among("belfry.jobs.id", 1), append([]any{c.SQL.List(placed)}, args...)...)
	return err
}

// setAside schedules the ready jobs whose keys cannot be locked in order, and returns the others.
func (c *Change) setAside(special map[string]job.Queue, es []*Entry) (placed []*Entry, err error) {
	var late []int64
	for _, e := range es {
		if k, is := keyOf(special[e.Job.Queue], e); is && !c.inOrder(k) {
			late = append(late, e.Job.ID)
		} else {
			placed = append(placed, e)
		}
	}
	if len(late) == 0 {
		return placed, nil
	}
	c.Wake(base.TopicEngine)
	_, err = c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set state = 'scheduled', ready_at = 0, turn = 0, due_at = case when due_at > $2 then $2 else due_at end
		where `+c.SQL.In("id", 1), c.SQL.List(late), base.Micros(c.Now))
	return placed, err
}

// New returns the turns of n new jobs, of those that are ready now; nil if no queue has turns of its own. In a transaction of
// the caller, which may be long, no key is locked: jobs of fair queues are scheduled, and the engine makes them ready. The same
// holds for a job whose key comes before a key that this transition has locked: to wait for it could be a deadlock.
func (c *Change) New(n int, at func(i int) *job.Job) ([]int64, error) {
	names := make([]string, 0, 1)
	for i := range n {
		if j, last := at(i), len(names)-1; j.State == job.Ready && (last < 0 || names[last] != j.Queue) {
			names = append(names, j.Queue)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	special, err := c.special(names...)
	if err != nil || len(special) == 0 {
		return nil, err
	}
	es := make([]*Entry, 0, n)
	all := make([]Entry, n)
	for i := range all {
		e := &all[i]
		if e.Job, e.ReadyAt = at(i), base.Micros(c.Now); e.Job.State != job.Ready {
			continue
		}
		q := special[e.Job.Queue]
		if k, is := keyOf(q, e); c.Foreign && q.Fair != nil || is && !c.inOrder(k) {
			e.Job.State = job.Scheduled
			continue
		}
		es = append(es, e)
	}
	err = c.Place(special, es)
	turns := make([]int64, n)
	for i := range all {
		turns[i] = all[i].Turn
	}
	return turns, err
}

// Again returns the turn of a job that is ready again after an attempt. In a fair queue, the job goes to the front if its key
// has paid for it. If not, the turn is 0: the engine has to make the job ready, for which its key pays.
func (c *Change) Again(j *job.Job, paid bool) (int64, error) {
	special, err := c.special(j.Queue)
	if err != nil {
		return 0, err
	}
	q := special[j.Queue]
	switch {
	case q.Fair == nil:
		return q.TurnBase + base.Micros(c.Now), nil
	case !paid:
		return 0, nil
	}
	turn, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select turn from belfry.turns where queue = $1 and priority = $2`, q.Name, j.Priority)
	return max(turn, c.s.reached(q, j.Priority)), err
}

// firstKey sorts before all keys.
var firstKey = [3]any{"", -1_000_000, ""}

// Prune deletes keys whose next turn is not after the largest claimed turn: their rows have no effect. One call checks
// up to [base.TidyStep] keys.
func (c *Change) Prune() (more bool, err error) {
	if err := c.writeAll(); err != nil {
		return false, err
	}
	c.s.mu.Lock()
	from := c.s.tidy
	c.s.mu.Unlock()
	end, some, err := base.First(c.Ctx, c.Tx, func(rows base.Rows) (k [3]any, err error) {
		var n keyName
		err = rows.Scan(&n.queue, &n.priority, &n.value)
		return [3]any{n.queue, n.priority, n.value}, err
	}, `
		select queue, priority, value
		from belfry.turn_keys
		where (queue, priority, value) > ($1, $2, $3)
		order by queue, priority, value
		limit 1 offset $4 + 0`, from[0], from[1], from[2], base.TidyStep)
	if err != nil {
		return false, err
	}
	upTo, args := ``, []any{from[0], from[1], from[2]}
	if some {
		upTo, args = ` and (k.queue, k.priority, k.value) <= ($4, $5, $6)`, append(args, end[0], end[1], end[2])
	}
	_, err = c.Tx.Exec(c.Ctx, `
		delete from belfry.turn_keys
		where (queue, priority, value) in (
			select k.queue, k.priority, k.value
			from belfry.turn_keys k
			where (k.queue, k.priority, k.value) > ($1, $2, $3)`+upTo+`
				and k.next <= (select r.turn from belfry.turns r where r.queue = k.queue and r.priority = k.priority)`+c.SQL.SkipLocked("k")+`)`, args...)
	c.After(func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if c.s.tidy = firstKey; some {
			c.s.tidy = end
		}
	})
	return some, err
}
