package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

type workerAPI interface {
	Workers(ctx context.Context, ended bool) ([]job.WorkerState, error)
	DrainWorker(ctx context.Context, session string) error
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
}

var workerRoutes = []route{
	{"GET /workers", workerList},
	{"GET /workers/{session}", workerPage},
	{"POST /workers/{session}/drain", drainWorker},
}

// workerJobs is how many jobs a worker's page shows of each list.
const workerJobs = 20

type workersData struct {
	Workers []job.WorkerState
	Ended   bool // they are shown too
	Slots   map[string]int
}

func workerList(p *page) error {
	d := workersData{Ended: p.Query("ended") != ""}
	err := together(
		get(&d.Workers, func() ([]job.WorkerState, error) { return p.api.Workers(p.r.Context(), d.Ended) }),
		get(&d.Slots, p.queueSlots),
	)
	if err != nil {
		return err
	}
	return p.show("workers", d)
}

type workerData struct {
	job.WorkerState
	Holds core.Page[job.Job]
	Ran   core.Page[job.Job]
	Slots map[string]int
}

// queueSlots are the slots that each queue has on a worker that says nothing else.
func (p *page) queueSlots() (map[string]int, error) {
	all, err := p.api.Queues(p.r.Context())
	slots := map[string]int{}
	for _, q := range all {
		slots[q.Name] = q.Concurrency
	}
	return slots, err
}

func workerPage(p *page) error {
	ctx, session := p.r.Context(), p.r.PathValue("session")
	var d workerData
	var all []job.WorkerState
	jobs := func(states ...job.State) func() (core.Page[job.Job], error) {
		return func() (core.Page[job.Job], error) {
			return p.api.Jobs(ctx, job.Filter{Namespace: p.Namespace, Session: session, States: states, Paging: core.Paging{Limit: workerJobs}})
		}
	}
	err := together(
		get(&all, func() ([]job.WorkerState, error) { return p.api.Workers(ctx, true) }),
		get(&d.Slots, p.queueSlots),
		get(&d.Holds, jobs(job.Running)),
		get(&d.Ran, jobs(job.Succeeded, job.Failed, job.Canceled)),
	)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w job.WorkerState) bool { return w.Session == session })
	if i < 0 {
		return core.Errorf(core.NotFound, "no worker has the session %s", session).WithHint("it has ended and is no longer kept, or never was; see the list of workers")
	}
	d.WorkerState = all[i]
	return p.show("worker", d)
}

func drainWorker(p *page) error {
	session := p.r.PathValue("session")
	if err := p.api.DrainWorker(p.r.Context(), session); err != nil {
		return err
	}
	return p.done(p.Link("workers", session), "The worker finishes what it runs and claims no more.")
}

// workerWord is the word for a worker's chip.
func workerWord(w job.WorkerState) string { return w.State() }

// twin is what tells a worker from others of a list with the same name: the end
// of its session. It is empty where the name alone does.
func twin(all []job.WorkerState, w job.WorkerState) string {
	same := 0
	for _, o := range all {
		if o.Name == w.Name {
			same++
		}
	}
	if same < 2 {
		return ""
	}
	return "…" + w.Session[max(0, len(w.Session)-8):]
}

// workerSlots are a worker's queues with its slots in each: its own, or those
// that the queue has.
func workerSlots(w job.WorkerState, usual map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
		text := name
		if n := cmp.Or(w.Queues[name], usual[name]); n > 0 {
			text += " " + numberText(n)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " · ")
}

// workerMachine is what it runs on.
func workerMachine(w job.WorkerState) string {
	return strings.Trim(w.Has.OS+"/"+w.Has.Arch, "/")
}

// isolationWords say what the tiers promise.
var isolationWords = map[task.Isolation]string{
	"":                       "runs no programs",
	task.IsolationNone:       "none: limits and a clean environment, as the worker's own user",
	task.IsolationUser:       "user: a user of its own",
	task.IsolationConfined:   "confined: a user of its own, Landlock and seccomp",
	task.IsolationNamespaces: "namespaces: a root, processes and a network of its own",
	task.IsolationGVisor:     "gvisor: a kernel of its own in user space",
}

// isolationText says what a tier promises.
func isolationText(i task.Isolation) string {
	if text, known := isolationWords[i]; known {
		return text
	}
	return string(i)
}

// offeredMemory is what a worker offers to programs that run at once.
func offeredMemory(h task.Has) string {
	if h.Memory == 0 {
		return "not bounded"
	}
	return core.SizeText(h.Memory)
}

// heldLimits are the limits of programs that hold for all processes of a run together.
func heldLimits(h task.Has) string { return strings.Join(h.Limits, ", ") }

// DrainWorker asks before a worker is drained.
func (p *page) DrainWorker(w job.WorkerState) confirm {
	cmd := p.Command("POST", "/v1/workers/"+url.PathEscape(w.Session)+"/drain", "", "worker", "drain", w.Session)
	return confirm{
		ID: "drain", Button: "Drain", Danger: true, Title: "Drain " + w.Name + "?",
		Text:   fmt.Sprintf("It finishes %s and claims no more. Only a restart of the worker ends that.", plural(w.Running, "running job", "running jobs")),
		Action: p.Link("workers", w.Session, "drain"), Cmd: &cmd,
	}
}

// WorkersCommand is the list, without this page.
func (p *page) WorkersCommand() command {
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

// jobRows are jobs for the part "job-rows".
type jobRows struct{ Items []jobRow }

type jobRow struct {
	Job            job.Job
	Link           string
	Claimed, Ended moment
}

// linker is the page that rows stand on.
type linker interface {
	LinkIn(namespace string, parts ...any) string
	Ago(t time.Time) moment
}

// newJobRows are jobs in a table, or nil for none.
func newJobRows(p linker, jobs []job.Job) *jobRows {
	if len(jobs) == 0 {
		return nil
	}
	var rows jobRows
	for _, j := range jobs {
		rows.Items = append(rows.Items, jobRow{j, p.LinkIn(j.Namespace, "jobs", j.ID), p.Ago(j.ClaimedAt), p.Ago(j.FinishedAt)})
	}
	return &rows
}
