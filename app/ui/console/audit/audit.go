package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/textdiff"
	"github.com/belfry-run/belfry/job"
)

type auditAPI interface {
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
}

var auditRoutes = routes{"GET /audit": auditPage}

// auditNouns are the nouns of the audit, for the filter.
var auditNouns = []string{"", "alert_rule", "announcement", "artifact", "backfill", "calendar", "channel", "cycle", "hook", "job", "join_token", "monitor", "page_version", "queue", "schedule", "secret", "status_page", "subscriber", "task", "token", "window", "worker"}

type auditData struct {
	Filter  access.AuditFilter
	Since   string // as they were written
	Until   string
	Changes []auditChange
	Next    string
	Err     error
}

// auditChange is one change, with the values before and after.
type auditChange struct {
	access.Audit
	Diff  textdiff.Result
	Gone  bool   // the object is known to be deleted since
	Whole string // of a value that is no text, or was added or removed as a whole
}

func auditPage(p *page) error {
	q := p.R.URL.Query()
	value := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	d := auditData{Since: value("since"), Until: value("until")}
	d.Filter = access.AuditFilter{Namespace: p.Namespace, Noun: value("noun"), Name: value("name"), Actor: value("actor"), Paging: core.Paging{Cursor: q.Get("cursor")}}
	if d.Err = d.readTimes(p.Now); d.Err != nil {
		return p.Again("audit", d, d.Err)
	}
	all, err := p.api.Audit(p.R.Context(), d.Filter)
	if err != nil {
		return err
	}
	d.Next = all.Next
	for _, a := range all.Items {
		d.Changes = append(d.Changes, newAuditChange(a))
	}
	if f := d.Filter; f.Cursor+f.Actor == "" && f.Until.IsZero() {
		markGone(d.Changes)
	}
	return p.Show("audit", d)
}

func (d *auditData) readTimes(now time.Time) error {
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"since", d.Since, &d.Filter.Since}, {"until", d.Until, &d.Filter.Until}} {
		if t.text == "" {
			continue
		}
		at, err := job.ParseWhen(t.text, now.UTC())
		if err != nil {
			return core.InvalidField(t.name, t.text, err.Error(), "")
		}
		*t.to = at
	}
	return nil
}

// quietFields are fields that every change changes, and that say nothing.
var quietFields = []string{"updated_at", "generation"}

func newAuditChange(a access.Audit) auditChange {
	before, after := auditText(a.Before), auditText(a.After)
	c := auditChange{Audit: a}
	if before != "" && after != "" {
		c.Diff = textdiff.Diff(before, after, textdiff.Options{MaxHunks: 40, MaxBytes: 64 << 10})
	} else {
		c.Whole, _ = core.CleanText(before+after, 64<<10)
	}
	return c
}

// auditText writes a definition with a line for each value, without empty values.
func auditText(raw json.RawMessage) string {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // or large ones would change
	if dec.Decode(&fields) != nil {
		return parts.Pretty(raw)
	}
	for _, name := range quietFields {
		delete(fields, name)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return parts.Pretty(raw)
	}
	return parts.Pretty(text)
}

// Came reports that it was not there before; Went, that it is there no more.
func (c auditChange) Came() bool { return c.Whole != "" && len(c.Before) == 0 }

func (c auditChange) Went() bool { return c.Whole != "" && len(c.After) == 0 }

// AuditPager links to the next page of the list.
func (p *page) AuditPager(d auditData) parts.Pager { return p.Pager(d.Next) }

// Unfiltered reports that everything is shown.
func (d auditData) Unfiltered() bool {
	return d.Filter.Noun+d.Filter.Name+d.Filter.Actor+d.Since+d.Until+d.Filter.Cursor == ""
}

// Fields are those of the filter.
func (d auditData) Fields() []parts.Field {
	return []parts.Field{
		parts.NewField("noun", "Object", "select", d.Filter.Noun, "", d.Err).Among(auditNouns...),
		parts.NewField("name", "Name", "search", d.Filter.Name, "", d.Err),
		parts.NewField("actor", "Actor", "search", d.Filter.Actor, "token:deploy", d.Err),
		parts.NewField("since", "Since", "text", d.Since, "2h, 7d, today, 2026-03-02", d.Err),
		parts.NewField("until", "Until", "text", d.Until, "", d.Err),
	}
}

// auditNounsText are all that a change can be about.
func auditNounsText() string { return strings.TrimSpace(strings.Join(auditNouns, " ")) }

// ChangedLink is the address of the changed object; empty if it has no page, or is deleted.
func (p *page) ChangedLink(c auditChange) string {
	if c.Gone {
		return ""
	}
	return p.ThingLink(c.Audit)
}

// ThingLink is where something that was changed is shown; empty where it has
// no page.
func (p *page) ThingLink(a access.Audit) string {
	switch a.Noun {
	case "task":
		return p.TaskLink(a.Namespace, a.Name)
	case "job":
		if _, err := job.IDFromText("id", a.Name); err != nil {
			return "" // several
		}
		return p.LinkIn(a.Namespace, "jobs", a.Name)
	case "schedule":
		return p.ScheduleLink(a.Namespace, a.Name)
	}
	if at, has := thingPages[a.Noun]; has {
		return p.LinkIn(a.Namespace, slices.Concat(at, []any{a.Name})...)
	}
	return ""
}

// thingPages are where the pages of things with a name begin.
var thingPages = map[string][]any{
	"monitor": {"monitors"}, "cycle": {"cycles"}, "queue": {"queues"}, "calendar": {"calendars"}, "alert_rule": {"alert-rules"},
	"channel": {"settings", "channels"}, "hook": {"settings", "hooks"}, "window": {"settings", "windows"}, "status_page": {"status-pages"},
}

// AuditCommand is the list without this page.
func (p *page) AuditCommand(d auditData) parts.Command {
	cli := []string{"audit"}
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	var query []any
	for _, f := range [][3]string{{"noun", d.Filter.Noun, d.Filter.Noun}, {"name", d.Filter.Name, d.Filter.Name}, {"actor", d.Filter.Actor, d.Filter.Actor},
		{"since", d.Since, instant(d.Filter.Since)}, {"until", d.Until, instant(d.Filter.Until)}} {
		if f[1] != "" {
			cli, query = append(cli, "--"+f[0], f[1]), append(query, f[0], f[2])
		}
	}
	return p.Command("GET", p.APIPath("/v1/audit", query...), "", cli...)
}
