package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// hooks are saved before anything happens, so that they have its events:
//
//	billing  of task broken, taken    failing  of monitors, whose receiver answers HTML
//	paused   of everything            pulled   of failed jobs
func (s *site) hooks() {
	s.Helper()
	for _, h := range []hook.Hook{
		{Name: "billing", Description: "The accounts", On: []string{"job.*"}, Tasks: []string{"broken"}, Headers: map[string]core.Secret{"X-Team": "t3am"}},
		{Name: "failing", On: []string{"monitor.*"}},
		{Name: "paused", Paused: true},
		{Name: "pulled", Pull: true, On: []string{"job.failed"}},
	} {
		if !h.Pull {
			h.URL, h.Secret = "https://hooks.example/s3cret", "0123456789abcdef"
		}
		must(s.SaveHook(s.Context(), h))(s)
	}
}

// hooksDelivered takes what waits, and fails to deliver it to failing.
func (s *site) hooksDelivered() {
	s.Helper()
	st := s.node.Store()
	for _, m := range must(st.TakeEvents(s.Context(), 32))(s).Messages {
		r := view.DeliveryResult{Took: core.Duration(120 * time.Millisecond)}
		if hook.NameOf(m.Channel) == "failing" {
			r.Error = "answered 502: <b>no</b>"
		}
		if err := st.SettleEvents(s.Context(), m, r); err != nil {
			s.Fatal(err)
		}
	}
}

// What can be done with a hook, by a page without a script.
func TestHooksByPage(t *testing.T) {
	t.Parallel()
	type request struct{ secret, signature, body string }
	said, status := make(chan request, 100), http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- request{r.Header.Get("X-Key"), r.Header.Get("Belfry-Signature"), string(body)}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowAddresses = []string{config.RoleAPI, config.RoleEngine}, []string{"loopback"}
	})
	ctx := t.Context()
	v := s.visitor(s.admin)
	const secret = "a-key-of-16-bytes-or-more"
	form := []string{"name", "billing", "url", receiver.URL + "/s3cret", "secret", "short", "headers[name]", "X-Key", "headers[value]", "k3y", "on", "job.*, nothing", "tasks", "bill-*", "do", "save"}
	code, body := v.post("/settings/hooks/-new", form...)
	if code != http.StatusUnprocessableEntity || !strings.Contains(body, "must have at least 16 bytes") || !strings.Contains(body, "is not a type of event") || !strings.Contains(body, `value="bill-*"`) {
		t.Fatalf("refused with %d: %s", code, body)
	}
	form = with(with(form, "secret", secret), "on", "job.*")
	if code, body := v.post("/settings/hooks/-new", form...); code != http.StatusOK || !strings.Contains(body, "Hook billing is saved") {
		t.Fatalf("%d: %s", code, body)
	}
	if code, body := v.post("/settings/hooks/-new", form...); code != http.StatusConflict || !strings.Contains(body, "already") {
		t.Errorf("made twice: %d: %s", code, body)
	}
	got := must(s.Hook(ctx, "default", "billing"))(s)
	if strings.Join(got.On, " ") != "job.*" || strings.Join(got.Tasks, " ") != "bill-*" || got.Paused {
		t.Errorf("%+v", got)
	}
	act := func(verb, says string) {
		t.Helper()
		code, body := v.post("/settings/hooks/billing/" + verb)
		if code != http.StatusOK || !strings.Contains(body, says) {
			t.Fatalf("%s: %d, without %q: %s", verb, code, says, body)
		}
	}
	act("test", "The test was taken")
	if r := <-said; r.secret != "k3y" || !strings.HasPrefix(r.signature, "t=") || !strings.Contains(r.body, "hook.test") {
		t.Errorf("%+v", r)
	}
	act("pause", "is paused")
	_, page := v.get("/settings/hooks/billing/edit")
	if code, body := v.post("/settings/hooks/billing/edit", append(with(formAt(t, page, "/edit"), "description", "The accounts"), "do", "save")...); code != http.StatusOK || !strings.Contains(body, "is saved") {
		t.Fatalf("%d: %s", code, body)
	}
	if got := must(s.Hook(ctx, "default", "billing"))(s); !got.Paused || got.Description != "The accounts" || strings.Join(got.Tasks, " ") != "bill-*" {
		t.Errorf("%+v", got)
	}
	act("resume", "is resumed")
	status = http.StatusInternalServerError
	act("test", "The test was not taken")
	if r := <-said; r.secret != "k3y" {
		t.Errorf("saved again as it is shown, it sends %+v", r)
	}
	for _, path := range []string{"/settings/hooks", "/settings/hooks/billing", "/settings/hooks/billing/edit"} {
		_, page := v.get(path)
		for _, hidden := range []string{"s3cret", "k3y", secret} {
			if strings.Contains(page, hidden) {
				t.Errorf("%s shows %s", path, hidden)
			}
		}
	}
	if code, body := v.post("/settings/hooks/billing/delete"); code != http.StatusOK || !strings.Contains(body, "There is no hook yet.") {
		t.Errorf("deleted: %d: %s", code, body)
	}
}

// A hook that is pulled is made and edited by page, and stays one.
func TestPulledHooksByPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	if code, body := v.post("/settings/hooks/-new?delivery=pull", "name", "audit", "on", "job.*", "do", "save"); code != http.StatusOK || !strings.Contains(body, "Hook audit is saved") {
		t.Fatalf("%d: %s", code, body)
	}
	_, page := v.get("/settings/hooks/audit/edit")
	if strings.Contains(page, `name="url"`) {
		t.Error("the form asks for a URL")
	}
	if code, body := v.post("/settings/hooks/audit/edit", append(with(formAt(t, page, "/edit"), "description", "For the books"), "do", "save")...); code != http.StatusOK || !strings.Contains(body, "is saved") {
		t.Fatalf("%d: %s", code, body)
	}
	if h := must(s.Hook(t.Context(), "default", "audit"))(s); !h.Pull || h.Description != "For the books" {
		t.Errorf("%+v", h)
	}
	_, page = v.get("/settings/hooks/audit")
	if strings.Contains(page, "/audit/test") || strings.Contains(page, "/audit/replay") {
		t.Error("it offers what is for posted hooks")
	}
}

// Events that were taken are delivered once more from a time on.
func TestHookReplayByPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	must(s.SaveHook(ctx, hook.Hook{Name: "billing", URL: "https://hooks.example/x", Secret: "0123456789abcdef"}))(s)
	v := s.visitor(s.admin)
	act := func(verb, says string, form ...string) {
		t.Helper()
		if code, body := v.post("/settings/hooks/billing/"+verb, form...); code != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d, without %q: %s", verb, code, says, body)
		}
	}
	must(s.CreateTask(ctx, task.Task{Name: "bill-eu", Kind: task.KindFunc}))(s)
	s.fail("bill-eu", "no money")
	s.hooksDelivered()
	if code, body := v.post("/settings/hooks/billing/replay", "since", "yesterdai", "until", "2026-01-02"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "yesterdai") || !strings.Contains(body, `value="2026-01-02"`) {
		t.Errorf("a wrong time: %d: %s", code, body)
	}
	act("replay", "nothing is delivered again", "since", "2026-01-01", "until", "2026-01-02")
	act("replay", "nothing is delivered again", "since", "2h", "replay_type", "job.succeeded")
	act("replay", "1 event is delivered again", "since", "2h", "replay_type", "job.*")
	if st := must(s.HookStatus(ctx, "default", "billing"))(s); st.Pending != 1 {
		t.Errorf("%+v", st)
	}
}

// Another namespace's token sees nothing of a hook, and a reader changes nothing.
func TestHooksOfOthers(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	reader, _ := s.token("reader", "default", access.ScopeRead)
	stranger, _ := s.token("stranger", "elsewhere", access.ScopeRead, access.ScopeOperate, access.ScopeAdmin)
	for name, secret := range map[string]string{"reader": reader, "stranger": stranger} {
		v := s.visitor(secret)
		for _, verb := range []string{"test", "pause", "resume", "replay", "delete", "edit"} {
			code, _ := v.post("/settings/hooks/billing/" + verb + "?namespace=default")
			if code != http.StatusForbidden {
				t.Errorf("%s: %s: %d", name, verb, code)
			}
		}
	}
	v := s.visitor(stranger)
	for _, path := range []string{"/settings/hooks", "/settings/hooks/billing", "/settings/hooks?namespace=default", "/settings/hooks?namespace=*", "/settings/hooks/billing?namespace=default"} {
		if _, body := v.get(path); strings.Contains(body, "The accounts") || strings.Contains(body, "X-Team") {
			t.Errorf("a stranger sees %s", path)
		}
	}
	v = s.visitor(reader)
	for _, path := range []string{"/settings/hooks", "/settings/hooks/billing", "/settings/hooks/failing", "/settings/hooks/paused"} {
		code, body := v.get(path)
		if _, main, _ := strings.Cut(body, "<main"); code != http.StatusOK || strings.Contains(main, `method="post"`) || strings.Contains(main, "-new") || strings.Contains(main, "/edit") {
			t.Errorf("%s: %d: a reader is offered changes", path, code)
		}
	}
	hostile := `"><script>x</script>`
	for _, path := range []string{"/settings/hooks/" + url.PathEscape(hostile), "/settings/hooks/billing?type=" + url.QueryEscape(hostile), "/settings/hooks/billing?state=" + url.QueryEscape(hostile)} {
		if _, body := s.visitor(s.admin).get(path); strings.Contains(body, "<script>x") {
			t.Errorf("%s runs", path)
		}
	}
}
