package workers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

type workerAPI interface {
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
	DrainWorker(ctx context.Context, session string) error
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
}

var workerRoutes = routes{
	"GET /workers":                  workerList,
	"GET /workers/{session}":        workerPage,
	"POST /workers/{session}/drain": drainWorker,
}

// workerJobs is how many jobs a worker's page shows of each list.
const workerJobs = 20

type workersData struct {
	Workers []job.WorkerState
	Ended   bool // they are shown too
	Slots   map[string]int
	Lanes   lanes
}

func workerList(p *page) error {
	d := workersData{Ended: p.Query("ended") != ""}
	var jobs core.Page[job.Job]
	err := frame.Together(
		frame.Get(&jobs, func() (core.Page[job.Job], error) { return p.lanesJobs("") }),
		frame.Get(&d.Workers, func() ([]job.WorkerState, error) { return p.api.Workers(p.R.Context(), d.Ended) }),
		frame.Get(&d.Slots, p.queueSlots),
	)
	if err != nil {
		return err
	}
	d.Lanes = newLanes(d.Workers, jobs, p.Now)
	return p.Show("workers", d)
}

type workerData struct {
	job.WorkerState
	Holds core.Page[job.Job]
	Ran   core.Page[job.Job]
	Slots map[string]int
	Lanes lanes
}

// lanesJobs are the newest jobs that ran or run, of a session or of all.
func (p *page) lanesJobs(session string) (core.Page[job.Job], error) {
	return p.api.Jobs(p.R.Context(), job.Filter{
		Namespace: p.Namespace, Session: session, States: []job.State{job.Running, job.Succeeded, job.Failed, job.Canceled},
		Since: p.Now.Add(-spans[0]), Paging: core.Paging{Limit: lanesJobs},
	})
}

// queueSlots are the slots of each queue on a worker without slots of its own.
func (p *page) queueSlots() (map[string]int, error) {
	all, err := p.api.Queues(p.R.Context())
	slots := map[string]int{}
	for _, q := range all {
		slots[q.Name] = q.Concurrency
	}
	return slots, err
}

func workerPage(p *page) error {
	ctx, session := p.R.Context(), p.R.PathValue("session")
	var d workerData
	var all []job.WorkerState
	var latest core.Page[job.Job]
	jobs := func(states ...job.State) func() (core.Page[job.Job], error) {
		return func() (core.Page[job.Job], error) {
			return p.api.Jobs(ctx, job.Filter{Namespace: p.Namespace, Session: session, States: states, Paging: core.Paging{Limit: workerJobs}})
		}
	}
	err := frame.Together(
		frame.Get(&all, func() ([]job.WorkerState, error) { return p.api.Workers(ctx, true) }),
		frame.Get(&d.Slots, p.queueSlots),
		frame.Get(&d.Holds, jobs(job.Running)),
		frame.Get(&d.Ran, jobs(job.Succeeded, job.Failed, job.Canceled)),
		frame.Get(&latest, func() (core.Page[job.Job], error) { return p.lanesJobs(session) }),
	)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w job.WorkerState) bool { return w.Session == session })
	if i < 0 {
		return core.Errorf(core.NotFound, "no worker has the session %s", session).WithHint("it has ended and is no longer kept, or never was; see the list of workers")
	}
	d.WorkerState = all[i]
	d.Lanes = newLanes(all[i:i+1], latest, p.Now)
	return p.Show("worker", d)
}

func drainWorker(p *page) error {
	session := p.R.PathValue("session")
	if err := p.api.DrainWorker(p.R.Context(), session); err != nil {
		return err
	}
	return p.Done(p.Link("workers", session), "The worker finishes what it runs and claims no more.")
}

// workerSlots lists the first queues of a worker, at most so many, with its slots in each: its own, or those
// that the queue has.
func workerSlots(w job.WorkerState, usual map[string]int, most int) string {
	var pieces []string
	for i, name := range slices.Sorted(maps.Keys(w.Queues)) {
		if i == most {
			pieces = append(pieces, parts.Plural(len(w.Queues)-most, "more queue", "more queues"))
			break
		}
		text := name
		if n := cmp.Or(w.Queues[name], usual[name]); n > 0 {
			text += " " + parts.NumberText(n)
		}
		pieces = append(pieces, text)
	}
	return strings.Join(pieces, " · ")
}

// slotUse is the used and all slots of a worker; nil if the number of its slots is unknown.
func slotUse(w job.WorkerState, usual map[string]int) *parts.Bar {
	slots := 0
	for name, own := range w.Queues {
		n := cmp.Or(own, usual[name])
		if n == 0 {
			return nil
		}
		slots += n
	}
	if slots == 0 {
		return nil
	}
	return useOf("Slots of "+w.Name, w.Running, slots)
}

// queueUse is that of each queue by name, where all its jobs and the slots of all its queues are known.
func queueUse(w job.WorkerState, usual map[string]int, holds []job.Job) map[string]*parts.Bar {
	all := map[string]*parts.Bar{}
	if len(holds) != w.Running {
		return all
	}
	runs := map[string]int{}
	for _, j := range holds {
		runs[j.Queue]++
	}
	for name, own := range w.Queues {
		n := cmp.Or(own, usual[name])
		if n == 0 {
			return nil
		}
		all[name] = useOf("Slots in queue "+name, runs[name], n)
	}
	return all
}

// useOf is the use of slots by n jobs. A worker of short jobs holds more than it runs.
func useOf(label string, n, of int) *parts.Bar {
	used := min(n, of)
	text := parts.NumberText(used) + " of " + parts.NumberText(of)
	if n > of {
		text += ", " + parts.NumberText(n-of) + " claimed ahead"
	}
	bar := parts.NewBar(label, float64(used), float64(of), text, "busy")
	return &bar
}

// workerMachine describes the machine of a worker.
func workerMachine(w job.WorkerState) string {
	return strings.Trim(w.Has.OS+"/"+w.Has.Arch, "/")
}

// offeredMemory is the memory that a worker offers to programs at the same time.
func offeredMemory(h task.Has) string {
	if h.Memory == 0 {
		return "not bounded"
	}
	return core.SizeText(h.Memory)
}

// heldLimits are the limits of programs that hold for all processes of a run together.
func heldLimits(h task.Has) string { return strings.Join(h.Limits, ", ") }

// DrainWorker asks before a worker is drained.
func (p *page) DrainWorker(w job.WorkerState) parts.Confirm {
	cmd := p.Command("POST", "/v1/workers/"+url.PathEscape(w.Session)+"/drain", "", "worker", "drain", w.Session)
	return parts.Confirm{
		ID: "drain", Button: "Drain", Danger: true, Title: "Drain " + w.Name + "?",
		Text:   fmt.Sprintf("It finishes %s and claims no more. Only a restart of the worker ends that.", parts.Plural(w.Running, "running job", "running jobs")),
		Action: p.Link("workers", w.Session, "drain"), Cmd: &cmd,
	}
}

// WorkersCommand is the command for the list.
func (p *page) WorkersCommand() parts.Command {
	return p.Command("GET", "/v1/workers", "", "worker", "list")
}

// SessionJobs is the search for all jobs of a session.
func (p *page) SessionJobs(session string) string {
	return p.With(p.Link("jobs"), "q", "session:"+session)
}

// kindNames are kinds in a row.
func kindNames(kinds []task.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
