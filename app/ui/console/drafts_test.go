package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
)

// Who goes elsewhere from a form that was refused, and back, has the form with what was typed. The browser would ask to
// send it again.
func TestBackToARefusedForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/calendars/-new")
	put(b, "#f-name", "bad name!")
	s.refused(b, "button[value=save].main", http.StatusUnprocessableEntity, "Correct the marked fields.")
	b.Visit(s.url + "/workers")
	b.Leaves(`history.back()`)
	b.Until(`location.pathname === '/calendars/-new' && ` + draftNote)
	if got := value(b, "#f-name"); got != "bad name!" {
		t.Errorf("it has %q", got)
	}
}

const draftNote = `document.querySelector('form > .flash')?.textContent.includes('What you typed before is here again')`

// What was typed outlives a reload and a way to another page, and can be
// discarded. What was saved is no draft.
func TestDraftsAreKept(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	stored := func(b *browser.Tab) {
		b.Until(`Object.keys(sessionStorage).some(k => k.startsWith('belfry-draft:'))`)
	}
	for _, tt := range []struct{ path, field, value, save, says string }{
		{"/tasks/-new", "#f-command-shell", "echo draft", "button[value=save].main", "Created task draft."},
		{"/schedules/hourly/edit", "#f-description", "of a draft", "button[value=review].main", "Save this edit of hourly?"},
		{"/monitors/shop/edit", "#f-every", "33s", "button.main", "Monitor shop is saved."},
		{"/calendars/nights/edit", "#f-description", "Quiet", "button[value=save].main", "Calendar nights is saved."},
		{"/jobs/-new?task=hello", "#f-tags", "drafted", "button.main", "Job "},
		{"/settings/tokens", "#f-name", "drafted", "[data-draft] button.main", "Its secret is shown only once"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			b := s.at(tt.path)
			put(b, tt.field, tt.value)
			stored(b)
			b.Visit(s.url + "/workers")
			b.Visit(s.url + tt.path)
			b.Until(draftNote)
			if got := value(b, tt.field); got != tt.value {
				t.Errorf("it has %q", got)
			}
			picture(b, "draft")
			b.Axe()
			b.Follow("form > .flash button")
			b.Until(`!(` + draftNote + `)`)
			if got := value(b, tt.field); got == tt.value {
				t.Errorf("it still has %q", got)
			}
			put(b, tt.field, tt.value)
			if tt.path == "/tasks/-new" {
				put(b, "#f-name", "draft")
			}
			b.Visit(s.url + tt.path) // at once
			b.Until(draftNote)
			s.sends(b, tt.save, tt.says)
			if tt.path == "/schedules/hourly/edit" {
				return // which is not saved yet
			}
			b.Visit(s.url + tt.path)
			var noted bool
			if b.Eval(`Boolean(`+draftNote+`)`, &noted); noted {
				t.Error("what was saved is a draft")
			}
		})
	}
}

// The answer to a refused form has another address here than the page that it was filled on. Both drafts end with the save.
func TestDraftEndsAtEachAddressOfItsForm(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/jobs/-new?task=hello")
	put(b, "#f-delay", "soon")
	s.refused(b, "button.main", http.StatusUnprocessableEntity, "is not a length of time")
	put(b, "#f-delay", "1h")
	s.sends(b, "button.main", "Job ")
	b.Until(`!Object.keys(sessionStorage).some(k => k.startsWith('belfry-draft:'))`)
}

// A draft of another kind of task, with more rows than an empty form, and one
// whose definition was changed meanwhile.
func TestDraftsOfOtherForms(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/tasks/-new")
	b.Follow("button[value='kind http']")
	put(b, "#f-http-url", "https://example.com/draft")
	b.Visit(s.url + "/workers")
	b.Visit(s.url + "/tasks/-new")
	b.Until(`document.querySelector('#f-http-url')?.value === 'https://example.com/draft' && ` + draftNote)
	b.Follow("form > .flash button")
	b.Until(`!!document.querySelector('#f-command-shell') && !(` + draftNote + `)`)
	b.Quiet(s.url)

	b.Visit(s.url + "/monitors/shop/edit")
	put(b, "#f-description", "mine")
	b.Visit(s.url + "/workers")
	m := must(s.Monitor(t.Context(), "default", "shop"))(s).Monitor
	m.Description = "theirs"
	must(s.UpdateMonitor(t.Context(), m))(s)
	b.Visit(s.url + "/monitors/shop/edit")
	b.Until(draftNote)
	s.refused(b, "button.main", http.StatusConflict, "Changed by", "Save mine anyway", "theirs", "mine")
}

// Of the ways to say when a maintenance window is, one shows; a name is offered
// word by word.
func TestFormsShowOnlyChosenFields(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/settings/windows/-new")
	shown := func(want string) {
		t.Helper()
		b.Until(`[...document.querySelectorAll('.group[data-for]')].filter(g => g.checkVisibility()).map(g => g.querySelector('h2').textContent).join() === '` + want + `'`)
	}
	shown("One-off")
	put(b, "#f-when", "weekly")
	shown("Weekly,Duration of each")
	b.Axe()
	picture(b, "window-weekly")
	put(b, "#f-when", "rules")
	shown("By rules,Duration of each")
	put(b, "#f-monitors", "api, ")
	var offers []string
	b.Eval(`[...document.getElementById('f-monitors').list.options].map(o => o.value)`, &offers)
	if len(offers) == 0 || offers[0] == "api" {
		t.Errorf("it offers %q", offers)
	}
	for _, o := range offers {
		if len(o) < 6 || o[:5] != "api, " {
			t.Errorf("it offers %q", o)
		}
	}
	b.Visit(s.url + "/alert-rules/-new")
	b.Shows("A job failed for good", "Advanced")
	b.Visit(s.url + "/settings/channels/-new?kind=email")
	b.Shows("STARTTLS")
	b.Quiet(s.url)
}

// The storage of a browser gets no password that was typed into a definition or among headers, whether its page is left,
// sent, or sent after the session has ended.
func TestNoPasswordIsKeptInTheBrowser(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/")
	kept := func(when string) {
		t.Helper()
		var text string
		b.Eval(`JSON.stringify([{...sessionStorage}, {...localStorage}])`, &text)
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s: the browser keeps %s", when, text)
		}
	}
	for path, text := range map[string]string{
		"/settings/channels/-new?kind=email": "name: mail\nemail:\n  host: smtp.example.com\n  from: a@example.com\n  to: [b@example.com]\n  user: a\n  password: hunter2\n",
		"/settings/channels/team":            "webhook:\n  url: https://hooks.example/hunter2\n",
		"/settings/hooks/billing/edit":       "url: https://hooks.example/s3cret\nsecret: hunter2hunter2hunter2\n",
		"/monitors/shop/edit":                "check:\n  http:\n    url: https://shop.example\n    auth:\n      user: a\n      password: hunter2\n",
		"/tasks/-new?kind=yaml":              "name: call\nhttp:\n  url: https://shop.example\n  auth:\n    user: a\n    password: hunter2\n",
		"/tasks/-new?kind=json":              `{"name": "call", "http": {"url": "https://a:hunter2@shop.example"}}`,
		"/tasks/hello/edit?as=yaml":          "kind: command\ncommand:\n  shell: mysql -phunter2 shop\n",
		"/schedules/hourly/edit":             "task: hello\ninput: {password: hunter2}\nrules: [{every: 5m}]\n",
	} {
		open := func() {
			b.Visit(s.url + path)
			if !strings.Contains(path, "/tasks/") {
				b.Follow("main .tabs button[value=yaml]")
			}
			put(b, "textarea[name=definition]", text)
		}
		open()
		b.Visit(s.url + "/workers") // what is typed is kept when a page is left, if at all
		kept(path + " was left")
		open()
		b.Follow("button.main")
		kept(path + " was sent")
		open()
		b.Call("Network.clearBrowserCookies", nil, nil)
		b.Follow("button.main")
		b.Until(`!!document.getElementById('token')`)
		kept(path + " was sent without a session")
		b.Type("#token", s.admin)
		b.Follow("button.main")
		kept(path + " came back")
	}
	b.Visit(s.url + "/tasks/-new?kind=http")
	put(b, "#f-http-auth-password", "hunter2")
	b.Follow("main .tabs button[value='kind command']")
	b.Visit(s.url + "/workers")
	kept("a password of another kind")
	b.Visit(s.url + "/settings/secrets")
	put(b, "#f-value", "hunter2")
	b.Visit(s.url + "/workers")
	kept("a value of a secret")
	b.Visit(s.url + "/settings/channels/-new?kind=webhook")
	put(b, "#f-name", "typed")
	put(b, "#f-webhook-headers-name-1", "X-Key")
	put(b, "#f-webhook-headers-value-1", "hunter2")
	b.Visit(s.url + "/workers")
	kept("a header")
	b.Visit(s.url + "/settings/channels/-new?kind=webhook")
	b.Until(draftNote)
	if name, header := value(b, "#f-name"), value(b, "#f-webhook-headers-value-1"); name != "typed" || header != "" {
		t.Errorf("the draft has %q and %q", name, header)
	}
}
