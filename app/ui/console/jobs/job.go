package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/app/ui/console/internal/graph"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type jobAPI interface {
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error)
	JobSteps(ctx context.Context, namespace string, id int64) ([]job.Step, error)
	Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error)
	LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error)
	Why(ctx context.Context, namespace string, id int64) (job.Why, error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
}

var jobRoutes = routes{
	"GET /jobs/-new":         newJobForm,
	"POST /jobs/-new":        enqueueJob,
	"GET /jobs/{id}":         jobPage,
	"GET /jobs/{id}/log":     jobLogPart,
	"GET /jobs/{id}/log.txt": jobLogText,
	"POST /jobs/{id}/cancel": cancelJob,
	"POST /jobs/{id}/retry":  retryJob,
	"POST /jobs/{id}/again":  jobAgain,

	"POST /jobs/{id}/approve/{step}": approveStep,
	"POST /jobs/{id}/reject/{step}":  rejectStep,
	"POST /jobs/{id}/link/{step}":    linkToStep,
}

type jobData struct {
	Job      job.Job
	Attempts []job.Attempt
	Steps    []job.Step // of a Go handler or a program
	Why      job.Why
	Course   course
	Bars     []attemptBar
	Members  []memberBar    // of a cycle
	Graph    []graphStep    // of a workflow
	Drawing  *graph.Drawing // of the same; nil: there is none
	Critical string         // the steps that took the time
	Said     [][]inked      // last lines of stderr, where it failed
	Good     *compared      // nil: there is none to compare with
	Task     *task.Task     // as it is now; nil when it is gone
	Log      logPart
	Titles   view.Titles
}

func (p *page) jobID() (int64, error) { return job.IDFromText("id", p.R.PathValue("id")) }

// job is the job of the request's path.
func (p *page) job() (job.Job, error) {
	id, err := p.jobID()
	if err != nil {
		return job.Job{}, core.Errorf(core.NotFound, "%q is not the id of a job", p.R.PathValue("id")).WithHint("an id is a number, such as 1042")
	}
	return p.api.Job(p.R.Context(), p.Namespace, id)
}

func jobPage(p *page) error {
	d, err := p.readJob()
	for range 2 { // it may end while it is read, and would then run and have ended on one page
		if err == nil && hasGoneOn(d.Job, d.Attempts) {
			d, err = p.readJob()
		}
	}
	if err != nil {
		return err
	}
	j := d.Job
	d.Course, d.Bars = newCourse(j, d.Attempts, p.Now), attemptBars(j, d.Attempts, p.Now)
	if j.Kind == task.KindCycle {
		if d.Members, err = p.cycleBars(j); err != nil {
			return err
		}
		if len(d.Members) > 0 {
			d.Course = newCycleCourse(j, d.Members, p.Now)
		}
	}
	if j.Kind == task.KindWorkflow {
		if d.Graph, d.Drawing, d.Critical, err = p.graphSteps(j); err != nil {
			return err
		}
		if len(d.Graph) > 0 {
			d.Course = newGraphCourse(j, d.Graph, p.Now)
		}
	}
	if d.Titles, err = frame.Titles(p.R.Context(), p.api, d.named()); err != nil {
		return err
	}
	return p.Show("job", d)
}

// readJob reads the data of the page of a job.
func (p *page) readJob() (jobData, error) {
	j, err := p.job()
	if err != nil {
		return jobData{}, err
	}
	ctx, d := p.R.Context(), jobData{Job: j}
	err = frame.Together(
		frame.Get(&d.Attempts, func() ([]job.Attempt, error) { return p.api.Attempts(ctx, p.Namespace, j.ID) }),
		frame.Get(&d.Steps, func() ([]job.Step, error) {
			if j.Kind != task.KindFunc && j.Kind != task.KindProgram {
				return nil, nil
			}
			return p.api.JobSteps(ctx, p.Namespace, j.ID)
		}),
		frame.Get(&d.Why, func() (job.Why, error) { return p.api.Why(ctx, p.Namespace, j.ID) }),
		frame.Get(&d.Task, func() (*task.Task, error) {
			if _, owned := parts.Owner(j.Task); owned { // its monitor shows this
				return nil, nil
			}
			t, err := p.api.Task(ctx, j.Namespace, j.Task)
			if core.CodeOf(err) == core.NotFound {
				return nil, nil
			}
			return &t, err
		}),
		frame.Get(&d.Said, func() ([][]inked, error) { return lastSaid(p, j) }),
		frame.Get(&d.Good, func() (*compared, error) { return p.compare(ctx, j) }),
		frame.Get(&d.Log, func() (logPart, error) {
			if p.R.Header.Get(fresh.Asks) != "" { // whose script reads the log itself
				return logPart{Job: j, zone: p.Times.Zone}, nil
			}
			return p.readLog(j, logPage)
		}),
	)
	return d, err
}

// hasGoneOn reports that attempts, which are listed once they have ended and were read after their job, have the one that runs there.
func hasGoneOn(j job.Job, attempts []job.Attempt) bool {
	return j.State == job.Running && slices.ContainsFunc(attempts, func(a job.Attempt) bool { return a.Lease == j.Lease })
}

// named returns the objects that the page names, for their titles.
func (d jobData) named() view.Named {
	n := view.Named{Namespace: d.Job.Namespace, Queues: []string{d.Job.Queue}}
	n.Task(d.Job.Task)
	n.Schedule(d.Job.Schedule)
	for _, m := range d.Members {
		n.Task(m.Task)
	}
	return n
}

// Progress is how far the job says that it is.
func (d jobData) Progress() parts.Bar { return progressBar(d.Job) }

func progressBar(j job.Job) parts.Bar {
	b := parts.Bar{Label: fmt.Sprintf("Progress of job %d", j.ID), Max: 100, Tone: "busy"}
	if j.Progress != nil {
		b.Value, b.Text = j.Progress.Percent, strconv.FormatFloat(j.Progress.Percent, 'f', -1, 64)+" %"
	}
	return b
}

// Waits reports that the job is not running and will not have ended by itself:
// then why is the question.
func (d jobData) Waits() bool { return !d.Job.State.Final() && d.Job.State != job.Running }

// CanCancel and CanRetry report whether the job allows the action.
func (d jobData) CanCancel() bool {
	return !d.Job.State.Final() && (d.Job.State != job.Running || d.Job.CancelAt.IsZero())
}

// CanRetry is false for the job of a step, which its workflow retries.
func (d jobData) CanRetry() bool {
	return d.Job.Trigger != job.TriggerStep && bulkVerbs["retry"].Fits([]job.State{d.Job.State})
}

// Worker is the worker of a running job, by the name that its attempts will have.
func (d jobData) Worker() string {
	if n := len(d.Why.Workers); n > 0 && d.Job.State == job.Running {
		name, _, _ := strings.Cut(d.Why.Workers[0], " ")
		return name
	}
	return ""
}

// CheckLink is the page on which the cause of a check that holds up a job can be changed.
func (p *page) CheckLink(j job.Job, c core.Check) string {
	switch {
	case strings.Contains(c.Name, "queue is "), strings.Contains(c.Name, "ahead"), strings.Contains(c.Name, "before it"):
		return p.LinkIn(j.Namespace, "queues", j.Queue)
	case strings.Contains(c.Name, "worker"):
		return p.LinkIn(j.Namespace, "workers")
	}
	return ""
}

// variable is one of the environment of a command or a program.
type variable struct{ Name, Value, Secret string }

var secretRule = regexp.MustCompile(`(?i)(pass|secret|token|key|credential|auth|dsn|private)`)

// environment returns the variables that a task sets. It hides the values of
// secrets of the namespace, and of variables whose name looks like a secret.
func environment(t *task.Task) (out []variable) {
	if t == nil {
		return nil
	}
	env, secrets := map[string]string{}, map[string]string{}
	switch {
	case t.Command != nil:
		env = t.Command.Env
	case t.Program != nil:
		env, secrets = t.Program.Env, t.Program.Secrets
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v := variable{Name: name, Value: env[name]}
		if secretRule.MatchString(name) && v.Value != "" {
			v.Value, v.Secret = "", "not shown"
		}
		out = append(out, v)
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		out = append(out, variable{Name: name, Secret: "secret " + secrets[name]})
	}
	return out
}

// attemptRan is how long an attempt ran, where that is known.
func attemptRan(a job.Attempt) string {
	from := a.BeganAt()
	if from.IsZero() {
		return "–"
	}
	return core.SpanText(max(0, a.EndedAt.Sub(from)))
}

// exit is how the process of an attempt ended.
func exit(a job.Attempt) string {
	switch {
	case a.Signal != "":
		return a.Signal
	case a.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *a.ExitCode)
	}
	return ""
}

// settled answers an action on one job with its result.
func (p *page) settled(id int64, r view.Selected, format string, args ...any) error {
	link := p.Link("jobs", id)
	if why, left := r.Left[id]; left {
		return p.DoneBadly(link, "Job %d was left as it is: %s.", id, why)
	}
	return p.Done(link, format, args...)
}

func cancelJob(p *page) error {
	id, err := p.jobID()
	if err != nil {
		return err
	}
	r, err := p.api.CancelJobs(p.R.Context(), p.Namespace, view.Selection{IDs: []int64{id}, Note: p.R.PostFormValue("note")})
	if err != nil {
		return err
	}
	if j, err := p.api.Job(p.R.Context(), p.Namespace, id); err == nil && !j.State.Final() {
		return p.settled(id, r, "Canceling job %d: its worker stops it.", id)
	}
	return p.settled(id, r, "Job %d is canceled.", id)
}

func retryJob(p *page) error {
	id, err := p.jobID()
	if err != nil {
		return err
	}
	r, err := p.api.RetryJobs(p.R.Context(), p.Namespace, view.Selection{IDs: []int64{id}, Note: p.R.PostFormValue("note"), Key: p.R.PostFormValue("key")})
	if err != nil {
		return err
	}
	if len(r.Existing) > 0 {
		return p.Done(p.Link("jobs", id), "Job %d was retried already.", id)
	}
	return p.settled(id, r, "Job %d is ready again, with all its attempts back.", id)
}

// jobAgain enqueues another job like one.
func jobAgain(p *page) error {
	j, err := p.job()
	if err != nil {
		return err
	}
	done, err := p.api.Enqueue(p.R.Context(), []job.NewJob{likeJob(j)})
	if err != nil {
		return err
	}
	return p.Done(p.LinkIn(j.Namespace, "jobs", done[0].Job.ID), "%s", cmp.Or(parts.JoinedText(done[0]), fmt.Sprintf("Job %d is enqueued, like job %d.", done[0].Job.ID, j.ID)))
}

// likeJob is a new job with the task and the input of another.
func likeJob(j job.Job) job.NewJob {
	n := job.NewJob{Namespace: j.Namespace, Task: j.Task, Input: j.Input, Queue: j.Queue, Priority: &j.Priority, Tags: j.Tags, MaxAttempts: j.MaxAttempts, Timeout: j.Timeout}
	if j.Kind == task.KindFunc {
		n.Kind = j.Kind
	}
	return n
}

func (p *page) jobDo(j job.Job, verb string) (parts.Command, string) {
	body, _ := json.Marshal(map[string]string{"note": "why"}) // plain words
	return p.Command("POST", p.APIPath(fmt.Sprintf("/v1/jobs/%d/%s", j.ID, verb)), string(body), "job", verb, fmt.Sprint(j.ID), "--note", "why"), p.Link("jobs", j.ID, verb)
}

func noteField() parts.Field {
	return parts.NewField("note", "Reason", "text", "", "Kept with the job, and in the audit.", nil)
}

// CancelJob asks before a job is canceled.
func (p *page) CancelJob(j job.Job) parts.Confirm {
	cmd, link := p.jobDo(j, "cancel")
	return parts.Confirm{ID: "cancel", Button: "Cancel", Danger: true, Title: fmt.Sprintf("Cancel job %d?", j.ID), Text: cancelText(j), Action: link, Do: "Cancel the job", Fields: []parts.Field{noteField()}, Cmd: &cmd}
}

// RetryJob asks before a job is made ready again.
func (p *page) RetryJob(j job.Job) parts.Confirm {
	cmd, link := p.jobDo(j, "retry")
	return parts.Confirm{ID: "retry", Button: "Retry", Title: fmt.Sprintf("Retry job %d?", j.ID),
		Text:   retryText(j),
		Action: link, Fields: []parts.Field{noteField()}, Hidden: map[string]string{"key": p.RetryKey(j)}, Cmd: &cmd}
}

// RetryKey is the idempotency key of a form that retries a job after the end that the page shows: sent again, it does not retry a
// later end.
func (*page) RetryKey(j job.Job) string { return fmt.Sprintf("page %d", j.FinishedAt.UnixMicro()) }

// AgainJob asks before another job like one is enqueued.
func (p *page) AgainJob(j job.Job) parts.Confirm {
	n := likeJob(j)
	cmd := p.enqueueCommand(n)
	return parts.Confirm{ID: "again", Button: "Run again", Title: fmt.Sprintf("Run job %d again?", j.ID),
		Text:   "A new job of the same task begins, with the same input, queue, priority and tags. This one stays as it is.",
		Action: p.Link("jobs", j.ID, "again"), Do: "Run again", Cmd: &cmd}
}

// JobCommand is reading the job without this page.
func (p *page) JobCommand(j job.Job) parts.Command {
	return p.Command("GET", p.APIPath(fmt.Sprintf("/v1/jobs/%d", j.ID)), "", "job", "show", fmt.Sprint(j.ID))
}

// WhyCommand is asking why without this page.
func (p *page) WhyCommand(j job.Job) parts.Command {
	return p.Command("GET", p.APIPath(fmt.Sprintf("/v1/jobs/%d/why", j.ID)), "", "job", "why", fmt.Sprint(j.ID))
}

// LogCommand is following the log without this page.
func (p *page) LogCommand(j job.Job) parts.Command {
	return p.Command("GET", p.APIPath(fmt.Sprintf("/v1/jobs/%d/logs", j.ID), "follow", "true"), "", "job", "logs", "--follow", fmt.Sprint(j.ID))
}
