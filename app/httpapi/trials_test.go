package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func TestACheckIsTried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.when("Try", func(context.Context, []any) (any, error) {
		return task.CheckResult{Outcome: task.CheckFail, Conditions: []task.ConditionResult{{Text: "status == 200", Value: "status = 503"}}}, nil
	})
	before := core.Micro(time.Now())
	tried, err := b.client.Try(t.Context(), wire.Trial{Namespace: "ns", Check: &task.Task{
		HTTP: &task.HTTP{URL: "https://shop.example/"}, Conditions: []string{"status == 200"}, Timeout: core.Duration(5 * time.Minute),
	}})
	if err != nil || tried.Outcome != task.CheckFail || tried.Conditions[0].Value != "status = 503" || tried.Started.Before(before) {
		t.Fatalf("%+v %v", tried, err)
	}
	tk := b.last()[1].(task.Task)
	if tk.Kind != task.KindHTTP || tk.Namespace != "ns" || tk.HTTP.Method != "GET" || tk.Timeout.D() != wire.TrialTimeout || len(tk.Conditions) != 1 {
		t.Errorf("what is tried is %+v", tk)
	}

	b.when("Preview", func(context.Context, []any) (any, error) {
		return PagePreview{
			CheckResult: task.CheckResult{Outcome: task.CheckOK, Page: &task.PageSeen{Outcome: task.PageText, Text: "9.99", Matches: 2}},
			First:       []string{"9.99", "8.99"},
			Removed:     []PageRemoval{{Rule: "ignore[0]", Text: "EUR", Count: 2}},
		}, nil
	})
	tried, err = b.client.Try(t.Context(), wire.Trial{Check: &task.Task{Page: &task.PageCheck{URL: "https://shop.example/", CSS: "b"}}})
	if err != nil || b.last()[0] != "Preview" || tried.Page.Matches != 2 || tried.First[1] != "8.99" || tried.Removed[0].Count != 2 {
		t.Errorf("a page: %+v %v", tried, err)
	}
	b.when("Try", func(context.Context, []any) (any, error) {
		return nil, core.InvalidField("conditions[0]", "x", "is no expression", "")
	})
	if _, err := b.client.Try(t.Context(), wire.Trial{Check: &task.Task{TCP: &task.TCP{Address: "x:1"}}}); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "check.conditions[0]") {
		t.Errorf("what the prober says: %v", err)
	}
}

// ownTask is the check of a monitor, with secrets.
func ownTask() task.Task {
	return task.Task{HTTP: &task.HTTP{URL: "https://shop.example/", Auth: &task.HTTPAuth{User: "u", Password: "hunter2"}}}
}

func TestAnEditIsTriedWithTheSecretsOfItsMonitor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.when("CheckOf", func(_ context.Context, args []any) (any, error) {
		if args[0] != "ns" || args[1] != "m" {
			return nil, core.Errorf(core.NotFound, "no monitor")
		}
		return monitor.Monitor{Namespace: "ns", Name: "m", Check: ownTask()}.WithDefaults().Task(), nil
	})
	tried := func(body wire.Trial) (core.Secret, error) {
		t.Helper()
		body.Namespace, body.Monitor = "ns", "m"
		if _, err := b.client.Try(t.Context(), body); err != nil {
			return "", err
		}
		return b.last()[1].(task.Task).HTTP.Auth.Password, nil
	}
	if got, err := tried(wire.Trial{}); err != nil || got != "hunter2" {
		t.Errorf("the monitor's own check has %q, %v", string(got), err)
	}
	edit := ownTask().Redacted()
	edit.HTTP.URL += "other/path?q=1"
	edit.Conditions = []string{"status == 404"}
	if got, err := tried(wire.Trial{Check: &edit}); err != nil || got != "hunter2" || b.last()[1].(task.Task).HTTP.URL != edit.HTTP.URL {
		t.Errorf("an edit has %q, %v", string(got), err)
	}
	for name, change := range map[string]func(*task.HTTP){
		"another host":   func(h *task.HTTP) { h.URL = "https://thief.example/" },
		"another port":   func(h *task.HTTP) { h.URL = "https://shop.example:444/" },
		"without TLS":    func(h *task.HTTP) { h.URL = "http://shop.example/" },
		"a proxy":        func(h *task.HTTP) { h.Proxy = "http://thief.example" },
		"another name":   func(h *task.HTTP) { h.ServerName = "thief.example" },
		"any authority":  func(h *task.HTTP) { h.CA = "x" },
		"no certificate": func(h *task.HTTP) { h.SkipVerify = true },
	} {
		edit := ownTask().Redacted()
		h := *edit.HTTP
		change(&h)
		edit.HTTP = &h
		if got, err := tried(wire.Trial{Check: &edit}); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "check.http.auth.password") {
			t.Errorf("%s: sends %q, %v", name, string(got), err)
		}
	}
	if _, err := b.client.Try(t.Context(), wire.Trial{Namespace: "ns", Monitor: "other"}); core.CodeOf(err) != core.NotFound {
		t.Error(err)
	}
}

func TestAChannelIsTested(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.when("ChannelSecrets", func(context.Context, []any) (any, error) {
		return alert.Channel{Namespace: "ns", Name: "ops", Slack: &alert.SlackChannel{URL: "https://hooks.example/secret"}}, nil
	})
	keys := map[string]bool{}
	for range 2 {
		out, err := b.client.TestChannel(t.Context(), "ns", "ops")
		if err != nil || !out.OK || out.Error != "" {
			t.Fatalf("%+v %v", out, err)
		}
		sent := b.last()
		channel, m := sent[1].(alert.Channel), sent[2].(alert.Message)
		if channel.Slack.URL != "https://hooks.example/secret" || m.Channel != "ops" || m.Namespace != "ns" || m.Title != "Test of channel ops" ||
			m.Severity != alert.SeverityInfo || m.URL != "https://belfry.example" || m.Notifications[0].Type != alert.NotificationTest {
			t.Errorf("sent %+v through %+v", m, channel)
		}
		keys[m.Key] = true
	}
	if len(keys) != 2 {
		t.Error("two tests have the same key: who drops what came before drops the second")
	}
	b.when("Send", func(context.Context, []any) (any, error) {
		return api.None{}, errors.New("hooks.example said 403 Forbidden")
	})
	if out, err := b.client.TestChannel(t.Context(), "ns", "ops"); err != nil || out.OK || out.Error != "hooks.example said 403 Forbidden" {
		t.Errorf("a refusal: %+v %v", out, err)
	}
	b.when("ChannelSecrets", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.NotFound, "no channel") })
	b.refused(t, 404, "POST", "/v1/channels/other/test", "")
}

func TestTriesAndTestsAreRare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.api.Trials = rate.NewLimiter(rate.Every(time.Hour), 3)
	one := `{"check":{"http":{"url":"https://shop.example/"}}}`
	for _, path := range []string{"/v1/checks/try", "/v1/channels/c/test", "/v1/checks/try"} {
		if status, _, body := b.raw(t, "POST", path, map[bool]string{true: one}[path == "/v1/checks/try"]); status != 200 {
			t.Fatal(status, body)
		}
	}
	asked := b.seen["Try"] + b.seen["Send"]
	for path, body := range map[string]string{"/v1/checks/try": one, "/v1/channels/c/test": ""} {
		_, h, _ := b.raw(t, "POST", path, body)
		p := b.refused(t, http.StatusTooManyRequests, "POST", path, body)
		if p.Code != core.Unavailable || h.Get("Retry-After") == "" {
			t.Errorf("%s: %+v %v", path, p, h)
		}
	}
	if b.seen["Try"]+b.seen["Send"] != asked {
		t.Error("something was sent over the limit")
	}
	// What is refused anyway costs nothing.
	b.server.api.Trials = rate.NewLimiter(rate.Every(time.Hour), 1)
	b.refused(t, 422, "POST", "/v1/checks/try", `{}`)
	b.refused(t, 403, "POST", "/v1/checks/try", one, "Authorization", "Bearer reader")
	if status, _, body := b.raw(t, "POST", "/v1/checks/try", one); status != 200 {
		t.Error(status, body)
	}
	if setup(t).server.api.Trials.Burst() != api.TrialsAtOnce {
		t.Error("a server has another limit")
	}
}

func TestANodeWithoutTheAbilitySaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Prober, o.Notifier, o.Secrets = nil, nil, nil })
	for path, says := range map[string]string{"/v1/checks/try": "runs no checks", "/v1/channels/c/test": "sends no messages"} {
		body := map[bool]string{true: `{"monitor":"m"}`}[path == "/v1/checks/try"]
		if p := b.refused(t, 503, "POST", path, body); !strings.Contains(p.Detail, says) || p.Hint == "" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	b = setup(t, func(o *Options) { o.Secrets = nil })
	if p := b.refused(t, 503, "POST", "/v1/checks/try", `{"monitor":"m"}`); !strings.Contains(p.Detail, "has no access") {
		t.Errorf("%+v", p)
	}
}
