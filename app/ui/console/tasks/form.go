package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/nearest"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type taskFormAPI interface {
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
	Enqueue(ctx context.Context, jobs []job.NewJob) ([]job.Enqueued, error)
	Queues(ctx context.Context) ([]job.QueueStats, error)
	KeptSecrets(ctx context.Context, f view.DocumentFilter) (core.Page[task.KeptSecret], error)
	Try(ctx context.Context, t view.Trial) (view.Tried, error)
	trialAPI
}

const (
	offeredTasks = 200 // whose tags a form offers
	offeredTags  = 100
)

// taskForm is the form of a task: by the inputs of its kind, or as
// its whole definition. When the person changes the tab, one is computed from the other.
type taskForm struct {
	forms.Form
	Name string // of a task that is there
	Kind task.Kind

	Whole bool // it is shown as its definition
	Text  string
	Rest  string       // the settings without an input
	Other []parts.Fact // typed values of other kinds
	Tried *view.Tried
	Trial *trial
	Unfit error    // why the definition cannot be saved
	Notes []string // warnings

	values  url.Values
	doc     forms.Document
	groups  []forms.InputGroup
	queues  []string // suggestions of inputs
	tags    []string
	secrets []string
}

// NeedsSteps reports that it is a workflow whose steps are yet to be written, in its text: it cannot be saved before.
func (f *taskForm) NeedsSteps() bool {
	return f.Kind == task.KindWorkflow && !f.Whole && f.doc.At("workflow") == nil
}

// groupsOf is the form of a kind.
func (f *taskForm) groupsOf() []forms.InputGroup {
	info := f.Kind.Info()
	own, more := forms.KindInputs(string(f.Kind)+".", info.Fields)
	for i := range own {
		if own[i].Path == "program.secrets" {
			own[i].Offers = f.secrets
		}
	}
	var about []forms.Input
	if f.New {
		about = append(about, forms.Input{Path: "name", Label: "Name", Need: true, Hint: "Letters, digits, dots, dashes and underscores."})
	}
	about = append(about, forms.Input{Path: "title", Label: "Title", Hint: forms.TitleHint}, forms.Input{Path: "description", Label: "Description"})
	attempts := forms.Input{Path: "retry.max_attempts", Label: "Maximum attempts", Kind: forms.AsNumber, Hint: "Default: 3; 1: no retry."}
	advanced := slices.Concat(more, []forms.Input{
		{Path: "retry.backoff", Label: "Backoff", Kind: forms.AsChoice, Options: []string{"", "fixed", "linear", "exponential"}},
		{Path: "retry.delay", Label: "First delay", Kind: forms.AsDuration, Hint: "Before the first retry. Default: 10s."},
		{Path: "retry.max_delay", Label: "Maximum delay", Kind: forms.AsDuration, Hint: "Default: 1h."},
		{Path: "retry.on_lost", Label: "If its worker is lost", Kind: forms.AsChoice, Options: []string{"", "retry", "fail"}},
		{Path: "priority", Label: "Priority", Kind: forms.AsNumber, Hint: "From -1000 to 1000; higher runs first within its queue."},
		{Path: "requirements.labels", Label: "Required worker labels", Kind: forms.AsPairs, Hint: "Only a worker with all of them runs it, such as gpu: true."},
		{Path: "input", Label: "Input", Kind: forms.AsJSON, Hint: "JSON for jobs that bring none."},
	})
	if f.Kind != task.KindCycle {
		advanced = append(advanced,
			forms.Input{Path: "limits", Label: "Limits", Kind: forms.AsLimits, Hint: "One a line, up to 4, such as running=5, or key=input.customer,rate=100/1m,burst=10: how many jobs run at once or begin in a time, for each value of a key."})
	}
	if f.Kind != task.KindCycle && f.Kind != task.KindWorkflow {
		advanced = append(advanced,
			forms.Input{Path: "sequence.key", Label: "One after the other, for each", Hint: "A key such as input.account: jobs with the same value run one at a time, in their order."},
			forms.Input{Path: "sequence.on_failure", Label: "If one of them fails for good", Kind: forms.AsChoice, Options: []string{"", "stop", "continue", "skip"},
				Names: map[string]string{"": "Default: stop, where there is a key", "stop": "Stop the others", "continue": "Go on with the next", "skip": "Skip those that wait"},
				Hint:  "Stop holds the others until it is retried or resumed. With a choice and no key, all jobs run one after the other."})
	}
	advanced = append(advanced,
		forms.Input{Path: "throttle.key", Label: "Throttle, for each", Hint: "A key such as input.customer: one job of a value is made in the window, and others are answered with it."},
		forms.Input{Path: "throttle.window", Label: "Window of the throttle", Kind: forms.AsDuration, Hint: "Such as 30s. With a window and no key, all jobs share it. Runs of schedules are not throttled."},
		forms.Input{Path: "debounce.key", Label: "Debounce, for each", Hint: "A key such as input.customer: requests of a value share one job, and the last one counts."},
		forms.Input{Path: "debounce.window", Label: "Window of the debounce", Kind: forms.AsDuration, Hint: "Such as 30s: the job starts when no request has come for that long. With a window and no key, all requests share it. Not beside a throttle."},
		forms.Input{Path: "debounce.max", Label: "Longest debounce", Kind: forms.AsDuration, Hint: "Such as 5m: how long after the first request it starts at the latest. Default: ten windows."})
	if info.Values != "" {
		advanced = append(advanced,
			forms.Input{Path: "conditions", Label: "Conditions", Kind: forms.AsLines, Hint: "Expressions that must hold of the answer, one a line, such as latency < 500ms."})
	}
	return []forms.InputGroup{
		{Grid: true, Inputs: about},
		{Title: kindTitle(info), Inputs: own},
		{Title: "Execution", Grid: true, Inputs: []forms.Input{
			{Path: "timeout", Label: "Timeout", Kind: forms.AsDuration, Hint: "Per attempt, such as 5m or 2 hours. Default: 1h."},
			attempts,
			{Path: "queue", Label: "Queue", Hint: "Default: default.", Offers: f.queues},
			{Path: "tags", Label: "Tags", Kind: forms.AsWords, Hint: "For filters and alert rules.", Offers: f.tags},
		}},
		{Title: "Advanced", Drawer: true, Inputs: advanced},
	}
}

// IsSecret reports that a field, of any kind, is one whose value is kept nowhere but here.
func (f *taskForm) IsSecret(path string) bool {
	kind, _, _ := strings.Cut(path, ".")
	own, more := forms.KindInputs(kind+".", task.Kind(kind).Info().Fields)
	return slices.ContainsFunc(slices.Concat(own, more), func(in forms.Input) bool {
		return in.Path == path && (in.Kind == forms.AsSecret || in.Kind == forms.AsSecrets)
	})
}

// Does describes a job of the task.
func (f *taskForm) Does() string {
	info := f.Kind.Info()
	return cmp.Or(info.Does, info.Text)
}

// Definition is the input of the whole.
func (f *taskForm) Definition() parts.Field {
	in := parts.NewField("definition", "Definition", "area", f.Text, "YAML or JSON, as the API has it. A removed field gets its default. A secret that is left as shown is kept.", f.Err).Need()
	in.Code = true
	return in
}

const firstTask = "name: hello\ncommand:\n  shell: echo hello\ntimeout: 5m\nretry:\n  max_attempts: 3\n"

// firstSteps are those of a workflow that has none yet, to be changed.
var firstSteps = task.Workflow{Steps: []task.Step{{Name: "first", Task: "a-task"}, {Name: "second", Task: "another-task", Needs: []string{"first"}}}}

func newTask(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	f := p.form("")
	switch kind := task.Kind(p.Query("kind")); {
	case kind == "json" || kind == "yaml":
		f.Whole, f.Text = true, firstTask
	case kind != "" && slices.Contains(task.TaskKinds, kind):
		f.Kind = kind
	}
	f.doc = forms.Document{"kind": string(f.Kind)}
	if of := p.Query("copy"); of != "" {
		t, err := p.api.Task(p.R.Context(), p.Namespace, of)
		if err != nil {
			return err
		}
		f.Kind, f.doc = t.Kind, definitionOf(t)
	}
	f.Trial = p.lastTrial()
	return p.showTask(f)
}

func editTask(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	t, err := p.api.Task(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	if own := string(t.Kind) + "s"; p.Site.Pages["GET /"+own+"/{name}/edit"] {
		http.Redirect(p.W, p.R, p.Link(own, t.Name, "edit"), http.StatusSeeOther)
		return nil
	}
	f := p.form(t.Name)
	f.Title, f.Version, f.Kind, f.doc = "Edit task "+cmp.Or(t.Title, t.Name), t.Version(), t.Kind, definitionOf(t)
	if p.Query("as") == "yaml" {
		f.Whole, f.Text = true, p.written(f.doc)
	}
	f.Trial = p.lastTrial()
	return p.showTask(f)
}

// definitionOf is a task without the fields that an edit cannot change.
func definitionOf(t task.Task) forms.Document {
	doc := forms.DocumentOf(t)
	delete(doc, "namespace")
	delete(doc, "name")
	return doc
}

// form is an empty one.
func (p *page) form(name string) *taskForm {
	f := &taskForm{Name: name, Kind: task.KindCommand, Form: forms.Form{Title: "New task", New: true, Action: p.Link("tasks", "-new"), Back: p.Link("tasks"), Save: "Create"}}
	if name != "" {
		f.Title, f.New, f.Action, f.Back, f.Save = "Edit task "+name, false, p.Link("tasks", name, "edit"), p.Link("tasks", name), "Save"
	}
	return f
}

// offer reads the suggestions of inputs. A failed read leaves them out.
func (p *page) offer(f *taskForm) {
	ctx := p.R.Context()
	var queues []job.QueueStats
	var tasks core.Page[task.Task]
	var secrets core.Page[task.KeptSecret]
	_ = frame.Together(
		frame.Get(&queues, func() ([]job.QueueStats, error) { return p.api.Queues(ctx) }),
		frame.Get(&tasks, func() (core.Page[task.Task], error) {
			return p.api.Tasks(ctx, task.Filter{Namespace: p.Namespace, Paging: core.Paging{Limit: offeredTasks}})
		}),
		frame.Get(&secrets, func() (core.Page[task.KeptSecret], error) {
			if f.Kind != task.KindProgram || p.Namespace == core.AnyNamespace {
				return core.Page[task.KeptSecret]{}, nil
			}
			return p.api.KeptSecrets(ctx, view.DocumentFilter{Namespace: p.Namespace})
		}),
	)
	for _, q := range queues {
		f.queues = append(f.queues, q.Name)
	}
	tags := map[string]bool{}
	for _, t := range tasks.Items {
		for _, tag := range t.Tags {
			tags[tag] = true
		}
	}
	f.tags = slices.Sorted(maps.Keys(tags))
	f.tags = f.tags[:min(len(f.tags), offeredTags)]
	for _, s := range secrets.Items {
		f.secrets = append(f.secrets, s.Name)
	}
}

// showTask shows a form whose document is known.
func (p *page) showTask(f *taskForm) error {
	if f.groups == nil {
		p.offer(f)
		f.groups = f.groupsOf()
	}
	inputs := forms.InputsOf(f.groups)
	values := f.values
	if values == nil {
		values = f.doc.Values(inputs)
		if f.New && values.Get("http.method") == "" {
			values.Set("http.method", "GET")
		}
	}
	f.Err = forms.AtFirst(f.Err, string(f.Kind)+".", f.Kind.Info().Fields)
	f.Groups = forms.Fill(f.groups, values, f.Err)
	f.Rest = f.doc.Rest(inputs)
	for name, all := range values {
		kind, _, is := strings.Cut(name, ".")
		if !is || kind == string(f.Kind) || !slices.Contains(task.TaskKinds, task.Kind(kind)) {
			continue
		}
		for _, v := range all {
			f.Other = append(f.Other, parts.Fact{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(f.Other, func(a, b parts.Fact) int { return strings.Compare(a.Name, b.Name) })
	if f.Whole {
		f.Groups = nil // faults of fields stand above the definition
	} else {
		f.Text = p.written(f.doc)
		f.look()
	}
	if f.IsCheck() && !f.Whole {
		f.Try = "Try it"
	}
	f.Command = p.taskCommand(f)
	if f.Err != nil {
		return p.Again("task-form", f, f.Err)
	}
	return p.Show("task-form", f)
}

// look finds the faults of the task, and warnings about probable mistakes.
func (f *taskForm) look() {
	var t task.Task
	if f.Unfit = f.doc.To(&t); f.Unfit != nil {
		return
	}
	if t.Name == "" {
		t.Name = f.Name
	}
	t = t.WithDefaults()
	f.Unfit = t.Validate()
	if len(f.queues) > 0 && !slices.Contains(f.queues, t.Queue) {
		note := "There is no queue " + strconv.Quote(t.Queue) + " yet: it has no limits of its own."
		if near := nearest.Of(t.Queue, f.queues); near != "" {
			note += " Did you mean " + strconv.Quote(near) + "?"
		}
		f.Notes = append(f.Notes, note)
	}
}

// Lacks is the first reason why it cannot be saved.
func (f *taskForm) Lacks() string {
	faults := parts.FaultsOf(f.Unfit)
	if len(faults) == 0 {
		if f.Unfit != nil {
			return f.Unfit.Error()
		}
		return ""
	}
	return faults[0].Field + " " + faults[0].Message
}

// written is a definition as text, in the order of a task.
func (p *page) written(doc forms.Document) string {
	var t task.Task
	if doc.To(&t) != nil {
		return ""
	}
	text, err := p.Site.WriteDefinition(t)
	if err != nil {
		return ""
	}
	return text
}

// readTask reads the sent fields into the document of the form.
func (p *page) readTask(f *taskForm) error {
	form := p.R.PostForm
	if form.Has("definition") {
		f.Whole, f.Text = true, strings.ReplaceAll(form.Get("definition"), "\r\n", "\n")
		var t task.Task
		if err := p.Site.ReadDefinition(f.Text, "task", &t); err != nil {
			return err
		}
		if !f.New && t.Name != "" && t.Name != f.Name {
			return core.InvalidField("definition", "", "renames the task", "a name stays; create another task instead")
		}
		f.doc = forms.DocumentOf(t)
		delete(f.doc, "namespace")
		if f.Kind = t.WithDefaults().Kind; f.Kind != "" {
			f.doc["kind"] = string(f.Kind)
		}
		if _, kind, is := strings.Cut(form.Get("do"), "kind "); is && kind != string(f.Kind) && slices.Contains(task.TaskKinds, task.Kind(kind)) {
			delete(f.doc, string(f.Kind))
			f.Kind, f.doc["kind"] = task.Kind(kind), kind
		}
		return nil
	}
	f.values, f.doc = form, forms.RestOf(form.Get("rest"))
	if kind := task.Kind(cmp.Or(form.Get("kind"), p.Query("kind"))); slices.Contains(task.TaskKinds, kind) {
		f.Kind = kind
	}
	if do, kind, is := strings.Cut(form.Get("do"), " "); is && do == "kind" && slices.Contains(task.TaskKinds, task.Kind(kind)) {
		delete(f.doc, string(f.Kind))
		f.Kind = task.Kind(kind)
	}
	p.offer(f)
	f.groups = f.groupsOf()
	err := f.doc.Read(forms.InputsOf(f.groups), form)
	f.doc["kind"] = string(f.Kind)
	if info := f.Kind.Info(); f.Kind != task.KindFunc && len(info.Fields) > 0 && f.doc.At(string(f.Kind)) == nil {
		f.doc[string(f.Kind)] = map[string]any{}
	}
	return err
}

// writeTask does what a button of the form says: save the task, show it in
// another way, or try it.
func writeTask(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	f := p.form(p.R.PathValue("name"))
	f.Version = p.R.PostFormValue("version")
	err := p.readTask(f)
	do, _, _ := strings.Cut(p.R.PostFormValue("do"), " ")
	switch do {
	case "preview", "kind":
		if do == "preview" && err != nil {
			f.Unfit = err
		}
		if do == "kind" && f.Whole { // from the definition to a kind
			f.Err = err
			f.Whole = err != nil
		}
		return p.showTask(f)
	case "form":
		if f.Err = err; err == nil {
			f.Whole = false
		}
		return p.showTask(f)
	case "yaml":
		if f.Err = err; err == nil {
			if f.Kind == task.KindWorkflow && f.doc.At("workflow") == nil {
				f.doc["workflow"] = firstSteps
			}
			f.Whole, f.Text = true, p.written(f.doc)
		}
		return p.showTask(f)
	}
	var t task.Task
	err = cmp.Or(err, f.doc.To(&t))
	if err == nil && do == "try" {
		return p.tryTask(f, t)
	}
	if err == nil && do == "trial" {
		return p.runTrial(f, t)
	}
	if err == nil {
		var saved task.Task
		if saved, err = p.saveTask(f, t); err == nil {
			return p.saved(f, saved, do)
		}
	}
	if !f.New && f.Clash == nil {
		t.Name = f.Name
		var both *task.Task
		f.Edit, both, f.Err = forms.Meanwhile(p.Page, p.api, err, "task", f.Name, p.Link("tasks", f.Name, "edit"), t, func() (task.Task, error) {
			return p.api.Task(p.R.Context(), p.Namespace, f.Name)
		})
		if both != nil {
			f.Kind, f.doc, f.values, f.groups = both.Kind, definitionOf(*both), nil, nil
			f.Text = p.written(f.doc)
		}
		if f.Clash != nil {
			p.Status = p.Site.Status(err)
		}
		return p.showTask(f)
	}
	if f.Whole {
		f.Err = p.Site.PlaceDefinition(f.Text, &task.Task{}, err)
	} else {
		f.Err = forms.AllFaults(err, t, p.Now)
	}
	return p.showTask(f)
}

func (p *page) saveTask(f *taskForm, t task.Task) (task.Task, error) {
	t.Namespace = ""
	if p.Namespace != core.AnyNamespace {
		t.Namespace = p.Namespace
	}
	if f.New {
		return p.api.CreateTask(p.R.Context(), t)
	}
	t.Name = f.Name
	return p.api.UpdateTask(forms.Expecting(p.Page), t)
}

// saved leads to the next page after a task was saved.
func (p *page) saved(f *taskForm, t task.Task, do string) error {
	said := "Created task " + t.Name + "."
	if !f.New {
		said = "Task " + t.Name + " is changed: jobs that start from now on run as it is now."
	}
	link := p.LinkIn(t.Namespace, "tasks", t.Name)
	switch do {
	case "run":
		done, err := p.api.Enqueue(p.R.Context(), []job.NewJob{{Namespace: t.Namespace, Task: t.Name}})
		if err != nil {
			return p.DoneBadly(link, "%s It was not run: %s", said, err)
		}
		return p.Done(p.LinkIn(t.Namespace, "jobs", done[0].Job.ID), "%s %s", said, cmp.Or(parts.JoinedText(done[0]), fmt.Sprintf("Job %d is enqueued.", done[0].Job.ID)))
	case "schedule":
		return p.Done(p.With(p.LinkIn(t.Namespace, "schedules", "-new"), "task", t.Name), "%s Now say when it runs.", said)
	}
	return p.Done(link, "%s", said)
}

// taskCommand is saving without this page.
func (p *page) taskCommand(f *taskForm) parts.Command {
	var t task.Task
	body := `{"name":"backup","command":{"shell":"./backup.sh"}}`
	if len(f.doc) > 1 && f.doc.To(&t) == nil {
		if text, err := plainjson.Marshal(t); err == nil {
			body = string(text)
		}
	}
	if f.New {
		return p.Command("POST", p.APIPath("/v1/tasks"), body, "task", "create", "-f", "task.yaml")
	}
	return p.Command("PUT", p.APIPath("/v1/tasks/"+url.PathEscape(f.Name)), body, "task", "update", f.Name, "-f", "task.yaml")
}
