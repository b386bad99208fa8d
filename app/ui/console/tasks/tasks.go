package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"reflect"
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
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// typed is the command line of a task.
func typed(t task.Task) string { return parts.CommandLine(&t) }

type taskAPI interface {
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
}

var taskRoutes = routes{
	"GET /tasks":                taskList,
	"POST /tasks/-new":          createTask,
	"GET /tasks/-new":           newTaskForm,
	"GET /tasks/{name}":         taskPage,
	"GET /tasks/{name}/edit":    editTaskForm,
	"POST /tasks/{name}/edit":   updateTask,
	"POST /tasks/{name}/delete": deleteTask,
}

// taskShown is how much a task's page shows of each list.
const taskShown = 10

type tasksData struct {
	Tasks  core.Page[task.Task]
	Filter task.Filter
	Hidden bool // Belfry's own task is there and not shown
	Err    error
}

func taskList(p *page) error {
	d := tasksData{Filter: task.Filter{Namespace: p.Namespace, Kind: task.Kind(p.Query("kind")), Tag: strings.TrimSpace(p.Query("tag")), Part: strings.TrimSpace(p.Query("part")), Paging: core.Paging{Cursor: p.Query("cursor")}}}
	var err error
	if d.Tasks, err = p.api.Tasks(p.R.Context(), d.Filter); err != nil {
		return err
	}
	if d.Filter.Part == "" && p.Query("own") == "" {
		all := len(d.Tasks.Items)
		d.Tasks.Items = slices.DeleteFunc(d.Tasks.Items, func(t task.Task) bool { return t.Name == task.CanaryTask })
		d.Hidden = len(d.Tasks.Items) < all
	}
	return p.Show("tasks", d)
}

// Fields are those of the filter.
func (d tasksData) Fields() []parts.Field {
	kinds := []string{""}
	for _, k := range task.TaskKinds {
		kinds = append(kinds, string(k))
	}
	return []parts.Field{
		parts.NewField("part", "Name contains", "search", d.Filter.Part, "", nil),
		parts.NewField("kind", "Kind", "select", string(d.Filter.Kind), "", nil).Among(kinds...),
		parts.NewField("tag", "Tag", "search", d.Filter.Tag, "", nil),
	}
}

// Unfiltered reports that everything is shown.
func (d tasksData) Unfiltered() bool {
	return d.Filter.Kind == "" && d.Filter.Tag+d.Filter.Part == "" && d.Filter.Cursor == ""
}

// TaskPager goes on with the list.
func (p *page) TaskPager(d tasksData) parts.Pager { return p.Pager(d.Tasks.Next) }

type taskData struct {
	Task      task.Task
	Jobs      core.Page[job.Job]
	Count     job.Count
	Schedules core.Page[schedule.Schedule]
}

func taskPage(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	var d taskData
	f := job.Filter{Namespace: p.Namespace, Task: name, Paging: core.Paging{Limit: taskShown}}
	err := frame.Together(
		frame.Get(&d.Task, func() (task.Task, error) { return p.api.Task(ctx, p.Namespace, name) }),
		frame.Get(&d.Jobs, func() (core.Page[job.Job], error) { return p.api.Jobs(ctx, f) }),
		frame.Get(&d.Count, func() (job.Count, error) { return p.api.CountJobs(ctx, f, view.CountOptions{ByState: true}) }),
		frame.Get(&d.Schedules, func() (core.Page[schedule.Schedule], error) {
			return p.api.Schedules(ctx, schedule.Filter{Namespace: p.Namespace, Task: name, Paging: core.Paging{Limit: taskShown}})
		}),
	)
	if err != nil {
		return err
	}
	return p.Show("task", d)
}

// JobsOf is the list of a task's jobs, in some states.
func (p *page) JobsOf(task string, states ...string) string {
	f := job.Filter{Task: task}
	for _, s := range states {
		f.States = append(f.States, job.State(s))
	}
	return p.With(p.Link("jobs"), "q", f.String())
}

// In is how many of its jobs are in a state.
func (d taskData) In(state string) string { return parts.Counted(d.Count.States[job.State(state)]) }

// kindSettings are those of the task's kind, as JSON.
func kindSettings(t task.Task) *parts.Document {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil
	}
	settings := fields[string(t.Kind)]
	if t.Command != nil { // which is shown as it is
		var rest map[string]json.RawMessage
		if json.Unmarshal(settings, &rest) == nil {
			delete(rest, "shell")
			delete(rest, "argv")
			settings, _ = plainjson.Marshal(rest)
		}
		if len(rest) == 0 {
			return nil
		}
	}
	return parts.NewDocument("settings", "Settings of kind "+string(t.Kind), settings)
}

func fieldsOf(t task.Task) (map[string]json.RawMessage, error) {
	raw, err := plainjson.Marshal(t)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(raw, &fields)
}

// taskFields is the order of a definition's fields, for people.
var taskFields = func() []string {
	list := []string{"name", "kind", "description", "tags", "queue", "priority", "timeout", "retry", "input", "requirements"}
	for _, k := range task.KindTable {
		list = append(list, string(k.Kind))
	}
	return append(list, "conditions", "warnings")
}()

// definition is a task as it is edited: without what Belfry itself writes.
func definition(t task.Task) (string, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	b.WriteString("{")
	for _, name := range taskFields {
		if len(fields[name]) == 0 || name == "name" && t.ID != 0 {
			continue
		}
		if b.Len() > 1 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "%q:%s", name, fields[name])
	}
	b.WriteString("}")
	return parts.Pretty(b.Bytes()), nil
}

// taskForm is a definition that somebody writes.
type taskForm struct {
	forms.Edit
	Name string // of a task that is there
	Text string
	Err  error

	Script string // of a task that runs a shell's command
}

// ScriptField is the command of the task, which is edited as it is.
func (f taskForm) ScriptField() parts.Field {
	return parts.NewField("script", "Command", "area", f.Script, "The shell runs it.", nil)
}

// Definition is the input of the form, with what was wrong with it.
func (f taskForm) Definition() parts.Field {
	in := parts.NewField("definition", "Definition", "area", f.Text, "JSON, as the API has it. Lengths of time are such as 30s, 10m or 2h.", f.Err).Need()
	return in
}

const firstTask = `{
  "name": "hello",
  "command": {"shell": "echo hello"},
  "timeout": "5m",
  "retry": {"max_attempts": 3}
}`

func newTaskForm(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	if kind := newTaskKind(p.Query("kind")); kind != "" {
		return p.Show("task-new", p.newTask(kind, url.Values{"http.method": {"GET"}}, nil))
	}
	return p.Show("task-edit", taskForm{Text: firstTask})
}

func editTaskForm(p *page) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	t, err := p.api.Task(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	f := taskForm{Name: t.Name, Edit: forms.Edit{Version: t.Version()}}
	if t.Command != nil {
		rest := *t.Command
		f.Script, rest.Shell, t.Command = rest.Shell, "", &rest
	}
	if f.Text, err = definition(t); err != nil {
		return err
	}
	return p.Show("task-edit", f)
}

// readTask reads a definition and knows every field of it.
func readTask(text string) (t task.Task, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&t); err == nil {
		if _, more := dec.Token(); more == io.EOF {
			return t, nil
		}
		return t, core.InvalidField("definition", "", "goes on behind its end", "one JSON object")
	}
	message, hint := forms.JSONFault(text), ""
	if message == "" {
		message = strings.TrimPrefix(err.Error(), "json: ") // of a field; where it stands is not told
		if name, is := strings.CutPrefix(message, "unknown field "); is {
			if meant := nearest.Of(strings.Trim(name, `"`), taskNames); meant != "" {
				hint = "did you mean " + strconv.Quote(meant) + "?"
			}
		}
	}
	return t, core.InvalidField("definition", "", "is not a task: "+message, hint)
}

// taskNames are the names of all fields of a task.
var taskNames = jsonNames(reflect.TypeFor[task.Task](), map[reflect.Type]bool{})

func jsonNames(t reflect.Type, seen map[reflect.Type]bool) (names []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if f.IsExported() {
			names = append(names, jsonNames(f.Type, seen)...)
		}
	}
	return names
}

func createTask(p *page) error {
	if kind := newTaskKind(p.Query("kind")); kind != "" && !p.R.PostForm.Has("definition") {
		return createByForm(p, kind)
	}
	f := taskForm{Text: p.R.PostFormValue("definition")}
	t, err := readTask(f.Text)
	if err == nil {
		if t.Namespace == "" && p.Namespace != core.AnyNamespace {
			t.Namespace = p.Namespace
		}
		if t, err = p.api.CreateTask(p.R.Context(), t); err == nil {
			return p.Done(p.LinkIn(t.Namespace, "tasks", t.Name), "Created task %s.", t.Name)
		}
	}
	f.Err = err
	return p.Again("task-edit", f, err)
}

func updateTask(p *page) error {
	f := taskForm{Name: p.R.PathValue("name"), Text: p.R.PostFormValue("definition"), Script: strings.ReplaceAll(p.R.PostFormValue("script"), "\r\n", "\n")}
	t, err := readTask(f.Text)
	if err == nil {
		if f.Script != "" && t.Command == nil {
			t.Command = &task.Command{}
		}
		if f.Script != "" && t.Command.Shell == "" {
			t.Command.Shell = f.Script
		}
		t.Namespace, t.Name = p.Namespace, f.Name
		if _, err = p.api.UpdateTask(forms.Expecting(p.Page), t); err == nil {
			return p.Done(p.Link("tasks", t.Name), "Task %s is changed: jobs that start from now on run as it is now.", t.Name)
		}
	}
	f.Edit, f.Err = forms.Meanwhile(p.Page, p.api, err, "task", f.Name, p.Link("tasks", f.Name, "edit"), t, func() (task.Task, error) {
		return p.api.Task(p.R.Context(), p.Namespace, f.Name)
	})
	return p.Again("task-edit", f, err)
}

func deleteTask(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteTask(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("tasks"), "Task %s is deleted. What its jobs did stays until retention ends.", name)
}

// DeleteTask asks before a task is deleted.
func (p *page) DeleteTask(t task.Task) parts.Confirm {
	cmd := p.Command("DELETE", p.APIPath("/v1/tasks/"+url.PathEscape(t.Name)), "", "task", "delete", t.Name)
	return parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete task " + t.Name + "?", Do: "Delete the task",
		Text:   "Waiting jobs are canceled. What its jobs did stays until retention ends. A task that a schedule uses is not deleted.",
		Action: p.Link("tasks", t.Name, "delete"), Cmd: &cmd}
}

// TasksCommand is the list without this page.
func (p *page) TasksCommand(d tasksData) parts.Command {
	cli := []string{"task", "list"}
	for _, f := range [][2]string{{"--kind", string(d.Filter.Kind)}, {"--tag", d.Filter.Tag}, {"--part", d.Filter.Part}} {
		if f[1] != "" {
			cli = append(cli, f[0], f[1])
		}
	}
	return p.Command("GET", p.APIPath("/v1/tasks", "kind", string(d.Filter.Kind), "tag", d.Filter.Tag, "part", d.Filter.Part), "", cli...)
}

// TaskCommand is reading a task without this page.
func (p *page) TaskCommand(t task.Task) parts.Command {
	return p.Command("GET", p.APIPath("/v1/tasks/"+url.PathEscape(t.Name)), "", "task", "show", t.Name)
}

// EditCommand is saving without this page.
func (p *page) EditCommand(f taskForm) parts.Command {
	var body bytes.Buffer
	if json.Compact(&body, []byte(f.Text)) != nil {
		body.Reset()
		body.WriteString("{}")
	}
	if f.Name == "" {
		return p.Command("POST", p.APIPath("/v1/tasks"), body.String(), "task", "create", "-f", "task.json")
	}
	return p.Command("PUT", p.APIPath("/v1/tasks/"+url.PathEscape(f.Name)), body.String(), "task", "update", f.Name, "-f", "task.json")
}
