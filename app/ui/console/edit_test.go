package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/task"
)

var clashField = regexp.MustCompile(`<td><code>([^<]*)</code>`)

// Of two tabs in which the same definition is edited the second is told, keeps
// what it typed, and overwrites only once it says so.
func TestTwoTabsEditOneDefinition(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	must(s.CreateTask(ctx, task.Task{Name: "sync", Command: &task.Command{Shell: "echo one\necho two"}}))(s)
	must(s.SaveChannel(ctx, alert.Channel{Name: "pager", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook"}}))(s)
	must(s.SaveAlertRule(ctx, alert.Rule{Name: "loud", Channels: []string{"pager"}}))(s)
	must(s.SaveWindow(ctx, monitor.Window{Name: "move", From: time.Now().Add(time.Hour), To: time.Now().Add(2 * time.Hour)}))(s)
	must(s.SaveQueue(ctx, job.Queue{Name: "slow"}))(s)
	must(s.SaveStatusPage(ctx, public.StatusPage{Name: "front"}))(s)
	description := func(form []string, text string) []string { return with(form, "description", text) }
	for _, tt := range []struct {
		path string
		edit func(form []string, text string) []string
		read func() string // what the definition says now
	}{
		{"/tasks/sync/edit", description, func() string { return must(s.Task(ctx, "default", "sync"))(s).Description }},
		{"/schedules/hourly/edit", description, func() string { return must(s.Schedule(ctx, "default", "hourly"))(s).Description }},
		{"/monitors/shop/edit", description, func() string { return must(s.Monitor(ctx, "default", "shop"))(s).Description }},
		{"/cycles/nightly/edit", description, func() string { return must(s.Task(ctx, "default", "nightly"))(s).Description }},
		{"/settings/channels/pager", description, func() string { return must(s.Channel(ctx, "default", "pager"))(s).Description }},
		{"/settings/hooks/billing/edit", description, func() string { return must(s.Hook(ctx, "default", "billing"))(s).Description }},
		{"/alert-rules/loud", description, func() string { return must(s.AlertRule(ctx, "default", "loud"))(s).Description }},
		{"/calendars/nights/edit", description, func() string { return must(s.Calendar(ctx, "default", "nights"))(s).Description }},
		{"/settings/windows/move", description, func() string { return must(s.Window(ctx, "default", "move"))(s).Description }},
		{"/queues/slow/edit", description, func() string { return must(s.Queue(ctx, "slow"))(s).Description }},
		{"/status-pages/front", description, func() string { return must(s.StatusPage(ctx, "default", "front"))(s).Description }},
	} {
		t.Run(tt.path, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			one, two := s.visitor(s.admin), s.visitor(s.admin)
			_, body := one.get(tt.path)
			opened := formAt(t, body, tt.path)
			save := func(v *visitor, form []string) (int, string) {
				status, body := v.post(tt.path, append(form, "do", "save")...)
				if strings.Contains(body, "Save this edit of") {
					status, body = v.post(tt.path, append(formAt(t, body, tt.path), "do", "save")...)
				}
				return status, body
			}
			if status, _ := save(one, tt.edit(opened, "from tab one")); status != http.StatusOK || tt.read() != "from tab one" {
				t.Fatalf("the first tab: %d, and it says %q", status, tt.read())
			}
			status, body := save(two, tt.edit(opened, "from tab two"))
			if status != http.StatusConflict || tt.read() != "from tab one" {
				t.Fatalf("the second tab: %d, and it says %q", status, tt.read())
			}
			for _, says := range []string{"Changed by token:", "nothing is saved yet", "Save mine anyway", "take theirs", "<code>description</code>", "from tab one", "from tab two"} {
				if !strings.Contains(body, says) {
					t.Errorf("the second tab is not told %q", says)
				}
			}
			_, table, _ := strings.Cut(body, `class="problem clash"`)
			table, _, _ = strings.Cut(table, "</table>")
			var fields []string
			for _, row := range clashField.FindAllStringSubmatch(table, -1) {
				fields = append(fields, row[1])
			}
			if len(fields) != 1 || fields[0] != "description" || !strings.Contains(table, `data-th="Now" class="text">from tab one</td><td data-th="In your form" class="text">from tab two</td>`) {
				t.Errorf("the table shows %q: %s", fields, table)
			}
			form := formAt(t, body, tt.path)
			if !strings.Contains(strings.Join(form, "\n"), "from tab two") {
				t.Errorf("what was typed is lost: %q", form)
			}
			if status, _ := two.post(tt.path, append(form, "do", "save")...); status != http.StatusOK || tt.read() != "from tab two" {
				t.Errorf("saved anyway: %d, and it says %q", status, tt.read())
			}
		})
	}
}

// The table of a clash writes times and durations as pages do, in the zone of the definition, and shows values that differ in less as they are.
func TestClashWritesTimesAndDurations(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	const day = "2199-01-02T"
	from := must(time.Parse(time.RFC3339, day+"03:00:00Z"))(s)
	w := must(s.SaveWindow(ctx, monitor.Window{Name: "move", Zone: "Europe/Sofia", From: from, To: from.Add(time.Hour)}))(s)
	m := must(s.Monitor(ctx, "default", "shop"))(s).Monitor
	v := s.visitor(s.admin)
	_, window := v.get("/settings/windows/move")
	_, check := v.get("/monitors/shop/edit")
	w.To = from.Add(2 * time.Hour)
	must(s.SaveWindow(ctx, w))(s)
	m.Every, m.Confirm.For = core.Duration(90*time.Second), core.Duration(time.Hour+2*time.Minute+time.Second)
	must(s.UpdateMonitor(ctx, m))(s)

	_, body := v.sendPlain(window, "/settings/windows/move", "to", day+"08:00")
	for _, says := range []string{"<code>to</code>", `data-th="When you opened it" class="text">2 Jan 2199, 06:00 Europe/Sofia<`, `data-th="Now" class="text">2 Jan 2199, 07:00 Europe/Sofia<`, `data-th="In your form" class="text">2 Jan 2199, 08:00 Europe/Sofia<`} {
		if !strings.Contains(body, says) {
			t.Errorf("the window does not say %q: %s", says, words(body))
		}
	}
	_, body = v.sendPlain(check, "/monitors/shop/edit", "every", "3h", "confirm.for", "1h2m3s")
	for _, says := range []string{`data-th="Now" class="text">1 min 30 s<`, `data-th="In your form" class="text">3 h<`, `data-th="Now" class="text">1h2m1s<`, `data-th="In your form" class="text">1h2m3s<`} {
		if !strings.Contains(body, says) {
			t.Errorf("the monitor does not say %q: %s", says, words(body))
		}
	}
}

// with is a form with one field set.
func with(form []string, name, value string) []string {
	out := append([]string(nil), form...)
	for i := 0; i < len(out); i += 2 {
		if out[i] == name {
			out[i+1] = value
			return out
		}
	}
	return append(out, name, value)
}
