package limits

import (
	"cmp"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Arrival is a job whose time has come.
type Arrival struct {
	*job.Job
	Gates []job.Gate
	Again bool // it was under its keys before, and may have kept its place in a sequence
	// Enters is the answer: it is ready, or else it waits.
	Enters bool
	// later is that the engine has to ask again: another transaction has one of its keys, and this one others.
	later   bool
	limited *bool // where to note that it is under keys
}

// ArriveNew is Arrive for n jobs that are about to be made: at answers each with the gates of its task, and where to note that
// it is under keys. Those for which there is no room say so then. In a transaction of the caller's, which may last, no key
// is locked: all of them are let in by the engine.
func (c *Change) ArriveNew(n int, at func(i int) (j *job.Job, ofTask []job.Gate, limited *bool)) error {
	rules, err := c.rulesOf(n, func(i int) *job.Job { j, _, _ := at(i); return j })
	if err != nil {
		return err
	}
	var as []*Arrival
	for i := range n {
		j, ofTask, limited := at(i)
		if j.State != job.Ready {
			continue
		}
		gates := rules.gates(ofTask, j)
		switch {
		case len(gates) == 0:
		case c.Foreign:
			j.State = job.Scheduled
		default:
			as = append(as, &Arrival{Job: j, Gates: gates, limited: limited})
		}
	}
	if len(as) == 0 {
		return nil
	}
	if err := c.Arrive(as); err != nil {
		return err
	}
	for _, a := range as {
		switch *a.limited = !a.later; {
		case a.later:
			a.State = job.Scheduled
		case !a.Enters:
			a.State, a.Reason = job.Waiting, Reason
		}
	}
	return nil
}

// named is a key by its name.
type named struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

func compareNamed(a, b named) int {
	return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// standing is a job under a key, as a batch carries it.
type standing struct {
	KeyID    int64 `json:"key_id"`
	JobID    int64 `json:"job_id"`
	Priority int   `json:"priority"`
	Stage    int   `json:"stage"`
}

// Arrive decides of jobs whose time has come which are ready, in their order, and writes under which keys they are. The
// caller writes the jobs.
func (c *Change) Arrive(as []*Arrival) error {
	keys := make([][]named, len(as))
	var all []named
	wait := !holds(c)
	for i, a := range as {
		texts := make([]string, len(a.Gates))
		for k, g := range a.Gates {
			texts[k] = g.Key
		}
		for k, value := range flow.KeyValues(texts, flow.KeySource{Namespace: a.Namespace, Task: a.Task, Queue: a.Queue, Input: a.Input}) {
			keys[i] = append(keys[i], named{a.Gates[k].Owner, a.Gates[k].Name, value})
		}
		all = append(all, keys[i]...)
	}
	slices.SortFunc(all, compareNamed)
	rooms, byName, err := c.hold(slices.Compact(all), wait)
	if err == nil && !wait {
		err = holdSequences(c, as, keys, rooms, byName)
	}
	if err != nil {
		return err
	}
	kept, err := c.kept(as)
	if err != nil {
		return err
	}
	now := base.Micros(c.Now)
	var rows []standing
	for i, a := range as {
		if a.later = slices.ContainsFunc(keys[i], func(n named) bool { return rooms[byName[n]] == nil }); a.later {
			continue
		}
		stops := -1 // the first key without room, or with others who wait
		for k, name := range keys[i] {
			r := rooms[byName[name]]
			if kept[standing{KeyID: r.ID, JobID: a.ID}] {
				continue
			}
			if r.gate.Strict && r.stopped == a.ID { // it is tried again, and the others go on behind it
				r.stopped = 0
				continue
			}
			if r.waits || !r.lets(now) {
				r.waits, stops = true, k
				break
			}
		}
		a.Enters = stops < 0
		for k, name := range keys[i] {
			r, stage := rooms[byName[name]], passed
			has := kept[standing{KeyID: r.ID, JobID: a.ID}]
			switch {
			case a.Enters || r.gate.Strict && (has || k < stops): // a place in a sequence is kept from then on
				if stage = entered; !has {
					r.enter(now)
				}
			case k == stops:
				stage = parked
			}
			priority := a.Priority
			if r.gate.Strict {
				priority = 0
			}
			rows = append(rows, standing{r.ID, a.ID, priority, stage})
		}
	}
	if len(rows) > 0 {
		from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
		insert := `
			insert into belfry.limit_jobs (key_id, job_id, priority, stage)
			select t.key_id, t.job_id, t.priority, t.stage
			from ` + from + `
			where true`
		if slices.ContainsFunc(as, func(a *Arrival) bool { return a.limited == nil }) { // which are not new
			insert += ` on conflict (job_id, key_id) do update set stage = excluded.stage`
		}
		if err := base.ExecSoon(c.Ctx, c.Tx, insert, args...); err != nil {
			return err
		}
	}
	return c.save(rooms, false)
}

// kept are the places in sequences that jobs have kept while they waited for a retry.
func (c *Change) kept(as []*Arrival) (map[standing]bool, error) {
	var ids []int64
	for _, a := range as {
		if a.Again {
			ids = append(ids, a.ID)
		}
	}
	kept := map[standing]bool{}
	if len(ids) == 0 {
		return kept, nil
	}
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var s standing
		err = rows.Scan(&s.KeyID, &s.JobID)
		kept[s] = true
		return none, err
	}, `select key_id, job_id from belfry.limit_jobs where stage = 2 and `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return kept, err
}

// hold locks keys by name, and makes those that are not there. It waits for those that another transaction has, or leaves
// them out. Where one that was there has been forgotten since, the transition begins again: to make it while others are locked
// is not the order of all.
func (c *Change) hold(names []named, wait bool) (map[int64]*room, map[named]int64, error) {
	byName := make(map[named]int64, len(names))
	if err := c.find(names, byName); err != nil {
		return nil, nil, err
	}
	made := map[int64]*room{}
	if missing := without(names, byName); len(missing) > 0 && wait {
		news, err := makeKeys(c, missing)
		if err != nil {
			return nil, nil, err
		}
		for id, r := range news {
			made[id], byName[named{r.Owner, r.Name, r.Key}] = r, id
		}
		if err := c.find(without(missing, byName), byName); err != nil { // another transaction made them since
			return nil, nil, err
		}
	}
	ids := make([]int64, 0, len(names))
	for _, id := range byName {
		if made[id] == nil {
			ids = append(ids, id)
		}
	}
	rooms, err := c.lock(ids, wait)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(rooms, made)
	if len(rooms) == len(names) || !wait {
		return rooms, byName, nil
	}
	maps.DeleteFunc(byName, func(_ named, id int64) bool { return rooms[id] == nil })
	query, args := insertKeys(c, without(names, byName))
	return nil, nil, base.Meets{Makes: query, With: args}
}

// makeKeys makes keys that do not exist yet. No other transaction knows them before the commit, so they are locked, and nothing is under
// them. Most are needed for a short time, so each says at once when to look whether it can be forgotten.
func makeKeys(c *Change, names []named) (map[int64]*room, error) {
	query, args := insertKeys(c, names)
	rows, err := base.Collect(c.Ctx, c.Tx, scanKey, query+`
		returning id, owner, name, value, next_at, look_at, stopped_by`, args...)
	if err != nil {
		return nil, err
	}
	return roomsOf(c, rows)
}

// insertKeys is the statement that makes those of some keys that are not there.
func insertKeys(c *Change, names []named) (query string, args []any) {
	from, args := c.SQL.Table(2, "t", base.BatchOf(names))
	return `
		insert into belfry.limit_keys (owner, name, value, look_at)
		select t.owner, t.name, t.value, $1
		from ` + from + `
		where true
		on conflict (owner, name, value) do nothing`, append([]any{base.Micros(c.Now) + linger.Microseconds()}, args...)
}

func without(names []named, found map[named]int64) []named {
	var missing []named
	for _, n := range names {
		if _, is := found[n]; !is {
			missing = append(missing, n)
		}
	}
	return missing
}

// find looks keys up by name.
func (c *Change) find(names []named, found map[named]int64) error {
	if len(names) == 0 {
		return nil
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(names))
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var n named
		var id int64
		if err = rows.Scan(&n.Owner, &n.Name, &n.Value, &id); err == nil && id > 0 {
			found[n] = id
		}
		return none, err
	}, `
		select t.owner, t.name, t.value,
			coalesce((select k.id from belfry.limit_keys k where k.owner = t.owner and k.name = t.name and k.value = t.value), 0)
		from `+from, args...)
	return err
}
