package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// faultsOf are the fields of a page that have a fault, with what they hold.
func faultsOf(t *testing.T, page string) map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]string{}
	for n := range root.Descendants() {
		if name := attr(n, "name"); name != "" && attr(n, "aria-invalid") == "true" {
			wrong[name] = attr(n, "value")
			if n.Data == "textarea" && n.FirstChild != nil {
				wrong[name] = n.FirstChild.Data
			}
		}
	}
	return wrong
}

// All that is wrong with a form is said at once, each at its field, whether it could not be read, is refused by the API, or
// is taken; and nothing typed is lost. No script runs here.
func TestAllFaultsOfAFormStandAtTheirFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.SaveChannel(t.Context(), alert.Channel{Name: "team", Webhook: &alert.WebhookChannel{URL: "https://hooks.example/s3cret"}}))(s)
	must(s.SaveQueue(t.Context(), job.Queue{Name: "bulk"}))(s)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "shop", Every: core.Duration(time.Minute), Check: task.Task{HTTP: &task.HTTP{URL: "https://shop.example"}}}))(s)
	v := s.visitor(s.admin)
	for _, form := range []struct {
		path  string
		typed []string // pairs: all are wrong
		good  []string // pairs
	}{
		{"/tasks/-new", []string{"name", "no name", "timeout", "5 parsecs", "input", "{", "command.shell", "", "retry.max_attempts", "999", "retry.delay", "soon", "queue", "no queue"}, []string{"kind", "command", "description", "kept"}},
		{"/tasks/-new", []string{"name", "no name", "http.url", "nowhere", "priority", "high"}, []string{"kind", "http"}},
		{"/schedules/-new", []string{"name", "no name", "task", "no task", "zone", "Mars/Base", "jitter", "soon", "max_runs", "many", "start", "never", "input", "{"}, []string{"rule_kind", "cron", "rule_text", "0 9 * * *"}},
		{"/monitors/-new?kind=http", []string{"name", "no name", "check.http.url", "nowhere", "every", "soon", "confirm.failures", "many", "check.timeout", "1ns"}, []string{"description", "kept"}},
		{"/monitors/shop/edit", []string{"check.http.url", "nowhere", "every", "soon"}, []string{"description", "kept"}},
		{"/settings/channels/-new?kind=email", []string{"name", "", "email.host", "", "email.from", "nobody", "email.port", "many"}, []string{"email.to", "ops@example.com"}},
		{"/alert-rules/-new", []string{"name", "no name", "remind", "soon"}, []string{"description", "kept", "on", "down"}},
		{"/settings/hooks/-new", []string{"name", "no name", "url", "nowhere"}, nil},
		{"/settings/windows/-new", []string{"name", "no name", "at", "25:00", "zone", "Mars/Base", "lasts", "long"}, []string{"when", "weekly", "days", "Sunday"}},
		{"/queues/-new", []string{"name", "bulk", "concurrency", "many", "priority", "99999"}, nil},
		{"/cycles/-new", []string{"name", "no name", "timeout", "soon"}, []string{"rows", "1", "cycle.members[0].task", "a"}},
		{"/calendars/-new", []string{"name", "no name", "zone", "Mars/Base"}, nil},
	} {
		status, body := v.post(form.path, append(append([]string{"do", "save"}, form.typed...), form.good...)...)
		if status != http.StatusUnprocessableEntity && status != http.StatusConflict {
			t.Errorf("%s: %d", form.path, status)
		}
		wrong := faultsOf(t, body)
		for i := 0; i < len(form.typed); i += 2 {
			held, is := wrong[form.typed[i]]
			if !is || strings.TrimSpace(held) != form.typed[i+1] {
				t.Errorf("%s: %s=%q has its fault %t and holds %q, in %v", form.path, form.typed[i], form.typed[i+1], is, held, wrong)
			}
		}
		for i := 0; i < len(form.good); i += 2 {
			if _, is := wrong[form.good[i]]; is || !strings.Contains(body, form.good[i+1]) {
				t.Errorf("%s: %s has a fault %t, or %q is lost", form.path, form.good[i], is, form.good[i+1])
			}
		}
	}
	// A secret that stands as it was shown is no fault of its own.
	_, page := v.get("/settings/channels/team")
	_, body := v.post("/settings/channels/team", append(formOf(t, page), "do", "save", "description", strings.Repeat("x", 100_000))...)
	if wrong := faultsOf(t, body); len(wrong) != 1 || wrong["description"] == "" {
		t.Errorf("a channel with a secret: %d faults", len(wrong))
	}
}

// The steps of a workflow stand in its text: the form leads there, with steps to change.
func TestWorkflowFormLeadsToItsSteps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	_, body := v.get("/tasks/-new?kind=workflow")
	if !strings.Contains(body, `<button class="main" name="do" value="yaml">Write the steps`) || strings.Contains(body, `value="save">`) {
		t.Error("the form does not lead to the steps, or saves without them")
	}
	if _, body = v.post("/tasks/-new", "do", "yaml", "kind", "workflow", "name", "flow"); !strings.Contains(body, "needs:") || !strings.Contains(body, "name: flow") {
		t.Errorf("the text has no steps: %s", body)
	}
}

// A form that is sent without a session, which a browser has forgotten, says so.
func TestFormWithoutASessionSaysSo(t *testing.T) {
	t.Parallel()
	status, body := newSite(t).visitor("").post("/tasks/-new", "name", "x")
	if status != http.StatusUnauthorized || !strings.Contains(body, "Your session has ended: nothing was saved.") {
		t.Errorf("%d %s", status, body)
	}
}
