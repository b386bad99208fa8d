package limits

import (
	"cmp"
	"maps"
	"slices"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// admission is the request of a due job to be admitted, and the decision.
type admission struct {
	*job.Job
	gates    []job.Gate
	again    bool // the job had keys before, and may have kept its place in a sequence
	admitted bool // the decision: the job is ready; otherwise it waits
	// later defers the decision to the engine: another transaction has locked a key of the job, while this one holds others.
	later   bool
	limited *bool // set if the job is under keys
}

// AdmitNew decides which of n new jobs are ready, before they are inserted. The func at returns a job, the gates of its task,
// and where to set that the job is under keys. A job without capacity becomes waiting. In a transaction of the caller, which
// may be long, no key is locked: the jobs are scheduled, and the engine admits them.
func (c *Change) AdmitNew(n int, at func(i int) (j *job.Job, ofTask []job.Gate, limited *bool)) error {
	rules, err := c.rulesOf(n, func(i int) *job.Job { j, _, _ := at(i); return j })
	if err != nil {
		return err
	}
	var as []*admission
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
			as = append(as, &admission{Job: j, gates: gates, limited: limited})
		}
	}
	if len(as) == 0 {
		return nil
	}
	if err := c.admitDue(as); err != nil {
		return err
	}
	for _, a := range as {
		switch *a.limited = !a.later; {
		case a.later:
			a.State = job.Scheduled
		case !a.admitted:
			a.State, a.Reason = job.Waiting, Reason
		}
	}
	return nil
}

// keyName names a limit key by its owner, its limit and its value.
type keyName struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

func compareKeyNames(a, b keyName) int {
	return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// keyJob is a row of limit_jobs: a job and its stage under one of its keys.
type keyJob struct {
	KeyID    int64 `json:"key_id"`
	JobID    int64 `json:"job_id"`
	Priority int   `json:"priority"`
	Stage    int   `json:"stage"`
}

// admitDue decides which due jobs are ready, in the given order, and writes their rows in limit_jobs. The caller writes the
// jobs.
func (c *Change) admitDue(as []*admission) error {
	keys := make([][]keyName, len(as))
	var all []keyName
	wait := !holdsKeys(c)
	most := 1 // running jobs of a key
	for i, a := range as {
		from := flow.KeySource{Namespace: a.Namespace, Task: a.Task, Queue: a.Queue, Input: a.Input}
		for _, g := range a.gates {
			most = max(most, g.Running)
			keys[i] = append(keys[i], keyName{g.Owner, g.Name, flow.KeyValue(g.Key, from)})
		}
		all = append(all, keys[i]...)
	}
	slices.SortFunc(all, compareKeyNames)
	locked, byName, err := c.lockByName(slices.Compact(all), wait, most)
	if err == nil && !wait {
		err = lockSequences(c, as, keys, locked, byName)
	}
	if err != nil {
		return err
	}
	kept, err := c.kept(as)
	if err != nil {
		return err
	}
	now := base.Micros(c.Now)
	var rows []keyJob
	for i, a := range as {
		if a.later = slices.ContainsFunc(keys[i], func(n keyName) bool { return locked[byName[n]] == nil }); a.later {
			continue
		}
		full := -1 // index of the first key without capacity, or with waiting jobs
		for at, name := range keys[i] {
			k := locked[byName[name]]
			if kept[keyJob{KeyID: k.ID, JobID: a.ID}] {
				continue
			}
			if k.gate.Strict && k.stopped != 0 {
				switch again, err := takesOver(c.Change, a.Job, k.stopped); {
				case err != nil:
					return err
				case again: // what stopped the sequence runs again, and the sequence goes on after it
					k.stopped = 0
					continue
				}
			}
			if k.hasWaiting || !k.admits(now) {
				k.hasWaiting, full = true, at
				break
			}
		}
		a.admitted = full < 0
		for at, name := range keys[i] {
			k, stage := locked[byName[name]], stageElsewhere
			has := kept[keyJob{KeyID: k.ID, JobID: a.ID}]
			switch {
			case a.admitted || k.gate.Strict && (has || at < full): // the job keeps its place in a sequence from now on
				if stage = stageAdmitted; !has {
					k.admitOne(now)
				}
			case at == full:
				stage = stageWaiting
			}
			priority := a.Priority
			if k.gate.Strict {
				priority = 0
			}
			rows = append(rows, keyJob{k.ID, a.ID, priority, stage})
		}
	}
	if len(rows) > 0 {
		from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
		insert := `
			insert into belfry.limit_jobs (key_id, job_id, priority, stage)
			select t.key_id, t.job_id, t.priority, t.stage
			from ` + from + `
			where true`
		if slices.ContainsFunc(as, func(a *admission) bool { return a.limited == nil }) { // a job that is not new may have rows
			insert += ` on conflict (job_id, key_id) do update set stage = excluded.stage`
		}
		if err := base.ExecSoon(c.Ctx, c.Tx, insert, args...); err != nil {
			return err
		}
	}
	return c.save(locked, false)
}

// kept returns the places in sequences that jobs kept while they waited for a retry.
func (c *Change) kept(as []*admission) (map[keyJob]bool, error) {
	var ids []int64
	for _, a := range as {
		if a.again {
			ids = append(ids, a.ID)
		}
	}
	kept := map[keyJob]bool{}
	if len(ids) == 0 {
		return kept, nil
	}
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var s keyJob
		err = rows.Scan(&s.KeyID, &s.JobID)
		kept[s] = true
		return none, err
	}, `select key_id, job_id from belfry.limit_jobs where stage = 2 and `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return kept, err
}

// lockByName locks keys by name, and makes missing keys. Without wait, it makes none, and leaves out keys that another
// transaction has locked. If a key was deleted after it was found, the transition begins again: making it now, while others
// are locked, would break the lock order.
func (c *Change) lockByName(names []keyName, wait bool, most int) (map[int64]*lockedKey, map[keyName]int64, error) {
	byName := make(map[keyName]int64, len(names))
	if err := c.find(names, byName); err != nil {
		return nil, nil, err
	}
	made := map[int64]*lockedKey{}
	if missing := without(names, byName); len(missing) > 0 && wait {
		news, err := makeKeys(c, missing)
		if err != nil {
			return nil, nil, err
		}
		for id, k := range news {
			made[id], byName[keyName{k.Owner, k.Name, k.Value}] = k, id
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
	locked, err := c.lock(ids, wait, counting{first: 1, most: most})
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(locked, made)
	if len(locked) == len(names) || !wait {
		return locked, byName, nil
	}
	maps.DeleteFunc(byName, func(_ keyName, id int64) bool { return locked[id] == nil })
	query, args := insertKeys(c, without(names, byName))
	return nil, nil, base.Meets{Makes: query, With: args}
}

// makeKeys makes keys that do not exist yet. Other transactions do not see them before the commit, so they are locked and have
// no jobs. Most keys are needed for a short time, so each has a look at which it can be deleted.
func makeKeys(c *Change, names []keyName) (map[int64]*lockedKey, error) {
	query, args := insertKeys(c, names)
	rows, err := base.Collect(c.Ctx, c.Tx, scanKey, query+`
		returning id, owner, name, value, next_at, look_at, stopped_by`, args...)
	if err != nil {
		return nil, err
	}
	return newLockedKeys(c, rows)
}

// insertKeys returns the statement that inserts the keys that do not exist.
func insertKeys(c *Change, names []keyName) (query string, args []any) {
	from, args := c.SQL.Table(2, "t", base.BatchOf(names))
	return `
		insert into belfry.limit_keys (owner, name, value, look_at)
		select t.owner, t.name, t.value, $1
		from ` + from + `
		where true
		on conflict (owner, name, value) do nothing`, append([]any{base.Micros(c.Now) + linger.Microseconds()}, args...)
}

// without returns the names that were not found.
func without(names []keyName, found map[keyName]int64) []keyName {
	var missing []keyName
	for _, n := range names {
		if _, is := found[n]; !is {
			missing = append(missing, n)
		}
	}
	return missing
}

// placedName is a key name and its place in a batch.
type placedName struct {
	Place int    `json:"place"`
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

// find adds the ids of existing keys to found.
func (c *Change) find(names []keyName, found map[keyName]int64) error {
	if len(names) == 0 {
		return nil
	}
	asked := make([]placedName, len(names))
	for i, n := range names {
		asked[i] = placedName{i, n.Owner, n.Name, n.Value}
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(asked))
	_, err := base.Collect(c.Ctx, c.Tx, func(rows base.Rows) (none struct{}, err error) {
		var place, id int64
		if err = rows.Scan(&place, &id); err == nil && id > 0 {
			found[names[place]] = id
		}
		return none, err
	}, `
		select t.place,
			coalesce((select k.id from belfry.limit_keys k where k.owner = t.owner and k.name = t.name and k.value = t.value), 0)
		from `+from, args...)
	return err
}
