package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestAnEditIsOfTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newScene(t, true)
	if _, err := s.CreateTask(ctx, task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	read, err := s.Task(ctx, "default", "t")
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Move(time.Second)
	mine, theirs := read, read
	mine.Description, theirs.Description = "mine", "theirs"
	if _, err := s.UpdateTask(ctx, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateTask(ctx, theirs); core.CodeOf(err) != core.Conflict || !strings.Contains(err.Error(), read.Version()) {
		t.Errorf("the second editor: %v", err)
	}
	if _, err := s.UpdateTask(ctx, task.Task{Name: "t", Description: "whatever is there"}); err != nil {
		t.Errorf("without a version: %v", err)
	}

	_, secret, err := s.store.CreateToken(ctx, access.Token{Name: "raw", Namespace: core.AnyNamespace, Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, match, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, s.url+"/v1/tasks/t", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer
	}
	s.clock.Move(time.Second)
	tag := send("GET", "", "").Header.Get("ETag")
	for _, step := range []struct {
		method, match string
		status        int
	}{
		{"PUT", tag, 200}, {"PUT", `"1-old"`, 409}, {"PUT", "old", 422}, {"PUT", "*", 200},
		{"DELETE", tag, 409}, {"DELETE", "*", 204},
	} {
		body := ""
		if step.method == "PUT" {
			body = fmt.Sprintf(`{"description":%q}`, step.match)
		}
		if got := send(step.method, step.match, body); got.StatusCode != step.status {
			t.Errorf("%s with %s: %d, want %d", step.method, step.match, got.StatusCode, step.status)
		}
		s.clock.Move(time.Second)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A condition is held, or refused where nothing has versions: it is never left out.
func TestConditionsAreNeverIgnored(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newScene(t, true)
	_, secret, err := s.store.CreateToken(ctx, access.Token{Name: "raw", Namespace: core.AnyNamespace, Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateTask(ctx, task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Rules: []schedule.Rule{{Cron: "30 * * * *"}}}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		method, path, body, match, fresh string
		status                           int
	}{
		{"PUT", "queues/q", `{"concurrency":1}`, "", "*", 200},
		{"PUT", "queues/q", `{"concurrency":2}`, "", "*", 409},
		{"PUT", "queues/q", `{"concurrency":2}`, "", `"0-old"`, 422},
		{"PUT", "queues/q", `{"concurrency":2}`, "*", "*", 422},
		{"PUT", "calendars/c", `{"description":"x"}`, `"0-old"`, "", 409},
		{"PUT", "calendars/c", `{"description":"x","generation":2}`, "", "", 409},
		{"PUT", "calendars/d", `{"closings":[{"dates":"12-24"}]}`, "", "", 200},
		{"PUT", "calendars/d", `{"closings":[{"dates":"12-25"}],"generation":7}`, "", "", 409},
		{"PUT", "calendars/d", `{"closings":[{"dates":"12-25"}],"generation":1}`, "", "", 200},
		{"PUT", "calendars/d", `{"closings":[{"dates":"12-26"}],"generation":1}`, "", "", 409},
		{"PUT", "tasks/t", `{"description":"mine","generation":2}`, "", "", 409},
		{"PUT", "tasks/t", `{"description":"mine","generation":1}`, "", "", 200},
		{"PUT", "schedules/s", `{"task":"t","rules":[{"cron":"0 * * * *"}],"generation":2}`, "", "", 409},
		{"PUT", "schedules/s", `{"task":"t","rules":[{"cron":"0 * * * *"}],"generation":1}`, "", "", 200},
		{"PUT", "namespaces/n", `{"max_priority":1}`, "", "*", 200},
		{"PUT", "namespaces/n", `{"max_priority":2}`, "", "*", 409},
		{"PUT", "namespaces/n", `{"max_priority":2}`, `"0-old"`, "", 409},
		{"PUT", "namespaces/n", `{"max_priority":2}`, "*", "", 200},
		{"DELETE", "tokens/999", "", `"0-old"`, "", 422},
		{"DELETE", "tokens/999", "", "*", "", 404},
		{"DELETE", "secrets/none", "", `"0-old"`, "", 422},
		{"PUT", "secrets/none", `{"value":"x"}`, "", "*", 422},
	} {
		r, err := http.NewRequestWithContext(ctx, step.method, s.url+"/v1/"+step.path, strings.NewReader(step.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		for name, value := range map[string]string{"If-Match": step.match, "If-None-Match": step.fresh} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != step.status {
			t.Errorf("%s %s with If-Match %q and If-None-Match %q: %d, want %d: %s", step.method, step.path, step.match, step.fresh, answer.StatusCode, step.status, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// An idempotency key that says nothing, or two things, is refused: without a key a repeat would make a second job.
func TestIdempotencyKeysThatSayNothingAreRefused(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newScene(t, true)
	if _, err := s.CreateTask(ctx, task.Task{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.store.CreateToken(ctx, access.Token{Name: "raw", Namespace: core.AnyNamespace, Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		keys   []string
		status int
		says   string
	}{
		{nil, 201, ""}, {[]string{"k"}, 201, ""}, {[]string{"k"}, 200, ""},
		{[]string{""}, 422, "must not be empty"}, {[]string{"  "}, 422, "leave the header out"}, {[]string{"a", "b"}, 422, "send it once"}, {[]string{"a", "a"}, 422, "Idempotency-Key"},
	} {
		r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/jobs", strings.NewReader(`{"task":"t"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		r.Header["Idempotency-Key"] = step.keys
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != step.status || !strings.Contains(string(text), step.says) {
			t.Errorf("keys %q: %d %s, want %d", step.keys, answer.StatusCode, text, step.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
