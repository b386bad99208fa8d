package workers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
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

const (
	workerJobs  = 20 // of each list, on the page of a worker
	slotsListed = 8  // queues of a worker, in the list
)

type workersData struct {
	Workers []job.WorkerState
	Ended   bool           // they are shown too
	Usual   map[string]int // slots of each queue on a worker without its own
	Lanes   lanes
}

func workerList(p *page) error {
	d := workersData{Ended: p.Query("ended") != ""}
	var jobs core.Page[job.Job]
	err := frame.Together(
		frame.Get(&jobs, func() (core.Page[job.Job], error) { return p.lanesJobs("") }),
		frame.Get(&d.Workers, func() ([]job.WorkerState, error) { return p.api.Workers(p.R.Context(), d.Ended) }),
		frame.Get(&d.Usual, p.usualSlots),
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
	Usual map[string]int
	Lanes lanes
}

// lanesJobs are the newest jobs that ran or run, of a session or of all.
func (p *page) lanesJobs(session string) (core.Page[job.Job], error) {
	return p.api.Jobs(p.R.Context(), job.Filter{
		Namespace: p.Namespace, Session: session, States: []job.State{job.Running, job.Succeeded, job.Failed, job.Canceled},
		Since: p.Now.Add(-spans[0]), Paging: core.Paging{Limit: lanesJobs},
	})
}

// usualSlots are the slots of each queue on a worker without slots of its own.
func (p *page) usualSlots() (map[string]int, error) {
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
		frame.Get(&d.Usual, p.usualSlots),
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

// slotsOf are the slots of a worker in a queue.
type slotsOf struct {
	Queue string
	Use   *parts.Bar // nil: its slots or jobs are not known
	Text  string
}

// Slots are those of a worker by queue. Their use is told to those who may know all of its jobs.
func (p *page) Slots(w job.WorkerState, usual map[string]int) []slotsOf {
	return queueSlots(w, usual, p.CanEverywhere(access.ScopeRead) || w.Namespace == p.Token.Namespace)
}

// queueSlots are the slots of a worker by queue: its own, or those that the queue has. Checks come last. known says that the
// worker's running jobs are.
func queueSlots(w job.WorkerState, usual map[string]int, known bool) (all []slotsOf) {
	for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
		s := slotsOf{Queue: name}
		if n := cmp.Or(w.Queues[name], usual[name]); n > 0 {
			s.Text = parts.NumberText(n)
			if w.EndedAt.IsZero() && known {
				s.Use = useOf("Slots in queue "+name, w.RunningByQueue[name], n)
				s.Text = s.Use.Text
			}
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b slotsOf) int {
		switch {
		case a.Queue == b.Queue:
			return 0
		case a.Queue == task.ChecksQueue:
			return 1
		case b.Queue == task.ChecksQueue:
			return -1
		}
		return 0
	})
	return all
}

// slotsText is the slots in a line of a list, which is cut where it does not fit.
func slotsText(all []slotsOf) string {
	var pieces []string
	for i, s := range all {
		if i == slotsListed {
			pieces = append(pieces, parts.Plural(len(all)-i, "more queue", "more queues"))
			break
		}
		pieces = append(pieces, strings.TrimSpace(s.Queue+" "+s.Text))
	}
	return strings.Join(pieces, " · ")
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
