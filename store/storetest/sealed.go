package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// secretAuth returns a check's authentication with every kind of secret.
func secretAuth(n string) *task.HTTPAuth {
	return &task.HTTPAuth{User: "u", Password: core.Secret("needle-password-" + n)}
}

func secretCheck(n string) task.Task {
	return task.Task{Kind: task.KindHTTP, HTTP: &task.HTTP{URL: "https://example.com", Auth: secretAuth(n)}}
}

func secretChannel(n string) alert.Channel {
	return alert.Channel{Name: "c", Webhook: &alert.WebhookChannel{URL: core.Secret("https://hooks.example/needle-url-" + n), Secret: core.Secret("needle-key-" + n),
		Headers: map[string]core.Secret{"X-Key": core.Secret("needle-header-" + n)}}}
}

// KeepNeedles writes secrets in every possible way. All of them contain the word needle, which must not be found in the
// database.
func KeepNeedles(t *testing.T, st *store.Store) {
	t.Helper()
	ctx := context.Background()
	ok := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"1", "2"} { // created, then replaced
		m := monitor.Monitor{Name: "m", Check: secretCheck(n)}
		tk := secretCheck(n)
		tk.Name = "t"
		if n == "1" {
			ok(st.CreateMonitor(ctx, m))
			ok(st.CreateTask(ctx, tk))
		} else {
			ok(st.UpdateMonitor(ctx, m))
			ok(st.UpdateTask(ctx, tk))
		}
		ok(st.SaveChannel(ctx, secretChannel(n)))
		m.Name, tk.Name = "applied", "applied-task"
		c := secretChannel(n)
		c.Name = "applied"
		ok(st.Apply(ctx, view.Manifest{Monitors: []monitor.Monitor{m}, Tasks: []task.Task{tk}, Channels: []alert.Channel{c}}, view.ApplyOptions{}))
	}
	key := task.Task{Name: "key", Kind: task.KindHTTP, HTTP: &task.HTTP{URL: "https://example.com", Auth: &task.HTTPAuth{Bearer: "needle-bearer"}}}
	ok(st.CreateTask(ctx, key))
	ok(st.SaveChannel(ctx, alert.Channel{Name: "slack", Slack: &alert.SlackChannel{URL: "https://hooks.slack.example/needle-slack"}}))
	ok(st.SetSecret(ctx, "default", "s", "needle-secret"))
	ok(st.SaveStatusPage(ctx, public.StatusPage{Name: "p", Subscribe: &public.Subscribing{Webhooks: true}}))
	ok(nil, st.Subscribe(ctx, "default", "p", public.Webhook, "https://hooks.example/needle-subscriber"))
	ok(st.Enqueue(ctx, []job.NewJob{{Task: "t"}, {Task: "applied-task"}}))
	ok(st.RotateSecrets(ctx))
	ok(nil, st.DeleteMonitor(ctx, "default", "applied"))
}

func init() {
	add("secrets that a node cannot open are counted by kind", caseSecretsThatANodeCannotOpen)
	add("secrets of checks and channels are sealed, and reach those who use them alone", caseSecretsOfChecksAndChannelsAreSealed)
}

func caseSecretsOfChecksAndChannelsAreSealed(b *bench) {
	KeepNeedles(b.T, b.st)
	opened := func(n string) {
		b.Helper()
		c := must(b.st.ChannelSecrets(b.ctx, "default", "c"))(b)
		want(b, "secrets of a channel", fmt.Sprintf("%q %q %q", string(c.Webhook.URL), string(c.Webhook.Secret), string(c.Webhook.Headers["X-Key"])),
			`"https://hooks.example/needle-url-`+n+`" "needle-key-`+n+`" "needle-header-`+n+`"`)
	}
	opened("2")
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{"default": 5}}))(b)
	jobs := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 5}}))(b).Jobs
	want(b, "jobs", len(jobs), 2)
	for _, j := range jobs {
		want(b, "password that the worker gets", string(j.Task.HTTP.Auth.Password), "needle-password-2")
	}
	want(b, "password that is shown", must(b.st.Task(b.ctx, "default", "t"))(b).HTTP.Auth.Password, core.Redacted)

	plan := func(n string, compare bool) []string {
		b.Helper()
		t := secretCheck(n)
		t.Name = "t"
		out := must(b.st.Apply(b.ctx, view.Manifest{Tasks: []task.Task{t}, Channels: []alert.Channel{secretChannel(n)}, Monitors: []monitor.Monitor{{Name: "m", Check: secretCheck(n)}}},
			view.ApplyOptions{DryRun: true, CompareSecrets: compare}))(b)
		var actions []string
		for _, ch := range out.Changes {
			actions = append(actions, string(ch.Action))
		}
		slices.Sort(actions)
		return actions
	}
	want(b, "plan of the same", fmt.Sprint(plan("2", true)), "[keep keep keep]")
	want(b, "plan of others", fmt.Sprint(plan("3", true)), "[update update update]")

	shown := must(b.st.Channel(b.ctx, "default", "c"))(b)
	shown.Description = "edited"
	must(b.st.SaveChannel(b.ctx, shown))(b)
	opened("2")
	opened("2")
}

func caseSecretsThatANodeCannotOpen(b *bench) {
	secrets := func() core.Check {
		b.Helper()
		checks := must(b.st.DatabaseHealth(b.ctx))(b).Checks
		return checks[slices.IndexFunc(checks, func(c core.Check) bool { return c.Name == "secrets" })]
	}
	want(b, "without secrets", fmt.Sprint(secrets()), "{secrets true none are sealed }")
	KeepNeedles(b.T, b.st)
	must(b.st.SaveHook(b.ctx, hook.Hook{Name: "h", URL: "https://hooks.example/", Secret: "needle-of-a-hook-0123", On: []string{"job.*"}}))(b)
	for i := range 120 { // more than one batch
		must(b.st.SetSecret(b.ctx, "default", fmt.Sprint("s", i), "v"))(b)
	}
	key := must(b.st.RotateSecrets(b.ctx))(b).Key
	if c := secrets(); !c.OK || c.Fix != "" || !strings.Contains(c.Detail, "131 definitions") {
		b.Fatalf("secrets that open: got %+v", c)
	}
	for _, table := range []string{"tasks", "monitors", "documents", "subscribers"} {
		b.sql(`update belfry.`+table+` set doc = replace(doc, $1, $2)`, "s1."+key+".", "s1.00000000.")
	}
	b.sql(`update belfry.secrets set sealed = replace(sealed, $1, $2)`, "s1."+key+".", "s1.00000000.")
	c := secrets()
	want(b, "secrets that do not open", fmt.Sprint(c.OK, " ", c.Detail),
		"false this node cannot open those of 4 tasks, 1 monitor, 3 channels, 1 hook, 1 subscriber, 121 secrets, sealed with key 00000000")
	if !strings.Contains(c.Fix, "seal_key_file") || !strings.Contains(c.Fix, "set these secrets anew") {
		b.Fatalf("fix: got %q", c.Fix)
	}
}
