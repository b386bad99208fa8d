package alerting

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/view"
)

type hookAPI interface {
	SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error)
	DeleteHook(ctx context.Context, namespace, name string) error
	Hook(ctx context.Context, namespace, name string) (hook.Hook, error)
	ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error)
	PauseHook(ctx context.Context, namespace, name string, paused bool) (hook.Hook, error)
	HookStatuses(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Standing], error)
	HookStatus(ctx context.Context, namespace, name string) (hook.Status, error)
	HookEvents(ctx context.Context, f hook.Filter) (core.Page[hook.Recorded], error)
	ReplayHook(ctx context.Context, namespace, name string, r hook.Replay) (hook.Replayed, error)
	TestHook(ctx context.Context, namespace, name string) (alert.ChannelTest, error)
}

var hookRoutes = routes{
	"GET /settings/hooks":                hookList,
	"GET /settings/hooks/-new":           newHook,
	"POST /settings/hooks/-new":          saveHook,
	"GET /settings/hooks/{name}":         hookPage,
	"GET /settings/hooks/{name}/edit":    editHook,
	"POST /settings/hooks/{name}/edit":   saveHook,
	"POST /settings/hooks/{name}/test":   testHook,
	"POST /settings/hooks/{name}/pause":  pauseHook,
	"POST /settings/hooks/{name}/resume": resumeHook,
	"POST /settings/hooks/{name}/replay": replayHook,
	"POST /settings/hooks/{name}/delete": deleteHook,
}

// hookRow is a hook of the list, and how its deliveries are going.
type hookRow struct {
	hook.Hook
	Now hook.Standing
}

// Troubled reports that deliveries fail.
func (r hookRow) Troubled() bool { return troubled(r.Now) }

// Since is when the trouble began.
func (r hookRow) Since() time.Time {
	if r.Now.State == hook.Disabled {
		return r.Now.DisabledAt
	}
	return r.Now.FailingAt
}

// Pending is how many events wait.
func (r hookRow) Pending() string { return pendingText(r.Now) }

func troubled(s hook.Standing) bool { return s.State == hook.Failing || s.State == hook.Disabled }

func pendingText(s hook.Standing) string {
	if s.Pending >= hook.MaxPending {
		return parts.NumberText(s.Pending) + " or more"
	}
	return parts.NumberText(s.Pending)
}

type hookListData struct {
	Rows []hookRow
	Next string
}

func hookList(p *page) error {
	ctx, f := p.R.Context(), forms.DocumentFilter(p.Page)
	var all core.Page[hook.Hook]
	var states core.Page[hook.Standing]
	if err := frame.Together(
		frame.Get(&all, func() (core.Page[hook.Hook], error) { return p.api.ListHooks(ctx, f) }),
		frame.Get(&states, func() (core.Page[hook.Standing], error) { return p.api.HookStatuses(ctx, f) }),
	); err != nil {
		return err
	}
	d := hookListData{Next: all.Next}
	for _, h := range all.Items {
		r := hookRow{Hook: h, Now: hook.Standing{State: hook.Active}} // one that was saved just now has no other
		for _, s := range states.Items {
			if s.Namespace == h.Namespace && s.Hook == h.Name {
				r.Now = s
			}
		}
		d.Rows = append(d.Rows, r)
	}
	return p.Show("hooks", d)
}

// hookFilter is which events a hook selects, besides their types.
func hookFilter(h hook.Hook) string {
	var texts []string
	for _, list := range []struct {
		one, several string
		names        []string
	}{{"task", "tasks", h.Tasks}, {"queue", "queues", h.Queues}, {"schedule", "schedules", h.Schedules}, {"monitor", "monitors", h.Monitors}} {
		switch len(list.names) {
		case 0:
		case 1:
			texts = append(texts, list.one+" "+list.names[0])
		default:
			texts = append(texts, list.several+" "+strings.Join(list.names, ", "))
		}
	}
	text := core.Or(strings.Join(texts, "; "), "everything")
	if len(h.Tags) > 0 {
		text += " tagged " + strings.Join(h.Tags, " or ")
	}
	return text
}

// hookTypes are the types that a hook names.
func hookTypes(on []string) string {
	if len(on) == 1 && on[0] == "*" {
		return "all"
	}
	return strings.Join(on, ", ")
}

func testHook(p *page) error {
	name := p.R.PathValue("name")
	t, err := p.api.TestHook(p.R.Context(), p.Namespace, name)
	if err != nil {
		return err
	}
	link := p.Link("settings", "hooks", name)
	if !t.OK {
		return p.DoneBadly(link, "The test was not taken after %s: %s", core.SpanText(t.Took), t.Error)
	}
	return p.Done(link, "The test was taken after %s.", core.SpanText(t.Took))
}

func pauseHook(p *page) error {
	h, err := p.api.PauseHook(p.R.Context(), p.Namespace, p.R.PathValue("name"), true)
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("settings", "hooks", h.Name), p.Link("settings", "hooks", h.Name, "resume"), "Hook %s is paused. Its events wait, for 3 days at most.", h.Name)
}

func resumeHook(p *page) error {
	h, err := p.api.PauseHook(p.R.Context(), p.Namespace, p.R.PathValue("name"), false)
	if err != nil {
		return err
	}
	return p.Done(p.Link("settings", "hooks", h.Name), "Hook %s is resumed.", h.Name)
}

func deleteHook(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteHook(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "hooks"), "Hook %s is deleted.", name)
}

const deleteHookText = "Its pending events are not delivered, and those that are kept are deleted."

// DeleteHook asks before a hook is deleted.
func (p *page) DeleteHook(name string) parts.Confirm {
	cmd := p.Command("DELETE", p.APIPath("/v1/hooks/"+url.PathEscape(name)), "", "hook", "delete", name)
	return parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete hook " + name + "?", Text: deleteHookText,
		Action: p.Link("settings", "hooks", name, "delete"), Cmd: &cmd}
}

type hookFormData struct {
	forms.Form
	Name   string
	Called string // its title
}

// hookGroups are the inputs of a hook. Posted and pulled hooks have different inputs, and the delivery of a hook cannot change.
func hookGroups(isNew, pull bool) []forms.InputGroup {
	channel, _ := alert.KindOf("webhook")
	inputs, _ := forms.KindInputs("", channel.Fields)
	for i := range inputs {
		switch inputs[i].Path {
		case "url":
			inputs[i].Hint = "Events are posted there. It is never shown."
		case "secret":
			inputs[i].Need, inputs[i].Hint = true, "16 bytes or more, such as of: openssl rand -hex 32. It is never shown."
		}
	}
	if pull {
		inputs = nil
	}
	if isNew {
		inputs = slices.Concat([]forms.Input{{Path: "name", Label: "Name", Need: true}}, inputs)
	}
	words := func(path, label, hint string, offers ...string) forms.Input {
		return forms.Input{Path: path, Label: label, Kind: forms.AsWords, Hint: hint, Offers: offers}
	}
	return []forms.InputGroup{
		{Inputs: inputs},
		{Title: "Events", Inputs: []forms.Input{words("on", "Types", "Such as job.failed, or a pattern such as monitor.*. Default: all.", slices.Concat([]string{"job.*", "workflow.*", "cycle.*", "schedule.*", "monitor.*", "*.failed"}, hook.Types)...)}},
		{Title: "Filter", Grid: true, Text: "Each that is given must match. Names, or patterns such as billing-*.", Inputs: []forms.Input{
			words("tasks", "Tasks", ""), words("queues", "Queues", ""), words("schedules", "Schedules", ""), words("monitors", "Monitors", ""), words("tags", "With a tag of", ""),
		}},
		{Title: "Advanced", Drawer: true, Inputs: []forms.Input{
			{Path: "paused", Label: "Paused", Kind: forms.AsCheck, Hint: "Events are recorded and wait, for 3 days at most."},
			{Path: "title", Label: "Title", Hint: forms.TitleHint},
			{Path: "description", Label: "Description"},
		}},
	}
}

// pulls reports that the form is for a new pulled hook.
func (p *page) pulls() bool { return p.Query("delivery") == "pull" }

// HookKinds lead to the forms of the other kind of hook.
func (p *page) HookKinds() []parts.Tab {
	link := p.Link("settings", "hooks", "-new")
	return []parts.Tab{parts.NewTab("Posted to a URL", link, !p.pulls(), ""), parts.NewTab("Pulled by programs", p.With(link, "delivery", "pull"), p.pulls(), "")}
}

func (p *page) hookForm(name string, pull bool, values url.Values, err error) hookFormData {
	d := hookFormData{Name: name, Called: values.Get("title"), Form: forms.Form{
		AsText: forms.AsText{Has: true},
		Edit:   forms.Edit{Version: values.Get("version")}, Title: "New hook", New: name == "", Action: p.Link("settings", "hooks", "-new"), Back: p.Link("settings", "hooks"), Save: "Create hook", Err: err,
		Groups:  forms.Fill(hookGroups(name == "", pull), values, err),
		Command: p.Command("PUT", p.APIPath("/v1/hooks/billing"), `{"url":"https://example.com/belfry","secret":"SECRET","on":["job.*"]}`, "hook", "set", "billing", "--url", "https://example.com/belfry", "--secret-file", "hook.key", "--on", "job.*"),
	}}
	if pull {
		d.Action = p.With(d.Action, "delivery", "pull")
		d.Command = p.Command("PUT", p.APIPath("/v1/hooks/audit"), `{"pull":true,"on":["job.*"]}`, "hook", "set", "audit", "--pull", "--on", "job.*")
	}
	forms.Offer(p.Page, p.api, d.Groups, map[string]string{"monitors": "monitors", "tasks": "tasks", "schedules": "schedules", "tags": "monitor tags"})
	if name != "" {
		d.Title, d.Action, d.Save, d.Back = "Edit hook "+cmp.Or(d.Called, name), p.Link("settings", "hooks", name, "edit"), "Save", p.Link("settings", "hooks", name)
	}
	return d
}

func newHook(p *page) error { return p.Show("hook-form", p.hookForm("", p.pulls(), url.Values{}, nil)) }

func editHook(p *page) error {
	h, err := p.api.Hook(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Show("hook-form", p.hookForm(h.Name, h.Pull, hookValues(h), nil))
}

// hookValues are the values of a hook for its form.
func hookValues(h hook.Hook) url.Values {
	return forms.Versioned(forms.DocumentOf(h).Values(forms.InputsOf(hookGroups(false, h.Pull))), h)
}

func saveHook(p *page) error {
	ctx, name, doc, pull := p.R.Context(), p.R.PathValue("name"), forms.Document{}, p.pulls()
	if name != "" {
		old, err := p.api.Hook(ctx, p.Namespace, name)
		if err != nil {
			return err
		}
		doc, pull = forms.DocumentOf(old), old.Pull
	}
	h, text, shown, err := forms.ReadEither(p.Page, "hook", name == "", func() (h hook.Hook, err error) {
		err = doc.Read(forms.InputsOf(hookGroups(name == "", pull)), p.R.PostForm)
		err = cmp.Or(err, doc.To(&h))
		h.Pull = pull
		return h, err
	})
	if err == nil && name == "" {
		pull = h.Pull
	}
	if shown {
		d := p.hookForm(name, pull, forms.ValuesOf(p.Page, text, err, h, hookGroups(name == "", pull)), err)
		d.AsText = text
		return forms.ShowAgain(p.Page, "hook-form", d, err)
	}
	h.Namespace = p.Namespace
	if name != "" {
		h.Name = name
	} else if err == nil {
		err = forms.IsFree(h.Name, "hook", func() error { _, err := p.api.Hook(ctx, p.Namespace, h.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveHook(forms.Expecting(p.Page), h)
	}
	if err != nil {
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "hook", name, p.Link("settings", "hooks", name, "edit"), h, func() (hook.Hook, error) { return p.api.Hook(ctx, p.Namespace, name) })
		d := p.hookForm(name, pull, forms.Filled(p.Page, &text, both, hookValues), said)
		d.Edit, d.AsText = e, text
		return p.Again("hook-form", d, err)
	}
	if pull {
		return p.Done(p.Link("settings", "hooks", h.Name), "Hook %s is saved. Events are recorded from now on.", h.Name)
	}
	return p.Done(p.Link("settings", "hooks", h.Name), "Hook %s is saved. Send a test to see whether it arrives.", h.Name)
}
