package limits

import (
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/task"
)

// rules are the limits of queues and namespaces. A job passes them after the limits of its task.
type rules struct{ special queues.Special }

// rules reads the limits of some queues and namespaces.
func (c *Change) rules(queues, namespaces []string) (rules, error) {
	special, err := c.s.queues.In(c.Change).Special(queues, namespaces)
	return rules{special}, err
}

// rulesOf reads the limits of the queues and namespaces of n jobs.
func (c *Change) rulesOf(n int, at func(i int) *job.Job) (rules, error) {
	var queues, namespaces []string
	for i := range n {
		j, last := at(i), len(queues)-1
		if last < 0 || queues[last] != j.Queue || namespaces[last] != j.Namespace {
			queues, namespaces = append(queues, j.Queue), append(namespaces, j.Namespace)
		}
	}
	if len(queues) == 0 {
		return rules{}, nil
	}
	return c.rules(queues, namespaces)
}

// gates returns the gates of a job: those of its task, then of its queue, then of its namespace. A job that the engine runs
// takes no slot, and passes only the gates of its task. Checks of monitors and Belfry's own work do not count under the limits
// of a namespace: monitors go on when it has no capacity.
func (r rules) gates(ofTask []job.Gate, j *job.Job) []job.Gate {
	ofQueue, ofNamespace := r.special.Queues[j.Queue].Limits, r.special.Namespaces[j.Namespace]
	if len(ofQueue)+len(ofNamespace) == 0 || task.RunByEngine(j.Kind) {
		return ofTask
	}
	gates := append(append(make([]job.Gate, 0, len(ofTask)+len(ofQueue)+len(ofNamespace)), ofTask...), job.GatesIn(job.QueueOwner(j.Queue), ofQueue)...)
	if _, owned := task.OwnerOf(j.Task); owned || j.Queue == job.SystemQueue {
		return gates
	}
	return append(gates, job.GatesIn(job.NamespaceOwner(j.Namespace), ofNamespace)...)
}

// HasLimits reports for each of n jobs whether it has a gate. The func at returns a job and the gates of its task.
func (c *Change) HasLimits(n int, at func(i int) (j *job.Job, ofTask []job.Gate)) ([]bool, error) {
	rules, err := c.rulesOf(n, func(i int) *job.Job { j, _ := at(i); return j })
	holds := make([]bool, n)
	for i := range n {
		j, ofTask := at(i)
		holds[i] = len(rules.gates(ofTask, j)) > 0
	}
	return holds, err
}

// NeedsAdmission reports whether a job has to be admitted before it is ready again.
func (c *Change) NeedsAdmission(limited bool, j *job.Job, t task.Task) (bool, error) {
	if limited || t.Gated() {
		return true, nil
	}
	holds, err := c.HasLimits(1, func(int) (*job.Job, []job.Gate) { return j, nil })
	return holds[0], err
}

// owners are owners of limits, by kind.
type owners struct {
	tasks              []int64
	queues, namespaces []string
}

func (o *owners) add(owner string) {
	kind, name, _ := strings.Cut(owner, ":")
	switch kind {
	case "task":
		id, _ := strconv.ParseInt(name, 10, 64)
		o.tasks = append(o.tasks, id)
	case "queue":
		o.queues = append(o.queues, name)
	case "namespace":
		o.namespaces = append(o.namespaces, name)
	}
}

// gates returns the present gates of some owners, by owner.
func (c *Change) gates(o owners) (map[string][]job.Gate, error) {
	tasks, err := c.tasks().TasksByID(o.tasks)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]job.Gate, len(o.tasks)+len(o.queues)+len(o.namespaces))
	for id, t := range tasks {
		all[job.TaskOwner(id)] = job.GatesOf(t)
	}
	if len(o.queues)+len(o.namespaces) == 0 {
		return all, nil
	}
	rules, err := c.rules(o.queues, o.namespaces)
	if err != nil {
		return nil, err
	}
	for _, name := range o.queues {
		all[job.QueueOwner(name)] = job.GatesIn(job.QueueOwner(name), rules.special.Queues[name].Limits)
	}
	for _, name := range o.namespaces {
		all[job.NamespaceOwner(name)] = job.GatesIn(job.NamespaceOwner(name), rules.special.Namespaces[name])
	}
	return all, nil
}
