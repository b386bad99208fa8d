package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
)

// nulls lists where a JSON value has null.
func nulls(at string, v any) (found []string) {
	switch v := v.(type) {
	case nil:
		return []string{at}
	case []any:
		for i, item := range v {
			found = append(found, nulls(fmt.Sprintf("%s[%d]", at, i), item)...)
		}
	case map[string]any:
		delete(v, "ratio") // a number, which is null where nothing was measured
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, nulls(at+"."+key, v[key])...)
		}
	}
	return found
}

func TestNoArrayOfAnAnswerIsNull(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	_, secret, err := s.st.CreateToken(t.Context(), access.Token{Namespace: "team-a", Name: "all", Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"of nothing", "of something"} {
		if when == "of something" {
			s.something("team-a", 2)
		}
		answers := s.answersTo(secret)
		for _, id := range slices.Sorted(maps.Keys(answers)) {
			_, body, _ := strings.Cut(answers[id], "{")
			var v any
			if json.Unmarshal([]byte("{"+body), &v) != nil {
				continue // a file, or a log
			}
			if found := nulls("", v); len(found) > 0 {
				t.Errorf("%s %s: null at %s", id, when, strings.Join(found, " "))
			}
		}
	}
}

func TestCreatedObjectsAreAnsweredWithTheirLocation(t *testing.T) {
	t.Parallel()
	s := newStrangers(t)
	_, secret, err := s.st.CreateToken(t.Context(), access.Token{Namespace: "team-a", Name: "all", Scopes: access.Scopes})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Location")
	}
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/v1/tasks", `{"name":"t","kind":"func"}`, 201},
		{"/v1/schedules", `{"name":"s","task":"t"}`, 201},
		{"/v1/monitors", `{"name":"m","check":{"kind":"tcp","tcp":{"address":"db.example:22"}}}`, 201},
		{"/v1/jobs", `{"task":"t","key":"k"}`, 201},
		{"/v1/jobs", `{"task":"t","key":"k"}`, 200},
		{"/v1/schedules/s/trigger", ``, 201},
	} {
		status, at := send("POST", tt.path, tt.body)
		if status != tt.status || tt.status == 201 && at == "" {
			t.Errorf("%s %s: %d, Location %q, want %d", tt.path, tt.body, status, at, tt.status)
			continue
		}
		if at == "" {
			continue
		}
		if status, _ := send("GET", at, ""); status != 200 {
			t.Errorf("%s, where %s is said to be: %d", at, tt.path, status)
		}
	}
	if status, _ := send("POST", "/v1/jobs", `{"jobs":[{"task":"t"},{"task":"t"}]}`); status != 201 {
		t.Errorf("several jobs: %d", status)
	}
}
