package tasks

import (
	"net/url"
	"slices"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// taskGroups is the form of a kind.
func taskGroups(kind task.Kind) []forms.InputGroup {
	first := []forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Letters, digits, dots, dashes and underscores."}}
	own, more := forms.KindInputs(string(kind)+".", kind.Info().Fields)
	return []forms.InputGroup{
		{Inputs: slices.Concat(first, own)},
		{Title: "More settings", Drawer: true, Inputs: more},
		{Title: "Execution", Inputs: []forms.Input{
			{Path: "timeout", Label: "Timeout", Kind: forms.AsDuration, Hint: "Longest an attempt may run, such as 5m. Default: 1h."},
			{Path: "retry.max_attempts", Label: "Maximum attempts", Kind: forms.AsNumber, Hint: "Default: 3; 1: no retry."},
			{Path: "queue", Label: "Queue", Hint: "Default: default."},
		}},
		{Title: "Retry, priority and input", Drawer: true, Inputs: []forms.Input{
			{Path: "retry.backoff", Label: "Backoff", Kind: forms.AsChoice, Options: []string{"", "fixed", "linear", "exponential"}},
			{Path: "retry.delay", Label: "First delay", Kind: forms.AsDuration, Hint: "Before the first retry, such as 30s."},
			{Path: "retry.max_delay", Label: "Maximum delay", Kind: forms.AsDuration},
			{Path: "priority", Label: "Priority", Kind: forms.AsNumber, Hint: "From -1000 to 1000; higher runs first within its queue."},
			{Path: "input", Label: "Input", Kind: forms.AsJSON, Hint: "JSON for jobs that bring none."},
		}},
		{Title: "Description and tags", Drawer: true, Inputs: []forms.Input{
			{Path: "description", Label: "Description", Kind: forms.AsArea},
			{Path: "tags", Label: "Tags", Kind: forms.AsWords, Hint: "For filters and alert rules."},
		}},
	}
}

// newTaskData is the form of a new task.
type newTaskData struct {
	forms.Form
	Kind task.Kind
}

// TaskKindTabs lead to the forms of other kinds. Programs and cycles have pages of their own, and what has no form is written
// as JSON.
func (p *page) TaskKindTabs(kind task.Kind) []parts.Tab {
	var tabs []parts.Tab
	add := func(title, name string, here bool) {
		tabs = append(tabs, parts.NewTab(title, p.With(p.Link("tasks", "-new"), "kind", name), here, ""))
	}
	for _, k := range task.Forms() {
		add(k.Form, string(k.Kind), k.Kind == kind)
	}
	add("JSON", "json", kind == "")
	return tabs
}

// taskKindText says what a kind does.
func taskKindText(kind task.Kind) string {
	return core.Or(kind.Info().Does, "Takes a definition as the API has it, of every kind.")
}

// newTaskKind is the kind whose form is asked for, or none for JSON.
func newTaskKind(name string) task.Kind {
	if name == "" {
		return task.KindCommand
	}
	if kind := task.Kind(name); kind.Info().Form != "" {
		return kind
	}
	return ""
}

func (p *page) newTask(kind task.Kind, values url.Values, err error) newTaskData {
	return newTaskData{Kind: kind, Form: forms.Form{
		Title: "New task", New: true, Action: p.With(p.Link("tasks", "-new"), "kind", kind), Back: p.Link("tasks"), Save: "Create task", Err: err,
		Groups:  forms.Fill(taskGroups(kind), values, err),
		Command: p.Command("POST", p.APIPath("/v1/tasks"), `{"name":"backup","command":{"shell":"./backup.sh"}}`, "task", "create", "backup", "--shell", "./backup.sh"),
	}}
}

// createByForm creates a task from the form of a kind.
func createByForm(p *page, kind task.Kind) error {
	doc := forms.Document{"kind": string(kind)}
	err := doc.Read(forms.InputsOf(taskGroups(kind)), p.R.PostForm)
	if kind != task.KindFunc && doc.At(string(kind)) == nil {
		doc[string(kind)] = map[string]any{}
	}
	var t task.Task
	if err == nil {
		err = doc.To(&t)
	}
	if err == nil {
		if p.Namespace != core.AnyNamespace {
			t.Namespace = p.Namespace
		}
		if t, err = p.api.CreateTask(p.R.Context(), t); err == nil {
			return p.Done(p.LinkIn(t.Namespace, "tasks", t.Name), "Created task %s.", t.Name)
		}
	}
	return p.Again("task-new", p.newTask(kind, p.R.PostForm, err), err)
}
