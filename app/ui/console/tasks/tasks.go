package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/graph"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// typed is the command line of a task.
func typed(t task.Task) string { return parts.CommandLine(&t) }

type taskAPI interface {
	taskFormAPI
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	LimitUse(ctx context.Context, namespace, name string) ([]view.LimitUse, error)
	ResumeSequence(ctx context.Context, namespace, name, key string) (bool, error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
}

var taskRoutes = routes{
	"GET /tasks":                taskList,
	"POST /tasks/-new":          writeTask,
	"GET /tasks/-new":           newTask,
	"GET /tasks/{name}":         taskPage,
	"GET /tasks/{name}/edit":    editTask,
	"POST /tasks/{name}/edit":   writeTask,
	"POST /tasks/{name}/delete": deleteTask,
	"POST /tasks/{name}/resume": resumeSequence,
}

// taskShown is how much a task's page shows of each list.
const taskShown = 10

type tasksData struct {
	Tasks  core.Page[task.Task]
	Filter task.Filter
	Hidden bool // Belfry's own task is there and not shown
	Err    error
	Grids  map[string]grid
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
	if d.Grids, err = p.grids(d.Tasks.Items); err != nil {
		return err
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
		parts.NewField("part", "Name or title", "search", d.Filter.Part, "", nil),
		parts.NewField("kind", "Kind", "select", string(d.Filter.Kind), "", nil).Among(kinds...),
		parts.NewField("tag", "Tag", "search", d.Filter.Tag, "", nil),
	}
}

// Unfiltered reports that everything is shown.
func (d tasksData) Unfiltered() bool {
	return d.Filter.Kind == "" && d.Filter.Tag+d.Filter.Part == "" && d.Filter.Cursor == ""
}

// TaskPager links to the next page of the list.
func (p *page) TaskPager(d tasksData) parts.Pager { return p.Pager(d.Tasks.Next) }

type taskData struct {
	Task      task.Task
	Jobs      core.Page[job.Job]
	Count     job.Count
	Schedules core.Page[schedule.Schedule]
	Limits    []view.LimitUse
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
	if err == nil && d.Task.Gated() {
		d.Limits, err = p.api.LimitUse(ctx, p.Namespace, name)
	}
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

// WaitingFor is the list of a task's jobs that wait for a limit.
func (p *page) WaitingFor(task string) string {
	return p.With(p.Link("jobs"), "q", job.Filter{Task: task, States: []job.State{job.Waiting}, Reason: "limit"}.String())
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
	if t.Command != nil { // the page shows the command itself above
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

func deleteTask(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteTask(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("tasks"), "Task %s is deleted. Its jobs are kept until retention ends.", name)
}

// DeleteTask asks before a task is deleted.
func (p *page) DeleteTask(t task.Task) parts.Confirm {
	cmd := p.Command("DELETE", p.APIPath("/v1/tasks/"+url.PathEscape(t.Name)), "", "task", "delete", t.Name)
	return parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete task " + t.Name + "?", Do: "Delete the task",
		Text:   "Waiting jobs are canceled. Its jobs are kept until retention ends. A task that a schedule uses is not deleted.",
		Action: p.Link("tasks", t.Name, "delete"), Cmd: &cmd}
}

// ResumeSequence asks before a sequence continues without the job that stopped it. Place is the number of its row.
func (p *page) ResumeSequence(t task.Task, k view.KeyUse, place int) parts.Confirm {
	body, _ := json.Marshal(map[string]string{"key": k.Value}) // a text
	cmd := p.Command("POST", p.APIPath("/v1/tasks/"+url.PathEscape(t.Name)+"/resume"), string(body), "task", "resume", t.Name, k.Value)
	return parts.Confirm{ID: fmt.Sprint("resume-", place), Button: "Resume", Title: "Resume the sequence without job " + fmt.Sprint(k.StoppedBy) + "?",
		Text:   "The next of its jobs runs, and the failed one stays as it is. To try that one again, retry it instead: the others wait for it.",
		Action: p.LinkIn(t.Namespace, "tasks", t.Name, "resume"), Hidden: map[string]string{"key": k.Value}, Cmd: &cmd}
}

func resumeSequence(p *page) error {
	name := p.R.PathValue("name")
	resumed, err := p.api.ResumeSequence(p.R.Context(), p.Namespace, name, p.R.PostFormValue("key"))
	if err != nil {
		return err
	}
	if !resumed {
		return p.Done(p.Link("tasks", name), "The sequence of task %s was not stopped.", name)
	}
	return p.Done(p.Link("tasks", name), "The sequence of task %s goes on.", name)
}

// RowMenu returns the actions on a task of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "play", Name: "Run now…", To: p.With(p.Link("jobs", "-new"), "task", parts.RowName)}.If(operate),
		parts.RowItem{Icon: "calendar-clock", Name: "Schedule it…", To: p.With(p.Link("schedules", "-new"), "task", parts.RowName)}.If(admin),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin),
		parts.RowItem{Icon: "copy", Name: "Copy…", To: p.With(p.Link("tasks", "-new"), "copy", parts.RowName)}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete task",
			Text: "Waiting jobs are canceled. Its jobs are kept until retention ends. A task that a schedule uses is not deleted."}.If(admin))
}

// StepsOf draws a workflow; nil: the task is none, or has no drawing.
func (p *page) StepsOf(t task.Task) *graph.Drawing {
	if t.Workflow == nil {
		return nil
	}
	return graph.Draw(*t.Workflow, nil, func(i int) graph.Node {
		s := t.Workflow.Steps[i]
		n := graph.Node{Tone: "idle"}
		switch {
		case s.Task != "":
			n.Note, n.Link = s.Task, p.LinkIn(t.Namespace, "tasks", s.Task)
			if s.Many() {
				n.Note += ", for each item"
			}
		case s.Sleep != 0:
			n.Note = "waits " + core.SpanText(s.Sleep.D())
		case s.Signal != "":
			n.Note = "waits for signal " + s.Signal
		default:
			n.Note = "waits for an approval"
		}
		return n
	})
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
