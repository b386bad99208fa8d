package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// tasksOffered is how many tasks a form offers by name; others can be typed.
const tasksOffered = 500

// newJobData is the form for a job that a person enqueues by hand, as it was
// filled in.
type newJobData struct {
	Like  *job.Job // the job whose fields fill the form
	Tasks []string
	Err   error

	Task, Kind, Input, Delay, Queue, Priority, Key, Tags, Attempts, Timeout string
}

// Field is an input of the form, with its faults.
func (d newJobData) Field(name, label, kind, value, hint string) parts.Field {
	return parts.NewField(name, label, kind, value, hint, d.Err)
}

func newJobForm(p *page) error {
	if err := p.Allow(access.ScopeOperate); err != nil {
		return err
	}
	d := newJobData{Task: p.Query("task"), Input: p.Query("input")}
	if text := p.Query("like"); text != "" {
		id, err := job.IDFromText("like", text)
		if err != nil {
			return err
		}
		j, err := p.api.Job(p.R.Context(), p.Namespace, id)
		if err != nil {
			return err
		}
		d.Like, d.Task, d.Input = &j, j.Task, parts.Pretty(j.Input)
		d.Queue, d.Priority, d.Tags = j.Queue, strconv.Itoa(j.Priority), strings.Join(j.Tags, ", ")
		d.Attempts, d.Timeout = strconv.Itoa(j.MaxAttempts), j.Timeout.String()
		if j.Kind == task.KindFunc {
			d.Kind = string(j.Kind)
		}
	}
	if err := p.offerTasks(&d); err != nil {
		return err
	}
	return p.Show("job-new", d)
}

func (p *page) offerTasks(d *newJobData) error {
	tasks, err := p.api.Tasks(p.R.Context(), task.Filter{Namespace: p.Namespace, Paging: core.Paging{Limit: tasksOffered}})
	if err != nil {
		return err
	}
	for _, t := range tasks.Items {
		if _, owned := parts.Owner(t.Name); !owned && t.Name != task.CanaryTask {
			d.Tasks = append(d.Tasks, t.Name)
		}
		if t.Name == d.Task && d.Like == nil && d.Input == "" && d.Err == nil {
			d.Input = parts.Pretty(t.Input)
		}
	}
	return nil
}

func enqueueJob(p *page) error {
	value := func(name string) string { return strings.TrimSpace(p.R.PostFormValue(name)) }
	d := newJobData{
		Task: value("task"), Kind: value("kind"), Input: value("input"), Delay: value("delay"), Queue: value("queue"), Priority: value("priority"),
		Key: value("key"), Tags: value("tags"), Attempts: value("max_attempts"), Timeout: value("timeout"),
	}
	n, err := d.newJob(p.Namespace)
	if err == nil {
		var done []job.Enqueued
		if done, err = p.api.Enqueue(p.R.Context(), []job.NewJob{n}); err == nil {
			link := p.LinkIn(done[0].Job.Namespace, "jobs", done[0].Job.ID)
			return p.Done(link, "%s", cmp.Or(parts.JoinedText(done[0]), fmt.Sprintf("Job %d is enqueued.", done[0].Job.ID)))
		}
	}
	d.Err = forms.Both(err, n.Validate(p.Now))
	if err := p.offerTasks(&d); err != nil {
		return err
	}
	return p.Again("job-new", d, d.Err)
}

// newJob reads the form.
func (d newJobData) newJob(namespace string) (job.NewJob, error) {
	n := job.NewJob{Namespace: namespace, Task: d.Task, Queue: d.Queue, Key: d.Key}
	if namespace == core.AnyNamespace {
		n.Namespace = ""
	}
	var faults []core.FieldError
	fault := func(name, value, message, hint string) {
		faults = append(faults, core.FieldError{Field: name, Value: parts.Short(100, value), Message: message, Hint: hint})
	}
	if d.Kind == string(task.KindFunc) {
		n.Kind = task.KindFunc
	}
	if d.Input != "" {
		if message := forms.JSONFault(d.Input); message != "" {
			fault("input", "", "is not JSON: "+message, "")
		}
		n.Input = json.RawMessage(d.Input)
	}
	whole := func(name, text string) int {
		if text == "" {
			return 0
		}
		v, err := strconv.Atoi(text)
		if err != nil {
			fault(name, text, "is not a whole number", "")
		}
		return v
	}
	if d.Priority != "" {
		v := whole("priority", d.Priority)
		n.Priority = &v
	}
	n.MaxAttempts = whole("max_attempts", d.Attempts)
	for _, t := range []struct {
		name, text string
		to         *core.Duration
	}{{"delay", d.Delay, &n.Delay}, {"timeout", d.Timeout, &n.Timeout}} {
		if t.text == "" {
			continue
		}
		v, err := forms.ReadLength(t.text)
		if err != nil {
			fault(t.name, t.text, "is not a length of time", "such as 30s, 10m or 2h")
		}
		*t.to = v
	}
	for tag := range strings.SplitSeq(d.Tags, ",") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(n.Tags, tag) {
			n.Tags = append(n.Tags, tag)
		}
	}
	if len(faults) > 0 {
		e := core.Errorf(core.Invalid, "the job was not enqueued")
		e.Fields = faults
		return n, e
	}
	return n, nil
}

// enqueueCommand is enqueueing without this page.
func (p *page) enqueueCommand(n job.NewJob) parts.Command {
	n.Namespace = ""
	body, _ := plainjson.Marshal(n) // it was JSON before
	cli := []string{"job", "enqueue", n.Task}
	if len(n.Input) > 0 {
		cli = append(cli, "--input", string(plainjson.Unescape(n.Input)))
	}
	if n.Delay > 0 {
		cli = append(cli, "--delay", n.Delay.String())
	}
	if n.Priority != nil && *n.Priority != 0 {
		cli = append(cli, "--priority", strconv.Itoa(*n.Priority))
	}
	if n.Key != "" {
		cli = append(cli, "--key", n.Key)
	}
	return p.Command("POST", p.APIPath("/v1/jobs"), string(body), cli...)
}

// NewJobCommand is the command with the effect of the form.
func (p *page) NewJobCommand(d newJobData) parts.Command {
	n, err := d.newJob(p.Namespace)
	if err != nil || n.Task == "" {
		n = job.NewJob{Task: cmp.Or(d.Task, "TASK"), Input: json.RawMessage(`{}`)}
	}
	return p.enqueueCommand(n)
}
