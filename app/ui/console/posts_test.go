package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
)

// thereAre are things of site.fill, by what their addresses begin with.
var thereAre = map[string]string{
	"tasks": "hello", "schedules": "hourly", "monitors": "prices", "queues": "default", "calendars": "nights", "cycles": "nightly", "workers": "builder",
	"alert-rules": "all", "status-pages": "public", "settings/channels": "team", "settings/hooks": "billing", "settings/windows": "night", "programs": "hello", "jobs": "4", "incidents": "2",
	"settings/tokens": "1", "settings/join-tokens": "1", "settings/secrets": "none",
}

// sent is what a form must say to be more than unreadable.
var sent = map[string][]string{
	"POST /alert-rules/-new": {"on", "down"}, "POST /alert-rules/{name}": {"on", "down"}, "POST /cycles/{name}/skip": {"member", "fetch"},
	"POST /jobs/-bulk": {"do", "cancel", "job", "4"}, "POST /monitors/-bulk": {"do", "pause", "monitor", "shop"},
	"POST /schedules/-bulk": {"do", "pause", "name", "hourly"}, "POST /programs/-announce": {"size", "1", "sha256", digest(nil)}, "POST /programs/-confirm": {"size", "1", "sha256", digest(nil)},
}

// asked is what must stand in the address of a form.
var asked = map[string]string{"POST /monitors/-new": "?kind=tcp", "POST /settings/channels/-new": "?kind=email"}

var wildcard = regexp.MustCompile(`\{[a-z]+\}`)

// Nothing that a page can send is done for who is not signed in, by a page elsewhere, or for a reader.
func TestEveryFormIsRefusedWithoutRights(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	secret, _ := s.token("viewer", "default", access.ScopeRead)
	nobody, reader, admin := s.visitor(""), s.visitor(secret), s.visitor(s.admin)
	must(s.CreateAnnouncement(t.Context(), public.Announcement{Page: "public", Title: "Moving", Text: "To the new house", Level: public.Notice}))(s)
	changes := func() string {
		return fmt.Sprint(must(s.Audit(t.Context(), access.AuditFilter{Namespace: core.AnyNamespace}))(s).Items[0])
	}
	before := changes()
	routes := console.Forms()
	if len(routes) < 80 {
		t.Errorf("only %d forms", len(routes))
	}
	for _, pattern := range routes {
		if pattern == "POST /design" {
			continue // which does nothing, whoever sends it
		}
		path := strings.TrimPrefix(pattern, "POST ")
		of := ""
		for begin, name := range thereAre {
			if strings.HasPrefix(path, "/"+begin+"/{") && len(begin) > len(of) {
				of = begin
				path = "/" + begin + "/" + strings.Replace(path[len(begin)+2:], wildcard.FindString(path), name, 1)
			}
		}
		path = strings.Replace(path, "{verb}", "pause", 1)
		path = wildcard.ReplaceAllLiteralString(path, "1") + asked[pattern]
		if status, body := nobody.post(path, "do", "save", "name", "new"); status != http.StatusUnauthorized || !strings.Contains(body, `name="token"`) {
			t.Errorf("%s without a session: %d", path, status)
		}
		if status := elsewhere(admin, path); status != http.StatusForbidden {
			t.Errorf("%s from a page elsewhere: %d", path, status)
		}
		if status, body := reader.post(path, append([]string{"do", "save", "name", "new", "task", "hello"}, sent[pattern]...)...); status != http.StatusForbidden {
			t.Errorf("%s of a reader: %d %.300s", path, status, body[max(0, strings.Index(body, "<h1")):])
		}
	}
	if after := changes(); after != before {
		t.Errorf("something was changed: %s, was %s", after, before)
	}
}

// elsewhere sends a form as a page of another site would.
func elsewhere(v *visitor, path string) (status int) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), "POST", v.url+path, strings.NewReader(url.Values{"do": {"save"}, "name": {"new"}}.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", "https://elsewhere.example")
	resp, err := v.http.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// The theme is of the browser, and one that is unknown is the one of the system.
func TestThemeIsChosen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor(s.admin)
	for _, row := range []struct{ sent, html string }{{"dark", `data-theme="dark"`}, {"light", `data-theme="light"`}, {"auto", `data-theme="auto"`}, {`"><script>`, `data-theme="auto"`}} {
		status, body := v.post("/theme", "theme", row.sent, "next", "/tasks")
		tag, _, _ := strings.Cut(body[strings.Index(body, "<html"):], ">")
		if status != http.StatusOK || !strings.Contains(tag, row.html) {
			t.Errorf("%s: %d, %s", row.sent, status, tag)
		}
	}
	if status := elsewhere(v, "/theme"); status != http.StatusForbidden {
		t.Errorf("from a page elsewhere: %d", status)
	}
}
