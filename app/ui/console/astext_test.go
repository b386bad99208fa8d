package console_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/monitor"
)

var definitionText = regexp.MustCompile(`(?s)<textarea[^>]* name="definition"[^>]*>(.*?)</textarea>`)

// Forms of definitions have them as YAML in a last tab, which leads back to the form, and saves too.
func TestFormsHaveATabWithTheDefinition(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx, v := t.Context(), s.visitor(s.admin)
	textOf := func(path, body string) string {
		t.Helper()
		m := definitionText.FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("%s has no definition: %s", path, body)
		}
		return strings.TrimPrefix(html.UnescapeString(m[1]), "\n")
	}
	for _, tt := range []struct {
		path   string
		fields []string // of a form, as it is typed
		text   string   // that the tab has then
		more   string   // that is written below it
		back   string   // that the form has then
		said   string
	}{
		{"/alert-rules/-new", []string{"name", "quiet", "channels", "team", "on", "down"}, "name: quiet", "description: At night\n", "At night", "Alert rule quiet is saved"},
		{"/settings/channels/-new?kind=ntfy", []string{"name", "phone", "ntfy.topic", "belfry"}, "topic: belfry", "description: On call\n", "On call", "Channel phone is saved"},
		{"/settings/hooks/-new?delivery=pull", []string{"name", "books", "on", "job.*"}, "pull: true", "description: For the books\n", "For the books", "Hook books is saved"},
		{"/settings/windows/-new", []string{"name", "sunday", "when", "weekly", "days", "Sunday", "at", "22:00", "lasts", "2h"}, "lasts: \"2h\"", "description: Each week\n", "Each week", "Window sunday is saved"},
		{"/monitors/-new?kind=tcp", []string{"name", "gate", "every", "30s", "check.tcp.address", "gate.example:22"}, "address: gate.example:22", "description: The gate\n", "The gate", "Created monitor gate"},
		{"/schedules/-new", []string{"name", "saturdays", "task", "hello", "zone", "Europe/Sofia", "rule_kind", "weekly", "rule_text", "Sat 09:30"}, "30 9 * * SAT", "description: Each week\n", "Each week", "Created schedule saturdays"},
		{"/cycles/-new", []string{"name", "dawn", "rows", "2", "cycle.members[0].task", "fetch", "cycle.members[1].task", "mail", "cycle.members[1].every", "24h", "cycle.stagger", "30s"}, "task: mail\n      every: ", "tags: [figures]\n", "figures", "Created cycle dawn"},
		{"/calendars/-new", []string{"name", "free", "zone", "Europe/Sofia", "reason", "weekend", "kind", "weekly", "text", "SAT-SUN"}, "weekly: SAT-SUN", "description: No work\n", "No work", "Calendar free is saved"},
		{"/status-pages/-new", []string{"name", "goods", "title", "Goods", "sections[0].title", "Shop", "sections[0].monitors", "shop", "sections[0].tags", ""}, "monitors:\n      - shop", "description: All of it\n", "All of it", "Status page goods is saved"},
	} {
		status, body := v.post(tt.path, append(tt.fields, "do", "yaml")...)
		text := textOf(tt.path, body)
		if status != 200 || !strings.Contains(text, tt.text) {
			t.Errorf("%s: %d %s", tt.path, status, text)
		}
		if strings.Contains(text, "namespace") || strings.Contains(text, "created_at") {
			t.Errorf("%s has what nobody writes: %s", tt.path, text)
		}
		text += tt.more
		if status, body := v.post(tt.path, "definition", text, "do", "form"); status != 200 || definitionText.MatchString(body) || !strings.Contains(body, tt.back) {
			t.Errorf("%s: back to the form: %d %s", tt.path, status, body)
		}
		wrong := strings.Replace(text, "name:", "nomen:", 1)
		if status, body := v.post(tt.path, "definition", wrong, "do", "save"); status != 422 || textOf(tt.path, body) != wrong || !strings.Contains(body, "nomen") {
			t.Errorf("%s: a wrong one: %d %s", tt.path, status, body)
		}
		if status, body := v.post(tt.path, "definition", text, "do", "save"); status != 200 || !strings.Contains(body, tt.said) {
			t.Errorf("%s: %d %s", tt.path, status, body)
		}
	}
	if d := must(s.Hook(ctx, "default", "books"))(s); !d.Pull || d.Description != "For the books" {
		t.Errorf("%+v", d)
	}

	// An edit keeps secrets that stand as they were shown, and overwrites nobody's change.
	b := s.at("/settings/channels/team")
	b.Follow("main .tabs button[value=yaml]")
	shown := value(b, "textarea[name=definition]")
	if !strings.Contains(shown, "webhook:") || strings.Contains(shown, "s3cret") || strings.Contains(shown, "name: team") {
		t.Errorf("it has %s", shown)
	}
	b.Axe()
	b.Layout()
	picture(b, "channel-yaml")
	put(b, "textarea[name=definition]", shown+"description: By text\n")
	s.sends(b, "button.main[value=save]", "Channel team is saved")
	if d := must(s.Channel(ctx, "default", "team"))(s); d.Description != "By text" {
		t.Errorf("%+v", d)
	}
	w := must(s.Window(ctx, "default", "night"))(s)
	must(s.SaveWindow(ctx, monitor.Window{Name: "night", Tags: []string{"core"}, Rules: w.Rules, Lasts: w.Lasts, Zone: w.Zone, Description: "theirs"}))(s)
	if status, body := v.post("/settings/windows/night", "definition", "lasts: 3h\nrules:\n  - cron: 0 1 * * *\n", "version", w.Version(), "do", "save"); status != 409 || !strings.Contains(body, "theirs") || textOf("night", body) == "" {
		t.Errorf("%d %s", status, body)
	}
}

// The form of a saved monitor has the fields of its kind alone, and its name stays.
func TestATextThatItsFormCannotShowStaysAText(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	if status, body := v.post("/monitors/-new?kind=http", "do", "form", "definition", "name: gate\nevery: 30s\ncheck: {tcp: {address: 'gate.example:22'}}\n"); status != 200 || !strings.Contains(body, `name="check.tcp.address"`) {
		t.Errorf("a kind that follows from its settings: %d %s", status, body)
	}
	v.post("/monitors/-new?kind=tcp", "do", "save", "name", "gate", "every", "30s", "check.tcp.address", "gate.example:22")
	for text, want := range map[string]string{
		"every: 30s\ncheck: {kind: http, http: {url: 'https://example.com'}}\n":            "is another kind",
		"name: other\nevery: 30s\ncheck: {kind: tcp, tcp: {address: 'gate.example:22'}}\n": "renames the monitor",
	} {
		status, body := v.post("/monitors/gate/edit", "do", "form", "definition", text)
		if status != 422 || !strings.Contains(body, want) || !definitionText.MatchString(body) || strings.Contains(body, "data-draft") {
			t.Errorf("%q: %d %s", text, status, body)
		}
	}
}

// What a text says and its form cannot show stays a text; what a form does not show outlives the way through it.
func TestATextAndItsFormSayTheSame(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	for _, tt := range []struct{ path, text, want string }{
		{"/schedules/-new", "name: two\ntask: hello\nrules:\n  - cron: 0 1 * * *\n    every: 5m\n", "rules[0] has more than one way to say when"},
		{"/calendars/-new", "name: two\nclosings:\n  - weekly: SAT\n    dates: 12-24\n", "closings[0] must have one of weekly, dates and rule"},
		{"/cycles/-new", "name: two\ncommand: {shell: date}\n", "is not a cycle"},
	} {
		if status, body := v.post(tt.path, "do", "form", "definition", tt.text); status != 422 || !strings.Contains(body, tt.want) || !definitionText.MatchString(body) || strings.Contains(body, "data-draft") {
			t.Errorf("%s: %d %s", tt.path, status, body)
		}
	}
	// An empty form is a text to be filled.
	for path, want := range map[string]string{"/schedules/-new": "name: \"\"\ntask: \"\"\n", "/cycles/-new": "kind: cycle\ncycle:\n  members: []\n", "/calendars/-new": "name: \"\"\nclosings: []\n", "/status-pages/-new": "name: \"\"\n"} {
		_, body := v.post(path, "do", "yaml")
		if m := definitionText.FindStringSubmatch(body); m == nil || strings.TrimPrefix(html.UnescapeString(m[1]), "\n") != want {
			t.Errorf("%s: %q", path, m)
		}
	}
	// Faults that the API finds say in which line they are.
	for _, tt := range []struct{ path, text, want string }{
		{"/schedules/-new", "name: bad\ntask: hello\nrules:\n  - every: 5m\n  - cron: 0 99 * * *\n", "line 5: rules[1].cron"},
		{"/cycles/-new", "name: bad\ncycle:\n  members:\n    - task: fetch\n    - task: nothing\n      timeout: 1ms\n", "line 6: cycle.members[1].timeout"},
		{"/calendars/-new", "name: bad\nclosings:\n  - weekly: SAT\n  - weekly: SOMEDAY\n", "line 4: closings[1]"},
		{"/tasks/-new?kind=yaml", "name: bad\ncommand: {shell: date}\nqueue: No Queue\n", "line 3: queue "},
		{"/status-pages/-new", "name: bad\naccent: '#ffffff'\n", "line 2: accent"},
		{"/monitors/-new?kind=tcp", "name: bad\nevery: 1ms\ncheck: {tcp: {address: 'gate.example:22'}}\n", "line 2: every"},
	} {
		if status, body := v.post(tt.path, "do", "save", "definition", tt.text); status != 422 || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.path, status, body)
		}
	}

	// The form of a cycle keeps its tags, whichever way it was made.
	_, body := v.post("/cycles/nightly/edit", "do", "form", "definition", "tags: [figures]\npriority: 7\ncycle:\n  members:\n    - task: mail\n")
	if status, body := v.post("/cycles/nightly/edit", append(formAt(t, body, "/cycles/nightly/edit"), "do", "save")...); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	_, body = v.get("/cycles/nightly/edit")
	if status, body := v.post("/cycles/nightly/edit", append(formAt(t, body, "/cycles/nightly/edit"), "description", "again", "do", "save")...); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if c := must(s.Task(t.Context(), "default", "nightly"))(s); len(c.Tags) != 1 || c.Priority != 7 || len(c.Cycle.Members) != 1 || c.Description != "again" {
		t.Errorf("%+v", c)
	}

	// A text that was written for an older version overwrites nothing.
	for _, tt := range []struct {
		path, do, text string
		change         func() string
	}{
		{"/schedules/hourly/edit", "review", "task: hello\nrules:\n  - every: 5m\n", func() string {
			d := must(s.Schedule(t.Context(), "default", "hourly"))(s)
			version := d.Version()
			d.Description = "theirs"
			must(s.UpdateSchedule(t.Context(), d))(s)
			return version
		}},
		{"/cycles/nightly/edit", "save", "cycle:\n  members:\n    - task: mail\n", func() string {
			d := must(s.Task(t.Context(), "default", "nightly"))(s)
			version := d.Version()
			d.Description = "theirs"
			must(s.UpdateTask(t.Context(), d))(s)
			return version
		}},
		{"/calendars/nights/edit", "save", "closings:\n  - weekly: SAT\n", func() string {
			d := must(s.Calendar(t.Context(), "default", "nights"))(s)
			version := d.Version()
			d.Description = "theirs"
			must(s.SaveCalendar(t.Context(), d))(s)
			return version
		}},
		{"/status-pages/public", "save", "title: Ours\n", func() string {
			d := must(s.StatusPage(t.Context(), "default", "public"))(s)
			version := d.Version()
			d.Description = "theirs"
			must(s.SaveStatusPage(t.Context(), d))(s)
			return version
		}},
	} {
		status, body := v.post(tt.path, "definition", tt.text, "version", tt.change(), "do", tt.do)
		if status != 409 || !strings.Contains(body, "theirs") || !definitionText.MatchString(body) {
			t.Errorf("%s: %d %s", tt.path, status, body)
		}
	}
}

// The tab of a schedule shows its next times while the text is written, and what an edit changes before it is saved.
func TestAScheduleAsText(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	b := s.at("/schedules/hourly/edit")
	b.Follow("main .tabs button[value=yaml]")
	shown := value(b, "textarea[name=definition]")
	if !strings.Contains(shown, "0 * * * *") || strings.Contains(shown, "name:") || strings.Contains(shown, "next_at") {
		t.Errorf("it has %s", shown)
	}
	b.Shows("Preview", "Next 10 times")
	b.Axe()
	for _, width := range []int{1280, 390} {
		b.Emulate("light", width)
		b.Layout()
	}
	b.Emulate("light", 1280)
	put(b, "textarea[name=definition]", strings.Replace(shown, "0 * * * *", "0 99 * * *", 1))
	b.Until(`document.getElementById('preview').textContent.includes('rules[0].cron')`)
	s.refused(b, "button.main[value=review]", 422, "rules[0].cron", "line ")
	put(b, "textarea[name=definition]", strings.Replace(shown, "0 * * * *", "0 9 * * *", 1))
	b.Until(`document.getElementById('preview').textContent.includes('09:00')`)
	b.Follow("button.main[value=review]")
	b.Quiet(s.url, 422)
	b.Shows("Save this edit of hourly?", "0 9 * * *")
	b.Follow("button[value=preview]")
	if got := value(b, "textarea[name=definition]"); !strings.Contains(got, "0 9 * * *") {
		t.Errorf("it has %s", got)
	}
	b.Follow("button.main[value=review]")
	b.Follow("button[value=save]")
	b.Shows("Schedule hourly is saved.")
	if d := must(s.Schedule(t.Context(), "default", "hourly"))(s); d.Rules[0].Cron != "0 9 * * *" || d.Zone != "Europe/Sofia" {
		t.Errorf("%+v", d)
	}
	b.Quiet(s.url, 422)
}
