package tasks

import (
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// requirements caches the requirements of tasks on workers. There are few, and the meaning of a number never changes. So a
// claim asks for the numbers that its session meets, and an index does the rest.
//
// An unused requirement is first marked idle, and deleted a day later. A task that needs an idle requirement wakes it in the
// same transaction. A node may use a cached one that was not idle lately without a look.
type requirements struct {
	mu      sync.Mutex
	byText  map[string]int64 // without idle ones
	byID    map[int64]task.Requirement
	met     map[string][]int64 // by session
	again   time.Time          // next read, by the monotonic clock
	until   time.Time          // end of the use of byText, likewise
	renewed <-chan struct{}
}

const (
	// requirementsFor is the longest time for which a requirement from another process is unknown here, if no announcement
	// came.
	requirementsFor = time.Second
	// rememberedFor is the time for which a number may be used without another look.
	rememberedFor = time.Hour
	// keepRequirements is the time until an idle requirement is deleted. It is longer than rememberedFor, and than any
	// transaction that used it.
	keepRequirements = 24 * time.Hour
	// maxRequirements bounds the requirements. A requirement is a set of labels, a machine and an isolation, and thousands of
	// tasks share a handful.
	maxRequirements = 10_000
)

type requirementRow struct {
	id   int64
	text string
	d    task.Requirement
	idle int64
}

func scanRequirement(rows base.Rows) (d requirementRow, err error) {
	return d, rows.Scan(&d.id, &d.text, base.ScanDoc(&d.d), &d.idle)
}

// requirementOf returns the number of a task's requirement, or 0 if there is none. A new requirement is stored.
func (c *Change) requirementOf(t task.Task) (int64, error) {
	d := t.Requirement()
	if d.IsZero() {
		return 0, nil
	}
	return c.RequirementID(d)
}

// RequirementID returns the number of a requirement, and creates it if it is new.
func (c *Change) RequirementID(d task.Requirement) (int64, error) {
	line := d.String()
	known := &c.s.requirements
	if id, ok := known.number(line); ok {
		return id, nil
	}
	if id, err := c.wakeRequirement(line); err != nil || id > 0 {
		return id, err
	}
	n, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `select count(*) from belfry.requirements`)
	if err != nil {
		return 0, err
	}
	if n >= maxRequirements {
		return 0, core.Errorf(core.TooLarge, "tasks need workers in %d different ways already", n).
			WithHint("let this one need what another does: labels stand for kinds of machines, not for single tasks")
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return 0, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `insert into belfry.requirements (id, text, doc) values ($1, $2, $3) on conflict (text) do nothing`, ids[0], line, base.Text(d)); err != nil {
		return 0, err
	}
	c.After(known.forget)
	c.Wake(base.TopicRequirements)
	return c.wakeRequirement(line) // another node may have stored it first
}

// wakeRequirement marks a requirement as not idle and returns its number, or 0 if it does not exist.
func (c *Change) wakeRequirement(line string) (int64, error) {
	var idle int64
	id, _, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (id int64, err error) { return id, r.Scan(&id, &idle) },
		`select id, idle_at from belfry.requirements where text = $1`, line)
	if err != nil || idle == 0 {
		return id, err
	}
	id, _, err = base.First(c.Ctx, c.Tx, base.ScanInt, `update belfry.requirements set idle_at = 0 where text = $1 returning id`, line)
	return id, err
}

// number returns the number of a cached requirement that cannot be deleted soon.
func (k *requirements) number(line string) (int64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, ok := k.byText[line]
	return id, ok && time.Now().Before(k.until)
}

// forget makes the next claim read the requirements again.
func (k *requirements) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again = time.Time{}
}

// MetBy returns the requirements that a session meets.
func (c *Change) MetBy(w job.WorkerState) ([]int64, error) {
	known := &c.s.requirements
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
		news := c.s.Hub.On(base.TopicRequirements)
		rows, err := base.Collect(c.Ctx, c.Tx, scanRequirement, `select id, text, doc, idle_at from belfry.requirements`)
		if err != nil {
			return nil, err
		}
		there := make(map[int64]task.Requirement, len(rows))
		for _, r := range rows {
			there[r.id] = r.d
		}
		if !sameNumbers(there, all) {
			all, judged = there, false
		}
		// Only after the commit: the rows that this transaction sees may still be rolled back, and their numbers used again.
		c.After(func() { known.learn(rows, all, news) })
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
	c.After(func() { known.storeMet(w.Session, all, ids) })
	return ids, nil
}

func (k *requirements) learn(rows []requirementRow, all map[int64]task.Requirement, news <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again, k.until, k.renewed = time.Now().Add(requirementsFor), time.Now().Add(rememberedFor), news
	k.byText = make(map[string]int64, len(rows))
	for _, r := range rows {
		if r.idle == 0 {
			k.byText[r.text] = r.id
		}
	}
	if !sameNumbers(all, k.byID) {
		k.byID, k.met = all, map[string][]int64{}
	}
}

func sameNumbers(a, b map[int64]task.Requirement) bool {
	if len(a) != len(b) {
		return false
	}
	for id := range a {
		if _, both := b[id]; !both {
			return false
		}
	}
	return true
}

func (k *requirements) storeMet(session string, all map[int64]task.Requirement, ids []int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !sameNumbers(all, k.byID) {
		return // the requirements have changed meanwhile
	}
	if len(k.met) >= base.MaxDocs || k.met == nil {
		k.met = map[string][]int64{}
	}
	k.met[session] = ids
}

// Meets adds the condition that a session meets the requirement of a job. Nearly all jobs have none.
func (c *Change) Meets(cond *base.Where, ids []int64) {
	if len(ids) == 0 {
		cond.Conds = append(cond.Conds, "requirement = 0")
		return
	}
	cond.And("(requirement = 0 or "+c.SQL.In("requirement", len(cond.Args)+1)+")", c.SQL.List(ids))
}

// PruneRequirements deletes a bounded number of requirements that have been idle for long. It marks idle ones first, and checks
// again in the deleting statement.
func (c *Change) PruneRequirements() (more bool, err error) {
	const needed = `(exists (select 1 from belfry.tasks t where t.requirement = belfry.requirements.id and t.requirement > 0) or exists (select 1 from belfry.jobs j where j.requirement = belfry.requirements.id and j.requirement > 0))`
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.requirements set idle_at = 0 where idle_at > 0 and `+needed); err != nil {
		return false, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `update belfry.requirements set idle_at = $1 where idle_at = 0 and not `+needed, base.Micros(c.Now)); err != nil {
		return false, err
	}
	n, err := c.Tx.Exec(c.Ctx, `
		delete from belfry.requirements
		where id in (select id from belfry.requirements where idle_at > 0 and idle_at <= $1 and not `+needed+` order by id limit $2`+c.SQL.SkipLocked("requirements")+`)`,
		base.Micros(c.Now.Add(-keepRequirements)), base.TidyStep)
	if n > 0 {
		c.Wake(base.TopicRequirements)
	}
	return n == base.TidyStep, err
}
