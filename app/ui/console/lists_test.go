package console_test

import (
	"strings"
	"testing"

	"github.com/belfry-run/belfry/task"
)

// What Belfry does for itself is in nobody's way.
func TestCanaryTaskIsListedWhenAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateTask(t.Context(), task.Task{Name: task.CanaryTask, Kind: task.KindFunc}))(s)
	v := s.visitor(s.admin)
	link := `href="/tasks/` + task.CanaryTask + `"`
	for path, listed := range map[string]bool{"/tasks": false, "/tasks?own=true": true, "/tasks?part=canary": true} {
		if _, body := v.get(path); strings.Contains(body, link) != listed {
			t.Errorf("%s lists it: %v", path, !listed)
		}
	}
	for _, path := range []string{"/tasks", "/jobs/-new", "/schedules/-new"} {
		if _, body := v.get(path); strings.Contains(body, task.CanaryTask) {
			t.Errorf("%s offers it", path)
		}
	}
}

func TestTheCancelDialogNamesItsConsequences(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	for path, says := range map[string]string{"/jobs/4/cancel": "Job 4 is canceled.", "/jobs/3/cancel": "Canceling job 3: its worker stops it."} {
		if _, body := v.post(path); !strings.Contains(body, says) {
			t.Errorf("%s does not say %q", path, says)
		}
	}
}

// A form that was refused stands at an address that shows it again, and prints
// what is wrong once.
func TestRefusedJobStaysAtItsForm(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/jobs/-new?task=later")
	put(b, "#f-input", `{"a":`)
	s.refused(b, "main form.card button.main", 422, "is not JSON")
	var at string
	var times int
	b.Eval(`location.pathname`, &at)
	b.Eval(`document.querySelector('main').innerText.split('is not JSON').length - 1`, &times)
	if at != "/jobs/-new" || times != 1 {
		t.Errorf("at %s, said %d times", at, times)
	}
}

func TestVersionIsAcceptedFromTheList(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/monitors/prices/versions")
	opens(b, "accept-3")
	s.sends(b, "#accept-3 button.main", "Version 3 of prices is the baseline now.")
}

func TestTimesAreNoStopsOfTheTabKey(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/jobs")
	var stops int
	b.Eval(`[...document.querySelectorAll('time')].filter(e => e.tabIndex >= 0).length`, &stops)
	if stops != 0 {
		t.Errorf("%d times are", stops)
	}
}

func TestTaskIsCreatedByForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/tasks/-new")
	b.Type("#f-name", "backup")
	b.Type("#f-command-shell", "pg_dump main > /backup/main && echo done")
	b.Type("#f-timeout", "5 parsecs")
	s.refused(b, "button[value=save].main", 422, "is not a length of time", "Correct the marked fields.")
	picture(b, "task-new-fault")
	b.Layout()
	b.Axe()
	put(b, "#f-timeout", "5m")
	put(b, "#f-retry-max_attempts", "2")
	s.sends(b, "button[value=save].main", "Created task backup.", "pg_dump main > /backup/main && echo done")
	tk := must(s.Task(t.Context(), "default", "backup"))(s)
	if tk.Kind != task.KindCommand || tk.Command.Shell != "pg_dump main > /backup/main && echo done" || tk.Timeout.String() != "5m" || tk.Retry.MaxAttempts != 2 {
		t.Errorf("%+v", tk)
	}
	v := s.visitor(s.admin)
	for kind, fields := range map[string][]string{
		"http": {"http.url", "https://example.com/hook", "http.method", "POST", "http.headers", "X-Key: 1", "input", `{"a": [1, 2]}`},
		"func": {"description", "In Go", "tags", "one two", "retry.backoff", "fixed"},
	} {
		if status, body := v.post("/tasks/-new?kind="+kind, append([]string{"do", "save", "name", "a-" + kind}, fields...)...); status != 200 || !strings.Contains(body, "Created task a-"+kind) {
			t.Fatalf("%s: %d %s", kind, status, body)
		}
	}
	hook := must(s.Task(t.Context(), "default", "a-http"))(s)
	if hook.HTTP == nil || hook.HTTP.Method != "POST" || hook.HTTP.Headers["X-Key"] != "1" || string(hook.Input) != `{"a":[1,2]}` {
		t.Errorf("%+v %s", hook.HTTP, hook.Input)
	}
	if f := must(s.Task(t.Context(), "default", "a-func"))(s); f.Kind != task.KindFunc || len(f.Tags) != 2 || f.Retry.Backoff != task.BackoffFixed {
		t.Errorf("%+v", f)
	}
	if status, body := v.post("/tasks/-new?kind=func", "do", "save", "name", "b", "input", "{"); status != 422 || strings.Count(body, "is not JSON") != 1 {
		t.Errorf("%d %s", status, body)
	}
}
