package cycles

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/task"
)

type cycleFormAPI interface {
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
}

var cycleFormRoutes = routes{
	"GET /cycles/-new":         newCycle,
	"POST /cycles/-new":        saveCycle,
	"GET /cycles/{name}/edit":  editCycle,
	"POST /cycles/{name}/edit": saveCycle,
}

// cycleForm is a cycle as a person edits it. It is shown again after each press
// of a button that moves a member, so that it needs no script.
type cycleForm struct {
	forms.Edit
	AsText forms.AsText
	Saved  string // name of the one that is edited; empty: a new one
	Rest   string // the settings without an input
	Err    error
	Rows   []memberRow
	Tasks  []string // to choose from
	Focus  string   // ID of the button to go on with

	name, title, description, stagger, timeout string
}

// memberRow is a member as it was typed.
type memberRow struct{ Task, Every, OnFailure, Timeout, MaxAttempts, Input string }

func rowOf(m task.Member) memberRow {
	r := memberRow{Task: m.Task, Every: durationInput(m.Every), OnFailure: string(m.OnFailure), Timeout: durationInput(m.Timeout), Input: string(plainjson.Unescape(m.Input))}
	if m.MaxAttempts > 0 {
		r.MaxAttempts = strconv.Itoa(m.MaxAttempts)
	}
	return r
}

// durationInput writes a length of time for an input; zero is empty.
func durationInput(d core.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func newCycle(p *page) error {
	f := cycleForm{AsText: forms.AsText{Has: true}, Rest: "{}", Rows: []memberRow{{}, {}}}
	return f.show(p, nil)
}

func editCycle(p *page) error {
	t, err := p.savedCycle(p.R.PathValue("name"))
	if err != nil {
		return err
	}
	f := cycleForm{Edit: forms.Edit{Version: t.Version()}, AsText: forms.AsText{Has: true}, Saved: t.Name}
	f.fill(t)
	return f.show(p, nil)
}

// savedCycle is the task of a cycle.
func (p *page) savedCycle(name string) (task.Task, error) {
	t, err := p.api.Task(p.R.Context(), p.Namespace, name)
	if err == nil && t.Cycle == nil {
		err = core.Errorf(core.Conflict, "task %q is of kind %s, not a cycle", t.Name, t.Kind).WithHint("see its own page")
	}
	return t, err
}

// shownOfCycle are the fields that the form has inputs for.
var shownOfCycle = []forms.Input{{Path: "namespace"}, {Path: "name"}, {Path: "kind"}, {Path: "title"}, {Path: "description"}, {Path: "timeout"}, {Path: "cycle"}}

// fill shows a cycle.
func (f *cycleForm) fill(t task.Task) {
	f.Rest = forms.DocumentOf(t).Rest(shownOfCycle)
	f.name, f.title, f.description, f.stagger, f.timeout = t.Name, t.Title, t.Description, durationInput(t.Cycle.Stagger), durationInput(t.Timeout)
	f.Rows = nil
	for _, m := range t.Cycle.Members {
		f.Rows = append(f.Rows, rowOf(m))
	}
}

// Called is the cycle for people.
func (f *cycleForm) Called() string { return cmp.Or(f.title, f.Saved) }

// show shows the form, with its faults.
func (f *cycleForm) show(p *page, refused error) error {
	if err := p.Allow(access.ScopeAdmin); err != nil {
		return err
	}
	all, err := p.api.Tasks(p.R.Context(), task.Filter{Namespace: p.Namespace, Paging: core.Paging{Limit: 1000}})
	if err != nil {
		return err
	}
	for _, t := range all.Items {
		f.Tasks = append(f.Tasks, t.Name)
	}
	if refused != nil {
		return p.Again("cycle-form", f, refused)
	}
	return p.Show("cycle-form", f)
}

// saveCycle does the action of the pressed button: move, remove or add a member,
// show the form in its other way, or save.
func saveCycle(p *page) error {
	form := p.R.PostForm
	f := &cycleForm{Edit: forms.Edit{Version: form.Get("version")}, AsText: forms.AsText{Has: true}, Saved: p.R.PathValue("name"), Rest: form.Get("rest"),
		name: form.Get("name"), title: strings.TrimSpace(form.Get("title")), description: form.Get("description"), stagger: form.Get("cycle.stagger"), timeout: form.Get("timeout")}
	f.readRows(form)
	verb, number, _ := strings.Cut(form.Get("do"), " ")
	if i, err := strconv.Atoi(number); err == nil && f.change(verb, i) {
		return f.show(p, nil)
	}
	if f.Saved != "" && !form.Has("rest") && !form.Has("definition") { // of a page of an older version
		saved, err := p.api.Task(p.R.Context(), p.Namespace, f.Saved)
		if err != nil {
			return err
		}
		f.Rest = forms.DocumentOf(saved).Rest(shownOfCycle)
	}
	f.Rows = slices.DeleteFunc(f.Rows, func(r memberRow) bool { // that were not filled in
		r.OnFailure = ""
		return r == memberRow{}
	})
	if len(f.Rows) == 0 && verb == "save" { // whose fault needs a place
		f.Rows = []memberRow{{}}
	}
	t, text, shown, err := forms.ReadEither(p.Page, "cycle", f.Saved == "", f.task)
	f.AsText = text
	if form.Has("definition") && err == nil {
		if kind := t.WithDefaults().Kind; kind != task.KindCycle || t.Cycle == nil {
			f.AsText.Here = true
			err = core.InvalidField("definition", string(kind), "is not a cycle", "write its members below cycle, or create a task")
		} else if !f.AsText.Here {
			f.fill(t)
		}
	}
	if shown {
		f.Err = err
		return f.show(p, err)
	}
	t.Namespace = p.Namespace
	if f.Saved != "" {
		t.Name = f.Saved
	}
	switch {
	case err != nil:
	case f.Saved == "":
		_, err = p.api.CreateTask(p.R.Context(), t)
	default:
		_, err = p.api.UpdateTask(forms.Expecting(p.Page), t)
	}
	if err != nil {
		var both *task.Task
		f.Edit, both, f.Err = forms.Meanwhile(p.Page, p.api, err, "task", t.Name, p.Link("cycles", t.Name, "edit"), t, func() (task.Task, error) { return p.savedCycle(t.Name) })
		if both != nil {
			forms.Rewrite(p.Page, &f.AsText, *both)
			f.fill(*both)
		}
		return f.show(p, err)
	}
	if f.Saved == "" {
		return p.Done(p.Link("cycles", t.Name), "Created cycle %s. Run it now, or create a schedule for it.", t.Name)
	}
	return p.Done(p.Link("cycles", t.Name), "Cycle %s is saved. A run under way goes on as it began.", t.Name)
}

func (f *cycleForm) readRows(form url.Values) {
	n, _ := strconv.Atoi(form.Get("rows"))
	for i := range min(max(n, 0), task.MaxMembers) {
		at := func(name string) string { return strings.TrimSpace(form.Get(memberField(i, name))) }
		f.Rows = append(f.Rows, memberRow{at("task"), at("every"), at("on_failure"), at("timeout"), at("max_attempts"), at("input")})
	}
}

// memberField is the name of a member's field in the API, by which faults find it.
func memberField(i int, name string) string { return fmt.Sprintf("cycle.members[%d].%s", i, name) }

// change moves, removes or adds a member, and reports whether the button was one of those. The focus follows the member, so
// that the same button can be pressed again.
func (f *cycleForm) change(verb string, i int) bool {
	there := i >= 0 && i < len(f.Rows)
	switch verb {
	case "up":
		if there && i > 0 {
			f.Rows[i-1], f.Rows[i] = f.Rows[i], f.Rows[i-1]
			f.Focus = fmt.Sprintf("up-%d", i-1)
		}
	case "down":
		if there && i < len(f.Rows)-1 {
			f.Rows[i+1], f.Rows[i] = f.Rows[i], f.Rows[i+1]
			f.Focus = fmt.Sprintf("down-%d", i+1)
		}
	case "take":
		if there {
			f.Rows = slices.Delete(f.Rows, i, i+1)
			f.Focus = "add"
		}
	case "add":
		if len(f.Rows) < task.MaxMembers {
			f.Rows = append(f.Rows, memberRow{})
			f.Focus = "task"
		}
	case "again": // as it was typed
	default:
		return false
	}
	return true
}

// task is the cycle that the form describes, with the settings without an input.
func (f *cycleForm) task() (t task.Task, err error) {
	if err = forms.RestOf(f.Rest).To(&t); err != nil {
		return t, err
	}
	t.Name, t.Kind = strings.TrimSpace(f.name), task.KindCycle
	t.Title, t.Description = f.title, f.description
	c := task.Cycle{Members: []task.Member{}} // a list in YAML too
	faults := &core.Error{Code: core.Invalid, Message: "the cycle is not saved"}
	length := func(name, text string) (d core.Duration) {
		if text == "" {
			return 0
		}
		d, err := forms.ReadLength(text)
		if err != nil {
			faults.Fields = append(faults.Fields, core.FieldError{Field: name, Value: text, Message: "is not a length of time", Hint: "such as 90s, 15m, 6h or 7d"})
		}
		return d
	}
	c.Stagger = length("cycle.stagger", strings.TrimSpace(f.stagger))
	t.Timeout = length("timeout", strings.TrimSpace(f.timeout))
	for i, r := range f.Rows {
		m := task.Member{Task: r.Task, Every: length(memberField(i, "every"), r.Every), Timeout: length(memberField(i, "timeout"), r.Timeout), OnFailure: task.OnFailure(r.OnFailure)}
		if r.MaxAttempts != "" {
			if m.MaxAttempts, err = strconv.Atoi(r.MaxAttempts); err != nil {
				faults.Fields = append(faults.Fields, core.FieldError{Field: memberField(i, "max_attempts"), Value: r.MaxAttempts, Message: "is not a number"})
			}
		}
		if r.Input != "" {
			if !json.Valid([]byte(r.Input)) {
				faults.Fields = append(faults.Fields, core.FieldError{Field: memberField(i, "input"), Message: "is not JSON", Hint: `such as {"day": "today"}`})
			} else {
				m.Input = json.RawMessage(r.Input)
			}
		}
		c.Members = append(c.Members, m)
	}
	t.Cycle = &c
	if len(faults.Fields) > 0 {
		return t, faults
	}
	return t, nil
}

// Name of the cycle, as an input.
func (f *cycleForm) Name() parts.Field {
	return parts.NewField("name", "Name", "text", f.name, "Letters, digits, dots, dashes and underscores.", f.Err).Need()
}

// Fields are those beside the members.
func (f *cycleForm) Fields() []parts.Field {
	return []parts.Field{
		parts.NewField("title", "Title (optional)", "text", f.title, forms.TitleHint, f.Err),
		parts.NewField("description", "Description (optional)", "text", f.description, "", f.Err),
		parts.NewField("cycle.stagger", "Stagger", "text", f.stagger, "Longest pause before a member, the first excepted, such as 30s; how long is spread evenly. Empty: none.", f.Err),
		parts.NewField("timeout", "Timeout", "text", f.timeout, "Longest a run may take from its start, up to 7d. Empty: 24h.", f.Err),
	}
}

// Common are the inputs of a member that most cycles need.
func (f *cycleForm) Common(i int) []parts.Field {
	r := f.Rows[i]
	return []parts.Field{
		parts.NewField(memberField(i, "task"), "Task", "text", r.Task, "", f.Err).From("tasks"),
		parts.NewField(memberField(i, "every"), "At most every", "text", r.Every, "", f.Err),
		parts.NewField(memberField(i, "on_failure"), "On failure", "select", r.OnFailure, "", f.Err).Among("continue", "stop").Named(map[string]string{"continue": "Go on with the next member", "stop": "Stop the run"}),
	}
}

// Seldom are the inputs of a member that are rarely needed.
func (f *cycleForm) Seldom(i int) []parts.Field {
	r := f.Rows[i]
	return []parts.Field{
		parts.NewField(memberField(i, "timeout"), "Timeout", "text", r.Timeout, "Instead of the task's own.", f.Err),
		parts.NewField(memberField(i, "max_attempts"), "Attempts", "text", r.MaxAttempts, "Instead of the task's own.", f.Err),
		parts.NewField(memberField(i, "input"), "Input", "area", r.Input, "JSON, instead of the task's own.", f.Err),
	}
}

// OfMembers are all inputs of members.
func (f *cycleForm) OfMembers() (all []parts.Field) {
	for i := range f.Rows {
		all = append(append(all, f.Common(i)...), f.Seldom(i)...)
	}
	return all
}

// HasSeldom reports that one of them is not empty, or wrong.
func (f *cycleForm) HasSeldom(i int) bool {
	return slices.ContainsFunc(f.Seldom(i), func(d parts.Field) bool { return d.Value != "" || len(d.Faults) > 0 })
}

// Last is the number of the last member.
func (f *cycleForm) Last() int { return len(f.Rows) - 1 }

// SaveCycleCommand is saving it, without this page.
func (p *page) SaveCycleCommand(f *cycleForm) parts.Command {
	words, method, path := []string{"cycle", "create", cmp.Or(f.name, "NAME")}, "POST", "/v1/tasks"
	if f.Saved != "" {
		words, method, path = []string{"cycle", "update", f.Saved}, "PUT", "/v1/tasks/"+url.PathEscape(f.Saved)
	}
	for _, r := range f.Rows {
		text := r.Task
		for _, s := range [][2]string{{"every", r.Every}, {"on-failure", r.OnFailure}, {"timeout", r.Timeout}, {"max-attempts", r.MaxAttempts}} {
			if s[1] != "" && s[1] != string(task.FailureContinue) {
				text += "," + s[0] + "=" + s[1]
			}
		}
		if r.Input != "" {
			text += ",input=" + r.Input // takes the rest
		}
		if r.Task != "" {
			words = append(words, "--member", text)
		}
	}
	for _, s := range [][2]string{{"--stagger", f.stagger}, {"--timeout", f.timeout}} {
		if s[1] != "" {
			words = append(words, s[0], s[1])
		}
	}
	return p.Command(method, p.APIPath(path), "@cycle.json", words...)
}
