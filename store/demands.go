package store

import (
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// demands are what tasks need of workers, as this process last saw them. There
// are few, and a row of them never changes, so a claim asks for the numbers of
// those that its session meets and leaves the rest to an index.
type demands struct {
	mu      sync.Mutex
	byText  map[string]int64
	byID    map[int64]belfry.Demand
	met     map[string][]int64 // by session
	again   time.Time          // by the monotonic clock
	renewed <-chan struct{}
}

const (
	// demandsFor is how long a demand that another process made may be unknown
	// here, if nobody told.
	demandsFor = time.Second
	// maxDemands bounds them. A demand is a set of labels, a machine and an
	// isolation, and thousands of tasks share a handful.
	maxDemands = 10_000
)

type demandRow struct {
	id   int64
	text string
	d    belfry.Demand
}

func scanDemand(rows Rows) (d demandRow, err error) {
	return d, rows.Scan(&d.id, &d.text, scanDoc{&d.d})
}

// demandOf is the number of what a task needs, and 0 when it needs nothing. A
// demand that is new is written down.
func (c *change) demandOf(t belfry.Task) (int64, error) {
	d := t.Demand()
	if d.IsZero() {
		return 0, nil
	}
	return c.demandID(d)
}

func (c *change) demandID(d belfry.Demand) (int64, error) {
	line := d.String()
	known := &c.s.demands
	known.mu.Lock()
	id, ok := known.byText[line]
	known.mu.Unlock()
	if ok {
		return id, nil
	}
	lookUp := func() (int64, bool, error) {
		return first(c.ctx, c.tx, scanInt, `select id from demands where text = $1`, line)
	}
	if id, found, err := lookUp(); err != nil || found {
		return id, err
	}
	n, _, err := first(c.ctx, c.tx, scanInt, `select count(*) from demands`)
	if err != nil {
		return 0, err
	}
	if n >= maxDemands {
		return 0, belfry.Errorf(belfry.TooLarge, "tasks need workers in %d different ways already", n).
			WithHint("let this one need what another does: labels stand for kinds of machines, not for single tasks")
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return 0, err
	}
	if _, err := c.tx.Exec(c.ctx, `insert into demands (id, text, doc) values ($1, $2, $3) on conflict (text) do nothing`, ids[0], line, text(d)); err != nil {
		return 0, err
	}
	c.after(known.forget)
	c.wake(topicDemands)
	id, _, err = lookUp() // somebody else may have been faster
	return id, err
}

// forget makes the next claim read them again.
func (k *demands) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again = time.Time{}
}

// metBy are the demands that a session meets.
func (c *change) metBy(w belfry.WorkerState) ([]int64, error) {
	known := &c.s.demands
	known.mu.Lock()
	fresh := time.Now().Before(known.again)
	select {
	case <-known.renewed:
		fresh = false
	default:
	}
	all := known.byID
	ids, judged := known.met[w.Session]
	known.mu.Unlock()
	if !fresh {
		news := c.s.hub.on(topicDemands)
		rows, err := collect(c.ctx, c.tx, scanDemand, `select id, text, doc from demands`)
		if err != nil {
			return nil, err
		}
		if len(rows) != len(all) {
			all, judged = make(map[int64]belfry.Demand, len(rows)), false
			for _, r := range rows {
				all[r.id] = r.d
			}
		}
		// After the commit: what this transaction sees may still be taken back,
		// and its numbers given to others.
		c.after(func() { known.learn(rows, all, news) })
	}
	if judged || len(all) == 0 {
		return ids, nil
	}
	ids = []int64{}
	for id, d := range all {
		if d.Meets(w.Has) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	c.after(func() { known.judged(w.Session, all, ids) })
	return ids, nil
}

func (k *demands) learn(rows []demandRow, all map[int64]belfry.Demand, news <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again, k.renewed = time.Now().Add(demandsFor), news
	if len(rows) == len(k.byID) { // none ever leaves
		return
	}
	k.byText, k.byID, k.met = make(map[string]int64, len(rows)), all, map[string][]int64{}
	for _, r := range rows {
		k.byText[r.text] = r.id
	}
}

func (k *demands) judged(session string, all map[int64]belfry.Demand, ids []int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(all) != len(k.byID) {
		return // there are others by now
	}
	if len(k.met) >= maxDocs || k.met == nil {
		k.met = map[string][]int64{}
	}
	k.met[session] = ids
}

// meets is the condition that a session has what a job needs. Nearly all need
// nothing.
func (c *change) meets(cond *where, ids []int64) {
	if len(ids) == 0 {
		cond.conds = append(cond.conds, "demand = 0")
		return
	}
	cond.and("(demand = 0 or "+c.sql.In("demand", len(cond.args)+1)+")", c.sql.List(ids))
}
