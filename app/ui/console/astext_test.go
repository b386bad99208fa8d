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
