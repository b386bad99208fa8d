package console_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// saves sends the form of a page, and confirms where that is asked.
func (v *visitor) saves(page, path string, pairs ...string) (int, string) {
	v.Helper()
	status, body := v.sendPlain(page, path, pairs...)
	if strings.Contains(body, "Save this edit of") {
		status, body = v.sendPlain(body, path)
	}
	return status, body
}

// asText is the page with the definition of a form as one text.
func (v *visitor) asText(page, path string) string {
	v.Helper()
	values, form := url.Values{"do": {"yaml"}}, formAt(v.T, page, path)
	for i := 0; i < len(form); i += 2 {
		values.Add(form[i], form[i+1])
	}
	_, page = v.ask("POST", path, values)
	return page
}

var secretLine = regexp.MustCompile(`secret: .*`)

// clashRows are the rows of the table of a clash by field, and what stands above it.
func clashRows(t *testing.T, page string) (rows map[string]string, above string) {
	t.Helper()
	_, clash, found := strings.Cut(page, `class="problem clash"`)
	if !found {
		t.Fatalf("there is no clash: %s", words(page))
	}
	above, table, _ := strings.Cut(clash, "<tbody>")
	table, _, _ = strings.Cut(table, "</tbody>")
	rows = map[string]string{}
	for _, row := range strings.Split(table, "<tr>")[1:] {
		name, rest, _ := strings.Cut(strings.TrimPrefix(row, "<td><code>"), "</code>")
		rows[name] = words("<main>" + strings.ReplaceAll(strings.TrimPrefix(rest, "</td>"), "</td>", " | "))
	}
	return rows, words("<main " + above)
}

// wantRows compares the table of a clash: pairs of a field and its row.
func wantRows(t *testing.T, page string, want map[string]string) (above string) {
	t.Helper()
	rows, above := clashRows(t, page)
	for name, row := range rows {
		if !strings.HasPrefix(row, want[name]) || want[name] == "" {
			t.Errorf("the row of %s is %q, want %q", name, row, want[name])
		}
	}
	for name := range want {
		if rows[name] == "" {
			t.Errorf("there is no row of %s: %q", name, rows)
		}
	}
	return above
}

// Of two edits of one definition the second one's form has what only the first changed, and keeps its own where both did. A save of
// it overwrites that alone, and nothing that a third edit brought.
func TestTwoEditsAreMerged(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "sync", Command: &task.Command{Shell: "echo one\necho two"}}))(s)
	must(s.SaveChannel(ctx, alert.Channel{Name: "pager", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook"}}))(s)
	must(s.SaveAlertRule(ctx, alert.Rule{Name: "loud", Channels: []string{"pager"}}))(s)
	must(s.SaveWindow(ctx, monitor.Window{Name: "move", Rules: []schedule.Rule{{Cron: "0 2 * * SUN"}}, Lasts: core.Duration(3600e9)}))(s)
	must(s.SaveQueue(ctx, job.Queue{Name: "slow"}))(s)
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: "front", Sections: []public.StatusSection{{Title: "Shops", Tags: []string{"shop"}}}}))(s)
	announced := must(s.CreateAnnouncement(ctx, public.Announcement{Page: "front", Title: "Mail is late"}))(s)
	must(s.SaveNamespace(ctx, access.Namespace{Name: "default", Queues: []string{task.DefaultQueue}}))(s)
	for _, tt := range []struct {
		path string
		text bool // the second edits the YAML
	}{
		{path: "/tasks/sync/edit"},
		{path: "/tasks/sync/edit", text: true},
		{path: "/schedules/hourly/edit"},
		{path: "/schedules/hourly/edit", text: true},
		{path: "/monitors/shop/edit"},
		{path: "/monitors/shop/edit", text: true},
		{path: "/cycles/nightly/edit"},
		{path: "/cycles/nightly/edit", text: true},
		{path: "/settings/channels/pager"},
		{path: "/settings/channels/pager", text: true},
		{path: "/settings/hooks/billing/edit"},
		{path: "/settings/hooks/billing/edit", text: true},
		{path: "/alert-rules/loud"},
		{path: "/alert-rules/loud", text: true},
		{path: "/calendars/nights/edit"},
		{path: "/calendars/nights/edit", text: true},
		{path: "/settings/windows/move"},
		{path: "/settings/windows/move", text: true},
		{path: "/queues/slow/edit"},
		{path: "/status-pages/front"},
		{path: "/status-pages/front", text: true},
	} {
		name := tt.path
		if tt.text {
			name += " as YAML"
		}
		t.Run(name, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			one, two := s.visitor(s.admin), s.visitor(s.admin)
			_, opened := one.get(tt.path)
			_, page := one.saves(opened, tt.path, "title", "Before", "description", "before")
			if !strings.Contains(page, `class="flash`) {
				t.Fatalf("the first edit: %s", words(page))
			}
			_, opened = two.get(tt.path)
			mine := []string{"description", "mine"}
			if tt.text {
				opened = two.asText(opened, tt.path)
				mine = []string{"definition", strings.Replace(definitionIn(t, opened, tt.path), "before", "mine", 1)}
			}
			one.saved(tt.path, "title", "Theirs", "description", "theirs")

			status, page := two.saves(opened, tt.path, mine...)
			if status != http.StatusConflict {
				t.Fatalf("the second edit: %d %s", status, words(page))
			}
			above := wantRows(t, page, map[string]string{
				"title":       "taken over | Before | Theirs | Theirs |",
				"description": "both changed it: your save overwrites the other edit | before | theirs | mine |",
			})
			if !strings.Contains(above, "only the other edit changed are taken over. Saving it overwrites fields that the other edit changed too:") {
				t.Errorf("above the table: %s", above)
			}
			// A third edit comes before the second is saved again.
			one.saved(tt.path, "title", "Of a third")
			if status, page = two.saves(page, tt.path); status != http.StatusConflict {
				t.Fatalf("the second edit after the third: %d %s", status, words(page))
			}
			wantRows(t, page, map[string]string{"title": "taken over | Theirs | Of a third | Of a third |", "description": "theirs | theirs | mine |"})
			if status, page = two.saves(page, tt.path); status != http.StatusOK || !strings.Contains(page, `class="flash`) {
				t.Fatalf("saved again: %d %s", status, words(page))
			}
			_, page = two.get(tt.path)
			if form := formAt(t, page, tt.path); !contains(form, "title", "Of a third") || !contains(form, "description", "mine") {
				t.Errorf("saved %q", form)
			}
		})
	}
	t.Run("an announcement", func(t *testing.T) {
		s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
		path := "/status-pages/front/announcements/" + numberText(announced.ID)
		v := s.visitor(s.admin)
		_, opened := v.get(path)
		v.saved(path, "level", "warning", "from", "2026-01-31T22:00", "until", "2199-01-31T22:00")
		_, page := v.saves(opened, path, "text", "Letters wait")
		wantRows(t, page, map[string]string{"level": "taken over | info | warning | warning |", "from": "taken over |", "until": "taken over | – | 31 Jan 2199", "text": "– | – | Letters wait |"})
		v.saves(page, path)
		a := must(s.Announcement(s.Context(), "default", "front", announced.ID))(s)
		if a.Level != "warning" || a.Text != "Letters wait" || a.Until.Year() != 2199 {
			t.Errorf("saved %+v", a)
		}
	})
	t.Run("limits", func(t *testing.T) {
		s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
		const path = "/settings/limits/edit"
		v := s.visitor(s.admin)
		_, opened := v.get(path)
		v.saved(path, "quota.waiting", "1000", "limits", "running=20")
		_, page := v.saves(opened, path, "quota.monitors", "70")
		if above := wantRows(t, page, map[string]string{"quota.waiting": "taken over | – | 1000 | 1000 |", "limits[0].name": "taken over | – | 1 | 1 |", "limits[0].running": "taken over | – | 20 | 20 |", "quota.monitors": "– | – | 70 |"}); !strings.Contains(above, "Saving it keeps the other edit:") {
			t.Errorf("above the table: %s", above)
		}
		v.saves(page, path)
		if n := must(s.Namespace(s.Context(), "default"))(s); n.Quota.Waiting != 1000 || n.Quota.Monitors != 70 || len(n.Limits) != 1 {
			t.Errorf("saved %+v", n)
		}
	})
}

// saved edits a definition as another person does.
func (v *visitor) saved(path string, pairs ...string) {
	v.Helper()
	_, page := v.get(path)
	if status, page := v.saves(page, path, pairs...); status != http.StatusOK || !strings.Contains(page, `class="flash`) {
		v.Fatalf("another edit of %s: %d %s", path, status, words(page))
	}
}

// definitionIn is the text of a form.
func definitionIn(t *testing.T, page, path string) string {
	t.Helper()
	form := formAt(t, page, path)
	for i := 0; i < len(form); i += 2 {
		if form[i] == "definition" {
			return form[i+1]
		}
	}
	t.Fatalf("the form shows no text: %q", form)
	return ""
}

// contains reports that a form has a value.
func contains(form []string, name, value string) bool {
	for i := 0; i < len(form); i += 2 {
		if form[i] == name && form[i+1] == value {
			return true
		}
	}
	return false
}

// A list is one value: where both changed it, the form keeps its own, and the table says what is undone. Fields beside it are merged.
func TestListsOfTwoEdits(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	v := s.visitor(s.admin)
	_, opened := v.get("/calendars/nights/edit")
	c := must(s.Calendar(ctx, "default", "nights"))(s)
	c.Zone, c.Closings = "Europe/Paris", append(c.Closings, cron.Closing{Name: "Easter", Dates: "2199-04-14"})
	c = must(s.SaveCalendar(ctx, c))(s)
	_, page := v.saves(opened, "/calendars/nights/edit", "description", "Quiet")
	wantRows(t, page, map[string]string{"zone": "taken over | Europe/Sofia | Europe/Paris |", "closings[2].name": "taken over | – | Easter | Easter |",
		"closings[2].dates": "taken over |", "description": "– | – | Quiet |"})
	v.saves(page, "/calendars/nights/edit")
	if now := must(s.Calendar(ctx, "default", "nights"))(s); now.Zone != "Europe/Paris" || now.Description != "Quiet" || !slices.Equal(now.Closings, c.Closings) {
		t.Errorf("saved %+v", now)
	}

	v = s.visitor(s.admin)
	_, opened = v.get("/calendars/nights/edit")
	c = must(s.Calendar(ctx, "default", "nights"))(s)
	c.Zone, c.Closings[0].Name, c.Closings[2].Dates = "UTC", "they sleep", "2199-04-15"
	must(s.SaveCalendar(ctx, c))(s)
	opened = v.asText(opened, "/calendars/nights/edit")
	text := definitionIn(t, opened, "/calendars/nights/edit")
	_, page = v.saves(opened, "/calendars/nights/edit", "definition", strings.Replace(text, "people sleep", "quiet", 1))
	wantRows(t, page, map[string]string{"zone": "taken over | Europe/Paris | UTC | UTC |", "closings[0].name": "both changed it", "closings[2].dates": "your save undoes this change | 2199-04-14 | 2199-04-15 | 2199-04-14 |"})
	if text = definitionIn(t, page, "/calendars/nights/edit"); !strings.Contains(text, "UTC") || !strings.Contains(text, "quiet") || strings.Contains(text, "they sleep") {
		t.Errorf("the text is %s", text)
	}
}

// Secrets that another edit brought are kept, as are those that no edit touched, and no row shows one.
func TestSecretsOfTwoEdits(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	hook := func(headers map[string]core.Secret) alert.Channel {
		return alert.Channel{Name: "pager", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook", Secret: "the-first-secret-of-it", Headers: headers}}
	}
	for _, as := range []string{"form", "yaml"} {
		must(s.SaveChannel(ctx, hook(map[string]core.Secret{"X-Old": "old"})))(s)
		v := s.visitor(s.admin)
		_, opened := v.get("/settings/channels/pager")
		pairs := []string{"description", "Mine", "webhook.secret", "a-secret-typed-by-me-1"}
		if as == "yaml" {
			opened = v.asText(opened, "/settings/channels/pager")
			text := secretLine.ReplaceAllString(definitionIn(t, opened, "/settings/channels/pager"), "secret: a-secret-typed-by-me-1")
			pairs = []string{"definition", "description: Mine\n" + text}
		}
		must(s.SaveChannel(ctx, hook(map[string]core.Secret{"X-Old": core.Redacted, "X-New": "new"})))(s)
		_, page := v.saves(opened, "/settings/channels/pager", pairs...)
		wantRows(t, page, map[string]string{"webhook.headers.X-New": "taken over | – | (kept secret) | (kept secret) |", "description": "– | – | Mine |",
			"webhook.secret": "(kept secret) | (kept secret) | (another secret) |"})
		if status, page := v.saves(page, "/settings/channels/pager"); status != http.StatusOK {
			t.Fatalf("%s: %d %s", as, status, words(page))
		}
		if c := must(s.Channel(ctx, "default", "pager"))(s); c.Description != "Mine" || len(c.Webhook.Headers) != 2 || c.Webhook.Secret != core.Redacted {
			t.Errorf("%s: saved %+v", as, c.Webhook)
		}
	}
}

// Edits that do not go together are not merged, and neither is one of a version that is no longer known: the form stays as it was
// typed, and the table says what a save undoes.
func TestEditsThatAreNotMerged(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "sync", Command: &task.Command{Shell: "true"}}))(s)
	v := s.visitor(s.admin)
	_, opened := v.get("/tasks/sync/edit")
	other := must(s.Task(ctx, "default", "sync"))(s)
	other.Title, other.Throttle = "Theirs", &flow.Throttle{Window: core.Duration(30e9)}
	must(s.UpdateTask(ctx, other))(s)
	_, page := v.saves(opened, "/tasks/sync/edit", "debounce.window", "10s")
	rows, above := clashRows(t, page)
	if !strings.Contains(above, "The two edits do not go together: nothing is taken over.") || !strings.HasPrefix(rows["title"], "your save undoes this change | – | Theirs | – |") ||
		!strings.HasPrefix(rows["throttle.window"], "your save undoes this change | – | 30 s | – |") || !strings.Contains(page, "Save mine anyway") {
		t.Errorf("%s: %q", above, rows)
	}
	if form := formAt(t, page, "/tasks/sync/edit"); contains(form, "title", "Theirs") {
		t.Errorf("the form is %q", form)
	}

	v = s.visitor(s.admin)
	_, opened = v.get("/monitors/shop/edit")
	v.saved("/monitors/shop/edit", "title", "Theirs")
	must(true, s.node.Store().DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(context.WithoutCancel(ctx), `delete from belfry.audit`)
		return err
	}))(s)
	_, page = v.saves(opened, "/monitors/shop/edit", "description", "mine")
	rows, above = clashRows(t, page)
	if !strings.Contains(above, "The version that you opened is no longer known: nothing is taken over.") || !strings.HasPrefix(rows["title"], "Theirs | – |") || !strings.Contains(page, "Save mine anyway") {
		t.Errorf("%s: %q", above, rows)
	}
}
