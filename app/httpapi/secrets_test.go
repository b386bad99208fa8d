package httpapi

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// plant fills every secret of a value with a word that is found again.
func plant(v reflect.Value, word string) {
	switch {
	case v.Type() == reflect.TypeFor[core.Secret]():
		v.SetString(word)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		plant(v.Elem(), word)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plant(v.Field(i), word)
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			plant(v.Index(i), word)
		}
	case v.Kind() == reflect.Map && v.Type().Elem() == reflect.TypeFor[core.Secret]():
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.ValueOf(core.Secret(word)))
		}
	}
}

// planted is a value with secrets everywhere.
func planted[T any](word string) T {
	v := apitest.Filled[T]()
	plant(reflect.ValueOf(&v).Elem(), word)
	return v
}

// TestNoAnswerHasASecret has the service hand out everything, which a store does
// not, and looks at what every route makes of it.
func TestNoAnswerHasASecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.api.Trials.SetLimit(rate.Inf)
	routes := map[string]string{
		"POST /v1/tasks": `{"name":"n"}`, "PUT /v1/tasks/n": `{}`, "GET /v1/tasks/n": "", "GET /v1/tasks": "",
		"POST /v1/monitors": `{"name":"n"}`, "PUT /v1/monitors/n": `{}`, "GET /v1/monitors/n": "", "GET /v1/monitors": "",
		"POST /v1/monitors/n/pause": "", "POST /v1/monitors/n/resume": "", "POST /v1/monitors/n/check": "",
		"PUT /v1/channels/n": `{}`, "GET /v1/channels/n": "", "GET /v1/channels": "", "POST /v1/channels/n/test": "",
		"PUT /v1/hooks/n": `{}`, "GET /v1/hooks/n": "", "GET /v1/hooks": "", "POST /v1/hooks/n/test": "", "POST /v1/hooks/n/pause": "",
		"POST /v1/checks/try": `{"monitor":"n"}`, "GET /v1/export": "",
		"GET /badge/ns/n/status.svg": "", "GET /beat/" + beatKey: "",
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z0-9]{24}`).Draw(rt, "secret")
		give := func(v any, methods ...string) {
			for _, m := range methods {
				b.when(m, func(context.Context, []any) (any, error) { return v, nil })
			}
		}
		give(planted[task.Task](word), "CreateTask", "UpdateTask", "Task", "CheckOf")
		give(pageOf(planted[task.Task](word)), "Tasks")
		give(planted[view.MonitorView](word), "CreateMonitor", "UpdateMonitor", "Monitor", "PauseMonitor", "ResumeMonitor")
		give(pageOf(planted[view.MonitorView](word)), "Monitors")
		give(planted[alert.Channel](word), "SaveChannel", "Channel", "ChannelSecrets", "HookSecrets")
		give(planted[hook.Hook](word), "SaveHook", "Hook", "PauseHook")
		give(pageOf(planted[alert.Channel](word)), "Channels")
		give(planted[view.Manifest](word), "Export")
		if text, _ := json.Marshal(planted[view.Manifest](word)); strings.Count(string(text), word) < 15 {
			rt.Fatalf("secrets were not planted: %s", text)
		}
		for route, body := range routes {
			method, path, _ := strings.Cut(route, " ")
			status, _, answer := b.raw(t, method, path, body)
			if status >= 300 {
				rt.Fatalf("%s: %d %s", route, status, answer)
			}
			if strings.Contains(answer, word) {
				rt.Fatalf("%s tells a secret: %s", route, answer)
			}
		}
		// Who has to do the work gets it.
		give(planted[job.Claim](word), "Claim")
		claim, err := b.client.Claim(t.Context(), job.ClaimRequest{Session: "s"})
		if err != nil || string(claim.Jobs[0].Task.HTTP.Auth.Bearer) != word {
			rt.Fatalf("a worker gets %+v, %v", claim, err)
		}
	})
	if strings.Contains(b.logged.text(), "(kept") {
		t.Error("secrets are logged") // not even by their stand-in
	}
}
