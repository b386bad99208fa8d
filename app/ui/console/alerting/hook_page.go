package alerting

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
)

// hookData is a hook with its deliveries and events.
type hookData struct {
	hook.Hook
	Status hook.Status
	Filter hook.Filter
	Rows   []eventRow
	Next   string
	Err    error
	now    time.Time

	since, until, kind string // of a replay that was refused, as they were typed
	refused            error
}

// eventRow is an event with the object that it is about.
type eventRow struct {
	hook.Recorded
	Of, Link string
	Said     string // the failure, or ""
}

func (p *page) eventRow(e hook.Recorded) eventRow {
	r := eventRow{Recorded: e}
	switch {
	case e.Job != nil:
		r.Of, r.Link, r.Said = fmt.Sprintf("job %d of %s", e.Job.ID, e.Job.Task), p.LinkIn(e.Namespace, "jobs", e.Job.ID), e.Job.Error
	case e.Schedule != nil:
		r.Of, r.Link, r.Said = e.Schedule.Name, p.ScheduleLink(e.Namespace, e.Schedule.Name), e.Schedule.Note
	case e.Monitor != nil:
		r.Of, r.Link, r.Said = e.Monitor.Name, p.LinkIn(e.Namespace, "monitors", e.Monitor.Name), e.Monitor.Title
	}
	return r
}

func (p *page) hookData() (d hookData, err error) {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	d = hookData{now: p.Now, Filter: hook.Filter{
		Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Hook: name, State: hook.State(p.Query("state")), Type: strings.TrimSpace(p.Query("type")),
	}}
	var events core.Page[hook.Recorded]
	var wrong error
	err = frame.Together(
		frame.Get(&d.Hook, func() (hook.Hook, error) { return p.api.Hook(ctx, p.Namespace, name) }),
		frame.Get(&d.Status, func() (hook.Status, error) { return p.api.HookStatus(ctx, p.Namespace, name) }),
		func() error {
			events, wrong = p.api.HookEvents(ctx, d.Filter)
			if core.CodeOf(wrong) == core.Invalid {
				return nil // the fault of the filter is shown beside it
			}
			return wrong
		},
	)
	d.Err, d.Next = wrong, events.Next
	for _, e := range events.Items {
		d.Rows = append(d.Rows, p.eventRow(e))
	}
	return d, err
}

func hookPage(p *page) error {
	d, err := p.hookData()
	switch {
	case err != nil:
		return err
	case d.Err != nil:
		return p.Again("hook", d, d.Err)
	}
	return p.Show("hook", d)
}

// Troubled reports that deliveries fail.
func (d hookData) Troubled() bool { return troubled(d.Status.Standing) }

// Held reports that nothing is delivered until the hook is resumed.
func (d hookData) Held() bool {
	return d.Status.State == hook.Paused || d.Status.State == hook.Disabled
}

// Pending is how many events wait.
func (d hookData) Pending() string { return pendingText(d.Status.Standing) }

// PendingTone marks events that wait for a receiver in trouble.
func (d hookData) PendingTone() string {
	if d.Troubled() && d.Status.Pending > 0 {
		return "warn"
	}
	return ""
}

// DroppedTone marks events that were never delivered.
func (d hookData) DroppedTone() string {
	if d.Status.Dropped > 0 {
		return "bad"
	}
	return ""
}

// LastSent is how long ago the last delivery was.
func (d hookData) LastSent() string {
	if d.Status.SentAt.IsZero() {
		return "never"
	}
	return parts.NewMoment(d.Status.SentAt, d.now, time.UTC, true).Rel()
}

// HeaderNames are those of the headers, whose values are secret.
func (d hookData) HeaderNames() string {
	return strings.Join(slices.Sorted(maps.Keys(d.Headers)), ", ")
}

// Filtered reports that not all events are asked for.
func (d hookData) Filtered() bool {
	return d.Filter.State != "" || d.Filter.Type != "" || d.Filter.Cursor != ""
}

// StatusPath and EventsPath are paths of the API.
func (d hookData) StatusPath() string { return "/v1/hooks/" + url.PathEscape(d.Name) + "/status" }

// StreamPath is that of its events as they come.
func (d hookData) StreamPath() string { return "/v1/hooks/" + url.PathEscape(d.Name) + "/stream" }

// LastSentLabel returns the label of the last contact with a receiver.
func (d hookData) LastSentLabel() string {
	if d.Pull {
		return "Last acknowledged"
	}
	return "Last delivery"
}

// EventsPath is that of its events.
func (d hookData) EventsPath() string { return "/v1/hooks/" + url.PathEscape(d.Name) + "/events" }

// TypeField is the filter by type.
func (d hookData) TypeField() parts.Field {
	return parts.NewField("type", "Type", "text", d.Filter.Type, "", d.Err).Offer(d.Types()...)
}

// HookTabs are the views of the events.
func (p *page) HookTabs(d hookData) []parts.Tab {
	at := d.Filter.State
	tabs := []parts.Tab{parts.NewTab("All", p.Here("state", "", "cursor", ""), at == "", "")}
	for _, s := range []hook.State{hook.Pending, hook.Sent} {
		tabs = append(tabs, parts.NewTab(parts.SentenceCase(string(s)), p.Here("state", s, "cursor", ""), at == s, ""))
	}
	return tabs
}

// ReplayHook asks which events are delivered once more.
func (p *page) ReplayHook(d hookData) parts.Confirm {
	cmd := p.Command("POST", p.APIPath("/v1/hooks/"+url.PathEscape(d.Name)+"/replay"), `{"since":"`+p.Now.Add(-2*time.Hour).UTC().Format(time.RFC3339)+`"}`, "hook", "replay", d.Name, "--since", "2h")
	types := parts.NewField("replay_type", "Type", "text", d.kind, "Such as job.*. Empty: all.", nil).Offer(d.Types()...)
	return parts.Confirm{
		ID: "replay", Button: "Replay", Do: "Deliver again", Title: "Deliver events of " + d.Name + " again?",
		Text:   "Events that the receiver took are sent once more, under their ids, before newer ones that wait.",
		Action: p.Link("settings", "hooks", d.Name, "replay"), Cmd: &cmd,
		Fields: []parts.Field{
			parts.NewField("since", "Since", "text", core.Or(d.since, "2h"), "2h, today, 2026-03-02 10:00 in UTC. Empty: all that are kept.", d.refused),
			parts.NewField("until", "Until", "text", d.until, "Empty: now.", d.refused), types,
		},
	}
}

func replayHook(p *page) error {
	name, form := p.R.PathValue("name"), p.R.PostForm
	at := func(field string) string { return strings.TrimSpace(form.Get(field)) }
	r := hook.Replay{Type: at("replay_type")}
	var err error
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"since", &r.Since}, {"until", &r.Until}} {
		if text := at(t.name); text != "" && err == nil {
			if *t.to, err = job.ParseWhen(text, p.Now.UTC()); err != nil {
				err = core.InvalidField(t.name, text, err.Error(), "")
			}
		}
	}
	var out hook.Replayed
	if err == nil {
		out, err = p.api.ReplayHook(p.R.Context(), p.Namespace, name, r)
	}
	if core.CodeOf(err) == core.Invalid {
		d, failed := p.hookData()
		if failed != nil {
			return failed
		}
		d.Err, d.refused, d.since, d.until, d.kind = err, err, at("since"), at("until"), at("replay_type")
		return p.Again("hook", d, err)
	}
	if err != nil {
		return err
	}
	if out.Events == 0 {
		return p.Done(p.Link("settings", "hooks", name), "No event was taken in that time: nothing is delivered again.")
	}
	return p.Done(p.Link("settings", "hooks", name), "%s delivered again.", parts.Plural(out.Events, "event is", "events are"))
}
