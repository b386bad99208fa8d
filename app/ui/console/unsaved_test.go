package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/task"
)

// endSession lets a browser forget its session, as it does when that is over.
func (v *visitor) endSession() {
	v.Helper()
	for _, c := range v.cookies() {
		if strings.HasPrefix(c.Name, "belfry_session") && !strings.HasSuffix(c.Name, "-form") {
			v.http.Jar.SetCookies(must(url.Parse(v.url))(v.site), []*http.Cookie{{Name: c.Name, Path: "/", MaxAge: -1}})
		}
	}
}

// backIn signs in again on the answer to a form that came too late, and shows the form.
func (v *visitor) backIn(page string) (form string) {
	v.Helper()
	status, ready := v.signInOn(page, v.admin)
	if status != http.StatusOK || !strings.Contains(ready, "Show the form") {
		v.Fatalf("the sign-in: %d %s", status, words(ready))
	}
	_, form = v.showForm(ready)
	return form
}

func (v *visitor) signInOn(page, secret string) (status int, ready string) {
	v.Helper()
	return v.ask(http.MethodPost, "/sign-in", fieldsOf(v, page, "/sign-in", "token", secret))
}

func (v *visitor) showForm(ready string) (status int, form string) {
	v.Helper()
	_, action, _ := strings.Cut(ready, `<form method="post" action="`)
	action, _, _ = strings.Cut(action, `"`)
	action = strings.ReplaceAll(action, "&amp;", "&")
	return v.ask(http.MethodPost, action, fieldsOf(v, ready, action))
}

func fieldsOf(v *visitor, page, action string, more ...string) url.Values {
	v.Helper()
	values := url.Values{}
	sent := append(formAt(v.T, page, action), more...)
	for i := 0; i < len(sent); i += 2 {
		values.Set(sent[i], sent[i+1])
	}
	return values
}

// A kept form is for the person who sent it, at the address that it was sent to, and of a bounded size. It is never saved by itself.
func TestKeptForms(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	const at = "/tasks/-new"
	form := []string{"kind", "command", "name", "kept", "command.shell", "echo hunter2", "do", "save"}
	late := func(v *visitor, pairs ...string) string {
		t.Helper()
		v.endSession()
		status, body := v.post(at, pairs...)
		if status != http.StatusUnauthorized || strings.Contains(body, "hunter2") {
			t.Fatalf("%d %s", status, words(body))
		}
		return body
	}
	isKept := func(body string) bool { return strings.Contains(body, `name="kept-form"`) }

	v := s.visitor(s.admin)
	body := late(v, form...)
	if !isKept(body) || !strings.Contains(body, "Then you get the form back.") {
		t.Fatal(words(body))
	}
	other, _ := s.token("other", "*", access.ScopeAdmin)
	if _, ready := v.signInOn(body, other); strings.Contains(ready, "Show the form") || !strings.Contains(ready, "cannot be shown") || strings.Contains(ready, "hunter2") {
		t.Errorf("another person gets it: %s", words(ready))
	}

	v = s.visitor(s.admin)
	body = late(v, form...)
	_, ready := v.signInOn(body, s.admin)
	sealed := fieldsOf(v, ready, at).Get("kept-form")
	changed := "A" + sealed[1:]
	if changed == sealed {
		changed = "B" + sealed[1:]
	}
	for name, sent := range map[string]struct{ path, sealed string }{
		"another address": {"/schedules/-new", sealed}, "a namespace": {at + "?namespace=other", sealed}, "a changed one": {at, changed}, "none": {at, ""},
	} {
		if status, body := v.post(sent.path, "kept-form", sent.sealed, "name", "kept"); status != http.StatusConflict || !strings.Contains(body, "cannot be shown") || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %d %s", name, status, words(body))
		}
	}
	if _, body := s.visitor(s.admin).post(at, "kept-form", sealed); !strings.Contains(body, "cannot be shown") {
		t.Error("another browser of the person opens it")
	}
	status, shown := v.showForm(ready)
	if status != http.StatusConflict || !strings.Contains(shown, "echo hunter2") || !strings.Contains(shown, "is not saved yet") {
		t.Errorf("%d %s", status, words(shown))
	}
	v.endSession() // and once more
	if status, body = v.post(at, "kept-form", sealed); status != http.StatusUnauthorized || fieldsOf(v, body, "/sign-in").Get("kept-form") != sealed {
		t.Errorf("%d %s", status, words(body))
	}
	if n := len(must(s.Tasks(t.Context(), task.Filter{Part: "kept"}))(s).Items); n != 0 {
		t.Errorf("%d are saved", n)
	}

	if body := late(s.visitor(s.admin), append(form, "description", strings.Repeat("x", 256<<10))...); isKept(body) {
		t.Error("a large form is kept")
	}
	if body := late(s.visitor(""), form...); isKept(body) {
		t.Error("the form of a visitor who never signed in is kept")
	}
	out := s.visitor(s.admin)
	out.post("/sign-out")
	if _, body := out.post(at, form...); isKept(body) {
		t.Error("a form is kept that was sent after a sign-out")
	}
	v = s.visitor(s.admin)
	v.endSession()
	if _, body := v.post("/queues/default/pause", "reason", "moving"); isKept(body) {
		t.Error("an action is kept whose address shows no form")
	}
}
