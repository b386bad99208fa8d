package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
)

func TestAnEditIsOfTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newScene(t, true)
	if _, err := s.CreateTask(ctx, belfry.Task{Name: "t"}); err != nil {
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
	if _, err := s.UpdateTask(ctx, theirs); belfry.CodeOf(err) != belfry.Conflict || !strings.Contains(err.Error(), read.Version()) {
		t.Errorf("the second editor: %v", err)
	}
	if _, err := s.UpdateTask(ctx, belfry.Task{Name: "t", Description: "whatever is there"}); err != nil {
		t.Errorf("without a version: %v", err)
	}

	_, secret, err := s.store.CreateToken(ctx, belfry.Token{Name: "raw", Namespace: belfry.AnyNamespace, Scopes: belfry.Scopes})
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
