package queues

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

type queueAPI interface {
	Queues(ctx context.Context) ([]job.QueueStats, error)
	Queue(ctx context.Context, name string) (job.QueueStats, error)
	SaveQueue(ctx context.Context, q job.Queue) (job.Queue, error)
	DeleteQueue(ctx context.Context, name string) error
	PauseQueue(ctx context.Context, name, reason string) (job.Queue, error)
	ResumeQueue(ctx context.Context, name string) (job.Queue, error)
	QueueLimitUse(ctx context.Context, name string) ([]view.LimitUse, error)
	JobMinutes(ctx context.Context, q job.MinuteQuery) ([]job.MinuteTotals, error)
	QueueSamples(ctx context.Context, q job.SampleQuery) (job.Samples, error)
}

var queueRoutes = routes{
	"GET /queues":                queueList,
	"GET /queues/-new":           newQueue,
	"POST /queues/-new":          saveQueue,
	"GET /queues/{name}":         queuePage,
	"GET /queues/{name}/edit":    editQueue,
	"POST /queues/{name}/edit":   saveQueue,
	"POST /queues/{name}/delete": deleteQueue,
	"POST /queues/{name}/pause":  pauseQueue,
	"POST /queues/{name}/resume": resumeQueue,
}

func queueList(p *page) error {
	ctx := p.R.Context()
	var all []job.QueueStats
	var day job.Samples
	err := frame.Together(
		frame.Get(&all, func() ([]job.QueueStats, error) { return p.api.Queues(ctx) }),
		frame.Get(&day, func() (job.Samples, error) {
			return p.api.QueueSamples(ctx, job.SampleQuery{Namespace: p.Token.Namespace, Within: sparkHours * time.Hour, Step: time.Hour})
		}),
	)
	if err != nil {
		return err
	}
	return p.Show("queues", queueRows(p.Now, all, day))
}

type queueData struct {
	job.QueueStats
	Minutes []job.MinuteTotals
	Hour    job.MinuteTotals // all of them
	Use     []view.LimitUse  // for those who may see all namespaces: its keys are values of inputs
	Range   depthRange
	Samples job.Samples
}

func queuePage(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	d := queueData{Range: depthRangeOf(p.Query("range"))}
	err := frame.Together(
		frame.Get(&d.Samples, func() (job.Samples, error) {
			return p.api.QueueSamples(ctx, job.SampleQuery{Namespace: p.Token.Namespace, Queues: []string{name}, Within: d.Range.Span})
		}),
		frame.Get(&d.QueueStats, func() (job.QueueStats, error) { return p.api.Queue(ctx, name) }),
		frame.Get(&d.Minutes, func() ([]job.MinuteTotals, error) {
			return p.api.JobMinutes(ctx, job.MinuteQuery{Namespace: p.Token.Namespace, Queue: name})
		}),
	)
	if err != nil {
		return err
	}
	for _, m := range d.Minutes {
		d.Hour.Add(m)
	}
	if len(d.Limits) > 0 && p.CanEverywhere(access.ScopeRead) {
		if d.Use, err = p.api.QueueLimitUse(ctx, name); err != nil {
			return err
		}
	}
	return p.Show("queue", d)
}

// EndedPerHour is how many of its jobs ended within the hour, in any way. It is the sum of the chart below it.
func (d queueData) EndedPerHour() int64 {
	return d.Hour.OK + d.Hour.Failed + d.Hour.Canceled + d.Hour.Skipped
}

// Lag is how long they waited from due to start.
func (d queueData) Lag() string {
	if d.Hour.Started == 0 {
		return "–"
	}
	return core.SpanText(d.Hour.Lag / core.Duration(d.Hour.Started))
}

// queueForm is a queue as a person edits it.
type queueForm struct {
	forms.Edit
	Saved string // name of the one that is edited; empty: a new one
	Err   error

	name, title, description, concurrency, limit, priority, limits, fair, weights, waiting, full, ageing string
}

func newQueue(p *page) error {
	return queueForm{concurrency: strconv.Itoa(job.DefaultConcurrency)}.show(p, nil)
}

func editQueue(p *page) error {
	q, err := p.api.Queue(p.R.Context(), p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return queueFormOf(q.Queue, forms.Edit{Version: q.Version()}).show(p, nil)
}

// queueFormOf is the form of a queue that is there.
func queueFormOf(q job.Queue, e forms.Edit) queueForm {
	f := queueForm{Edit: e, Saved: q.Name, title: q.Title, description: q.Description, concurrency: strconv.Itoa(q.Concurrency), priority: strconv.Itoa(q.Priority)}
	if q.GlobalLimit > 0 {
		f.limit = strconv.Itoa(q.GlobalLimit)
	}
	if q.Bounded() {
		f.waiting, f.full = strconv.Itoa(q.MaxWaiting), string(q.OnFull)
	}
	if q.Ageing > 0 {
		f.ageing = q.Ageing.String()
	}
	f.limits = strings.Join(flow.LimitTexts(q.Limits), "\n")
	if q.Fair != nil {
		f.fair, f.weights = q.Fair.Key, strings.Join(q.Fair.WeightTexts(), "\n")
	}
	return f
}

// Called is the queue for people.
func (f queueForm) Called() string { return core.Or(f.title, f.Saved) }

func (f queueForm) show(p *page, refused error) error {
	if !p.CanEverywhere(access.ScopeAdmin) {
		return core.Errorf(core.Forbidden, "your token may not change queues").WithHint("it takes one with the scope admin, for all namespaces")
	}
	if refused != nil {
		return p.Again("queue-form", f, refused)
	}
	return p.Show("queue-form", f)
}

func saveQueue(p *page) error {
	form := p.R.PostForm
	at := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	f := queueForm{Saved: p.R.PathValue("name"), name: at("name"), title: at("title"), description: at("description"), concurrency: at("concurrency"), limit: at("global_limit"), priority: at("priority"), limits: at("limits"), fair: at("fair.key"), weights: at("fair.weights"), waiting: at("max_waiting"), full: at("on_full"), ageing: at("ageing")}
	q, err := f.queue(p)
	if err == nil {
		_, err = p.api.SaveQueue(forms.Expecting(p.Page), q)
	}
	if err != nil {
		e, both, shown := forms.Meanwhile(p.Page, p.api, err, "queue", f.Saved, p.Link("queues", f.Saved, "edit"), q, func() (job.Queue, error) {
			s, err := p.api.Queue(p.R.Context(), f.Saved)
			return s.Queue, err
		})
		if both != nil {
			f = queueFormOf(*both, e)
		}
		f.Edit, f.Err = e, shown
		return f.show(p, err)
	}
	return p.Done(p.Link("queues", q.Name), "Queue %s is saved.", q.Name)
}

// queue is what the form describes. A new one is not to replace another.
func (f queueForm) queue(p *page) (q job.Queue, err error) {
	faults := &core.Error{Code: core.Invalid, Message: "the queue is not saved"}
	if f.Saved == "" {
		q.Name = f.name
		switch _, err := p.api.Queue(p.R.Context(), q.Name); {
		case q.Name == "" || core.CodeOf(err) == core.NotFound || core.CodeOf(err) == core.Invalid: // the rest is looked at too
		case err != nil:
			return q, err
		default:
			faults = core.Errorf(core.Conflict, "there is a queue %s already", q.Name).WithHint("edit that one, or take another name")
			faults.Fields = []core.FieldError{{Field: "name", Value: q.Name, Message: "is taken"}}
		}
	} else {
		s, err := p.api.Queue(p.R.Context(), f.Saved)
		if err != nil {
			return q, err
		}
		q = s.Queue
	}
	q.Title, q.Description = f.title, f.description
	for _, n := range []struct {
		name, text string
		to         *int
	}{{"concurrency", f.concurrency, &q.Concurrency}, {"global_limit", f.limit, &q.GlobalLimit}, {"max_waiting", f.waiting, &q.MaxWaiting}, {"priority", f.priority, &q.Priority}} {
		*n.to = 0
		if n.text == "" {
			continue
		}
		if *n.to, err = strconv.Atoi(n.text); err != nil {
			faults.Fields = append(faults.Fields, core.FieldError{Field: n.name, Value: n.text, Message: "is not a whole number"})
		}
	}
	if q.OnFull = ""; q.MaxWaiting != 0 {
		q.OnFull = job.OnFull(f.full)
	}
	if q.Ageing = 0; f.ageing != "" {
		if q.Ageing, err = forms.ReadLength(f.ageing); err != nil {
			faults.Fields = append(faults.Fields, core.FieldError{Field: "ageing", Value: f.ageing, Message: err.Error()})
		}
	}
	q.Limits, err = f.bounds()
	faults.Fields = append(faults.Fields, parts.FaultsOf(err)...)
	q.Fair, err = f.turns()
	faults.Fields = append(faults.Fields, parts.FaultsOf(err)...)
	if len(faults.Fields) > 0 {
		return q, faults
	}
	return q, nil
}

func linesOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

// bounds are the limits of the queue.
func (f queueForm) bounds() ([]flow.Limit, error) {
	return flow.ParseLimits("limits", linesOf(f.limits))
}

// turns is how the queue takes turns; nil: the oldest goes first.
func (f queueForm) turns() (*flow.Fair, error) {
	weights, err := flow.ParseWeights(linesOf(f.weights))
	if err != nil || f.fair == "" && weights == nil {
		return nil, err
	}
	return &flow.Fair{Key: f.fair, Weights: weights}, nil
}

// fullWords are the policies for new jobs of a full queue, for people.
var fullWords = map[string]string{
	string(job.OnFullRefuse):     "Refuse new jobs",
	string(job.OnFullDropOldest): "Drop the oldest of the lowest priority",
}

var fullOptions = []string{string(job.OnFullRefuse), string(job.OnFullDropOldest)}

// Fields are the inputs.
func (f queueForm) Fields() []parts.Field {
	fields := []parts.Field{
		parts.NewField("title", "Title (optional)", "text", f.title, forms.TitleHint, f.Err),
		parts.NewField("description", "Description (optional)", "text", f.description, "", f.Err),
		parts.NewField("concurrency", "Jobs at the same time on each worker", "number", f.concurrency, "", f.Err).Need(),
		parts.NewField("global_limit", "On all workers together", "number", f.limit, "Empty: no limit.", f.Err),
		parts.NewField("priority", "Priority among queues", "number", f.priority, "Higher is served first by a worker with few free slots; −1000 to 1000.", f.Err),
		parts.NewField("max_waiting", "Most jobs waiting (optional)", "number", f.waiting, "Jobs that have not ended and do not run; up to 100,000. Empty: no bound.", f.Err),
		parts.NewField("on_full", "When it is full", "select", f.full, "Retries, steps and checks are always let in, and never dropped.", f.Err).Among(fullOptions...).Named(fullWords),
		parts.NewField("ageing", "Ageing (optional)", "text", f.ageing, "Each time a job has waited this long, such as 10m, its priority counts as one higher, up to the highest that waits. Empty: jobs do not age.", f.Err),
		parts.NewField("limits", "Limits (optional)", "area", f.limits, "One a line, up to 4, such as running=20, or key=input.customer,rate=100/1m,burst=10: how many of its jobs run at once or begin in a time, for each value of a key.", f.Err),
		parts.NewField("fair.key", "Take turns by (optional)", "text", f.fair, "Jobs with the same value share turns, such as input.customer, namespace or task. Empty: the oldest goes first.", f.Err),
		parts.NewField("fair.weights", "Weights (optional)", "area", f.weights, "One a line, such as acme=3: three turns for each of another; 1 to 100.", f.Err),
	}
	if f.Saved == "" {
		return append([]parts.Field{parts.NewField("name", "Name", "text", f.name, "Letters, digits, dots, dashes and underscores.", f.Err).Need()}, fields...)
	}
	return fields
}

// SaveQueueCommand is saving it, without this page.
func (p *page) SaveQueueCommand(f queueForm) parts.Command {
	name, verb := f.Saved, "update"
	if name == "" {
		name, verb = f.name, "create"
	}
	if name == "" {
		name = "NAME"
	}
	fields := map[string]any{}
	words := []string{"queue", verb, name}
	for _, n := range [][3]string{{"concurrency", "--concurrency", f.concurrency}, {"global_limit", "--global-limit", f.limit}, {"max_waiting", "--max-waiting", f.waiting}, {"priority", "--priority", f.priority}} {
		if v, err := strconv.Atoi(n[2]); err == nil && v != 0 {
			fields[n[0]] = v
			words = append(words, n[1], n[2])
		}
	}
	if f.full != "" && fields["max_waiting"] != nil {
		fields["on_full"] = f.full
		words = append(words, "--on-full", f.full)
	}
	if age, err := forms.ReadLength(f.ageing); err == nil && age != 0 {
		fields["ageing"] = age.String()
		words = append(words, "--ageing", age.String())
	}
	if limits, err := f.bounds(); err == nil && len(limits) > 0 {
		fields["limits"] = limits
		for _, text := range flow.LimitTexts(limits) {
			words = append(words, "--limit", text)
		}
	}
	if fair, err := f.turns(); err == nil && fair != nil {
		fields["fair"] = fair
		words = append(words, "--fair", fair.Key)
		for _, text := range fair.WeightTexts() {
			words = append(words, "--fair-weight", text)
		}
	}
	if f.title != "" {
		fields["title"] = f.title
		words = append(words, "--title", f.title)
	}
	if f.description != "" {
		fields["description"] = f.description
		words = append(words, "--description", f.description)
	}
	body, _ := plainjson.Marshal(fields) // plain words and numbers
	return p.Command("PUT", "/v1/queues/"+url.PathEscape(name), string(body), words...)
}

func deleteQueue(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteQueue(p.R.Context(), name); err != nil {
		return err
	}
	return p.Done(p.Link("queues"), "Queue %s is deleted.", name)
}

func pauseQueue(p *page) error {
	q, err := p.api.PauseQueue(p.R.Context(), p.R.PathValue("name"), p.R.PostFormValue("reason"))
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("queues", q.Name), p.Link("queues", q.Name, "resume"), "Queue %s is paused: no more of its jobs start.", q.Name)
}

func resumeQueue(p *page) error {
	q, err := p.api.ResumeQueue(p.R.Context(), p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Done(p.Link("queues", q.Name), "Queue %s is resumed.", q.Name)
}

// queueState is the word for a queue's chip.
func queueState(q job.Queue) string {
	if q.PausedAt.IsZero() {
		return "active"
	}
	return "paused"
}

// PauseQueue asks before a queue is paused.
func (p *page) PauseQueue(q job.Queue) parts.Confirm {
	reason, _ := json.Marshal(map[string]string{"reason": "why"}) // plain words
	cmd := p.Command("POST", "/v1/queues/"+url.PathEscape(q.Name)+"/pause", string(reason), "queue", "pause", q.Name, "--reason", "why")
	return parts.Confirm{
		ID: "pause", Button: "Pause", Title: "Pause queue " + q.Name + "?",
		Text:   "Jobs that run go on. No other of its jobs starts, on any worker, until it is resumed.",
		Action: p.Link("queues", q.Name, "pause"),
		Fields: []parts.Field{parts.NewField("reason", "Reason", "text", "", "Shown to everyone, and kept in the audit.", nil)},
		Cmd:    &cmd,
	}
}

// DeleteQueue asks before a queue is deleted.
func (p *page) DeleteQueue(q job.Queue) parts.Confirm {
	cmd := p.Command("DELETE", "/v1/queues/"+url.PathEscape(q.Name), "", "queue", "delete", q.Name)
	return parts.Confirm{
		ID: "delete", Button: "Delete", Danger: true, Title: "Delete queue " + q.Name + "?",
		Text:   "It is refused while tasks or jobs use the queue. Nothing else is lost.",
		Action: p.Link("queues", q.Name, "delete"), Cmd: &cmd,
	}
}

// ResumeQueueCommand is resuming, without this page.
func (p *page) ResumeQueueCommand(q job.Queue) parts.Command {
	return p.Command("POST", "/v1/queues/"+url.PathEscape(q.Name)+"/resume", "", "queue", "resume", q.Name)
}
