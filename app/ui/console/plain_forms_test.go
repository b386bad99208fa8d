package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/belfry-run/belfry/app/ui/console"
)

// plainForm is a form as it is filled in, sent, refused, mended, sent again, edited by two people and taken back, without a script.
type plainForm struct {
	name   string
	at     string   // page with the form of a new one
	keep   []string // pairs that are right
	wrong  []string // pairs: each is at fault
	right  []string // pairs: what mends that
	secret string   // part of what was typed that no answer repeats
	lost   []string // fields that are not repeated
	edit   string   // page with its form, which is sent to the same address; empty: it cannot be edited
	change string   // field that two people set to different values
	to     [2]string
	page   string // with what takes it back
	gone   string // action that does; empty: there is none
}

var plainForms = []plainForm{
	{name: "task", at: "/tasks/-new?kind=http", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "http.url", "nowhere", "timeout", "5 parsecs", "priority", "high"}, right: []string{"name", "plain", "http.url", "https://shop.example", "timeout", "5m", "priority", "3"},
		edit: "/tasks/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/tasks/plain", gone: "/tasks/plain/delete"},
	{name: "schedule", at: "/schedules/-new", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "zone", "Mars/Base", "jitter", "soon", "max_runs", "many"}, right: []string{"name", "plain", "task", "hello", "zone", "Europe/Sofia", "jitter", "5s", "max_runs", "7"},
		edit: "/schedules/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/schedules/plain", gone: "/schedules/plain/delete"},
	{name: "monitor", at: "/monitors/-new?kind=http", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "check.http.url", "nowhere", "every", "soon", "check.timeout", "1ns"}, right: []string{"name", "plain", "check.http.url", "https://shop.example", "every", "1m", "check.timeout", "5s"},
		edit: "/monitors/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/monitors/plain", gone: "/monitors/plain/delete"},
	{name: "cycle", at: "/cycles/-new", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "timeout", "soon", "cycle.members[0].task", "no task"}, right: []string{"name", "plain", "timeout", "5m", "cycle.members[0].task", "hello"},
		edit: "/cycles/plain/edit", change: "description", to: [2]string{"one", "two"}},
	{name: "maintenance window", at: "/settings/windows/-new", keep: []string{"description", "kept", "when", "weekly", "days", "Sunday"},
		wrong: []string{"name", "no name", "at", "25:00", "zone", "Mars/Base", "lasts", "long"}, right: []string{"name", "plain", "at", "22:00", "zone", "Europe/Sofia", "lasts", "2h"},
		edit: "/settings/windows/plain", change: "description", to: [2]string{"one", "two"}, page: "/settings/windows/plain", gone: "/settings/windows/plain/delete"},
	{name: "status page", at: "/status-pages/-new", keep: []string{"title", "kept"},
		wrong: []string{"name", "no name", "accent", "loud"}, right: []string{"name", "plain", "accent", "#0000aa"},
		edit: "/status-pages/plain", change: "description", to: [2]string{"one", "two"}, page: "/status-pages/plain", gone: "/status-pages/plain/delete"},
	{name: "queue", at: "/queues/-new", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "concurrency", "many", "priority", "99999", "ageing", "soon", "limits", "running=none", "fair.weights", "acme"},
		right: []string{"name", "plain", "concurrency", "3", "priority", "5", "ageing", "10m", "limits", "running=4", "fair.weights", "acme=3", "fair.key", "input.customer"},
		edit:  "/queues/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/queues/plain", gone: "/queues/plain/delete"},
	{name: "webhook", at: "/settings/hooks/-new", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "url", "nowhere", "secret", "hunter2"}, right: []string{"name", "plain", "url", "https://shop.example/in", "secret", "hunter2-of-sixteen-bytes"}, secret: "hunter2", lost: []string{"secret"},
		edit: "/settings/hooks/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/settings/hooks/plain", gone: "/settings/hooks/plain/delete"},
	{name: "channel", at: "/settings/channels/-new?kind=webhook", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "webhook.url", "nowhere"}, right: []string{"name", "plain", "webhook.url", "https://shop.example/in"},
		edit: "/settings/channels/plain", change: "description", to: [2]string{"one", "two"}, page: "/settings/channels/plain", gone: "/settings/channels/plain/delete"},
	{name: "alert rule", at: "/alert-rules/-new", keep: []string{"description", "kept", "on", "down"},
		wrong: []string{"name", "no name", "remind", "soon"}, right: []string{"name", "plain", "remind", "1h", "channels", "team"},
		edit: "/alert-rules/plain", change: "description", to: [2]string{"one", "two"}, page: "/alert-rules/plain", gone: "/alert-rules/plain/delete"},
	{name: "calendar", at: "/calendars/-new", keep: []string{"description", "kept"},
		wrong: []string{"name", "no name", "zone", "Mars/Base"}, right: []string{"name", "plain", "zone", "Europe/Sofia"},
		edit: "/calendars/plain/edit", change: "description", to: [2]string{"one", "two"}, page: "/calendars/plain", gone: "/calendars/plain/delete"},
	{name: "announcement", at: "/status-pages/public/announcements/-new", keep: []string{"level", "warning"},
		wrong: []string{"title", strings.Repeat("x", 201), "text", strings.Repeat("y", 4001), "from", "soon", "until", "later", "zone", "Mars/Base"},
		right: []string{"title", "Mail", "text", "late", "from", "", "until", "2199-12-31T12:00", "zone", "Europe/Sofia"},
		edit:  "/status-pages/public/announcements/1", change: "text", to: [2]string{"one", "two"}, page: "/status-pages/public/announcements", gone: "/status-pages/public/announcements/1/end"},
	{name: "secret", at: "/settings/secrets", wrong: []string{"name", "no name"}, keep: []string{"value", "hunter2-of-mine"}, right: []string{"name", "plain", "value", "hunter2-of-mine"}, secret: "hunter2-of-mine", lost: []string{"value"},
		page: "/settings/secrets", gone: "/settings/secrets/plain/delete"},
	{name: "secret without a value", at: "/settings/secrets", wrong: []string{"name", "no name", "value", ""}, right: []string{"name", "other", "value", "v"}, lost: []string{"value"}},
	{name: "token", at: "/settings/tokens", wrong: []string{"name", ""}, right: []string{"name", "plain", "scopes", "read"}, page: "/settings/tokens", gone: `/settings/tokens/\d+/revoke`},
	{name: "join token", at: "/settings/join-tokens", wrong: []string{"name", "", "namespace", "no name", "uses", "many", "labels", "gpu"}, right: []string{"name", "plain", "namespace", "default", "uses", "3", "labels", "gpu=true"},
		page: "/settings/join-tokens", gone: `/settings/join-tokens/\d+/revoke`},
	{name: "labels of a join token", at: "/settings/join-tokens", wrong: []string{"name", "", "labels", "gpu=not a word"}, right: []string{"name", "labeled", "labels", "gpu=a-word"}},
	{name: "weights of a queue", at: "/queues/-new", wrong: []string{"name", "a b", "fair.weights", "acme=999"}, right: []string{"name", "weighed", "fair.key", "namespace", "fair.weights", "acme=9"}},
	{name: "job", at: "/jobs/-new", keep: []string{"tags", "kept"}, wrong: []string{"task", "no task", "input", "{", "delay", "soon", "priority", "9999", "max_attempts", "many"},
		right: []string{"task", "hello", "input", "{}", "delay", "10m", "priority", "5", "max_attempts", "2"}},
	{name: "limits", at: "/settings/limits/edit", wrong: []string{"quota.waiting", "many", "quota.enqueue_rate", "fast", "quota.log_bytes", "big", "limits", "running=none", "max_priority", "9999", "queues", "n@me"},
		right: []string{"quota.waiting", "100", "quota.enqueue_rate", "10/1m", "quota.log_bytes", "1 GiB", "limits", "running=9", "max_priority", "", "queues", ""},
		edit:  "/settings/limits/edit", change: "quota.monitors", to: [2]string{"50", "60"}},
	{name: "limits of a task", at: "/tasks/-new?kind=func", wrong: []string{"name", "no name", "limits", "running=none"}, right: []string{"name", "bounded", "limits", "running=2"},
		edit: "/tasks/bounded/edit", change: "limits", to: [2]string{"running=3", "running=4"}, page: "/tasks/bounded", gone: "/tasks/bounded/delete"},
	{name: "workflow", at: "/tasks/-new?kind=yaml", wrong: []string{"definition", "name: no name\nworkflow: {}\n"}, right: []string{"definition", "name: flow\nworkflow:\n  steps:\n    - name: a\n      task: hello\n"},
		edit: "/tasks/flow/edit", change: "description", to: [2]string{"one", "two"}, page: "/tasks/flow", gone: "/tasks/flow/delete"},
}

// Every form can be filled in, mended, saved, edited by two people and taken back without a script.
func TestEveryFormWithoutScripts(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	beside := []string{"POST /programs/-new"} // with its file: TestProgramIsUploadedWithoutScripts
	for _, pattern := range console.Forms() {
		if path := strings.TrimPrefix(pattern, "POST "); !strings.HasSuffix(path, "/-new") && !strings.HasSuffix(path, "/edit") || slices.Contains(beside, pattern) {
			continue
		} else if of := regexp.MustCompile("^" + wildcard.ReplaceAllString(path, "[^/]+") + "$"); !slices.ContainsFunc(plainForms, func(f plainForm) bool {
			return of.MatchString(f.sentTo()) || of.MatchString(f.edit)
		}) {
			t.Errorf("%s is not tried", pattern)
		}
	}
	for _, f := range plainForms {
		t.Run(f.name, func(t *testing.T) {
			s := &site{T: t, Client: s.Client, url: s.url, admin: s.admin, node: s.node}
			one, two := s.visitor(s.admin), s.visitor(s.admin)
			f.make(one)
			if f.edit != "" {
				f.clash(one, two)
			}
			if f.gone != "" {
				_, opened := two.get(f.edit)
				_, body := one.get(f.page)
				status, body := one.sendPlain(body, f.gone)
				if status != http.StatusOK || !strings.Contains(body, `class="flash"`) {
					t.Errorf("not taken back: %d %s", status, words(body))
				}
				if f.edit == "" || strings.HasSuffix(f.gone, "/end") {
					return
				}
				if status, body := two.sendPlain(opened, f.edit, f.change, "typed too late"); status < 400 || !strings.Contains(body, "typed too late") {
					t.Errorf("an edit of what is gone: %d %s", status, words(body))
				}
			}
		})
	}
}

// sentTo is where a new one is sent.
func (f plainForm) sentTo() string {
	path, _, _ := strings.Cut(f.at, "?")
	return path
}

// A span of a backfill that cannot be read keeps what was typed, with each fault at its field.
func TestARefusedBackfillFormKeepsTypedFields(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	_, body := s.visitor(s.admin).get("/schedules/hourly/backfill?from=soon&to=later&limit=many")
	if wrong := faultsOf(t, body); wrong["from"] != "soon" || wrong["to"] != "later" || wrong["limit"] != "many" {
		t.Errorf("%v", wrong)
	}
}

func (f plainForm) make(v *visitor) {
	v.Helper()
	action := f.sentTo()
	_, body := v.get(f.at)
	status, body := v.sendPlain(body, action, append(slices.Clone(f.keep), f.wrong...)...)
	if status != http.StatusUnprocessableEntity {
		v.Fatalf("wrong: %d %s", status, words(body))
	}
	if f.secret != "" && strings.Contains(passwords.ReplaceAllString(body, ""), f.secret) {
		v.Errorf("the answer shows %s", f.secret)
	}
	faults, held := faultsOf(v.T, body), url.Values{}
	sent := formAt(v.T, body, action, action+"?kind=http", action+"?kind=webhook", action+"?kind=func")
	for i := 0; i < len(sent); i += 2 {
		held.Add(sent[i], sent[i+1])
	}
	for i := 0; i < len(f.wrong); i += 2 {
		if _, is := faults[f.wrong[i]]; !is || !slices.Contains(held[f.wrong[i]], f.wrong[i+1]) && f.wrong[i+1] != "" {
			v.Errorf("%s=%.40q: has its fault %t, holds %.40q", f.wrong[i], f.wrong[i+1], is, held[f.wrong[i]])
		}
	}
	for i := 0; i < len(f.keep); i += 2 {
		if !slices.Contains(held[f.keep[i]], f.keep[i+1]) && !slices.Contains(f.lost, f.keep[i]) {
			v.Errorf("%s=%q is lost: %q", f.keep[i], f.keep[i+1], held[f.keep[i]])
		}
	}
	v.endSession()
	status, body = v.sendPlain(body, action, f.right...)
	if status != http.StatusUnauthorized {
		v.Fatalf("after the session: %d %s", status, words(body))
	}
	for i := 0; i < len(f.right); i += 2 {
		if len(f.right[i+1]) > 5 && strings.Contains(body, f.right[i+1]) {
			v.Errorf("the page to sign in at shows %s", f.right[i])
		}
	}
	if body = v.backIn(body); !strings.Contains(body, "what you typed is not saved yet") && !strings.Contains(body, "What you typed") {
		v.Errorf("after the sign-in: %s", words(body))
	}
	var again []string // what no answer repeats
	for i := 0; i < len(f.right); i += 2 {
		if slices.Contains(f.lost, f.right[i]) {
			again = append(again, f.right[i:i+2]...)
		}
	}
	if status, body = v.sendPlain(body, action, again...); status != http.StatusOK || !strings.Contains(body, `class="flash`) {
		v.Fatalf("right: %d %s", status, words(body))
	}
}

// clash lets two people edit it, and the second see what the first did.
func (f plainForm) clash(one, two *visitor) {
	one.Helper()
	_, body := one.get(f.edit)
	_, other := two.get(f.edit)
	save := func(v *visitor, body, value string) (int, string) {
		status, body := v.sendPlain(body, f.edit, f.change, value)
		if strings.Contains(body, "Save this edit of") {
			status, body = v.sendPlain(body, f.edit)
		}
		return status, body
	}
	if status, body := save(one, body, f.to[0]); status != http.StatusOK || !strings.Contains(body, `class="flash`) {
		one.Fatalf("the edit: %d %s", status, words(body))
	}
	status, body := save(two, other, f.to[1])
	if status != http.StatusConflict || !strings.Contains(body, "Save mine anyway") || !strings.Contains(body, "<code>"+f.change) {
		one.Errorf("the second edit: %d %s", status, words(body))
	}
	if status, body = save(two, body, f.to[1]); status != http.StatusOK || !strings.Contains(body, `class="flash`) {
		one.Errorf("the second edit, sent again: %d %s", status, words(body))
	}
	if _, body = one.get(f.edit); !strings.Contains(body, f.to[1]) {
		one.Errorf("%s is not %s", f.change, f.to[1])
	}
}

// sendPlain fills in the last form of a page with an action, and presses its first button that saves.
func (v *visitor) sendPlain(page, action string, pairs ...string) (int, string) {
	v.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		v.Fatal(err)
	}
	var form *html.Node
	to := regexp.MustCompile(action + `(\?.*)?$`)
	for n := range root.Descendants() {
		if n.Data == "form" && to.MatchString(attr(n, "action")) && (form == nil || strings.Contains(textOf(n), "plain")) {
			form = n
		}
	}
	if form == nil {
		v.Fatalf("no form is sent to %s: %s", action, words(page))
	}
	values := url.Values{}
	sent := formAt(v.T, page, attr(form, "action"))
	for i := 0; i < len(sent); i += 2 {
		values.Add(sent[i], sent[i+1])
	}
	for i := 0; i < len(pairs); i += 2 {
		there := false
		for n := range form.Descendants() {
			there = there || attr(n, "name") == pairs[i] && attr(n, "type") != "hidden"
		}
		if !there {
			v.Errorf("%s has no field %s", action, pairs[i])
		}
		values.Set(pairs[i], pairs[i+1])
	}
	for n := range form.Descendants() {
		if n.Data == "button" && attr(n, "name") == "do" && (strings.Contains(" main danger ", " "+attr(n, "class")+" ") && attr(n, "class") != "") {
			values.Set("do", attr(n, "value"))
		}
	}
	return v.ask("POST", attr(form, "action"), values)
}

var passwords = regexp.MustCompile(`<input [^>]*type="password"[^>]*>`) // keep what was typed, for the next round

var tags = regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>|<[^>]*>|\s+`)

// words are what the main part of a page says.
func words(page string) string {
	_, main, _ := strings.Cut(page, "<main")
	return strings.Join(strings.Fields(tags.ReplaceAllString("<main"+main, " ")), " ")
}

func textOf(n *html.Node) (text string) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	return text
}
