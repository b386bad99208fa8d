package ui_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

func TestPagesOfAStore(t *testing.T) {
	ctx := t.Context()
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // the test is over
	for _, m := range []monitor.Monitor{
		{Name: "shop", Public: true, Description: "Where people buy"},
		{Name: "vault", Description: "Behind the shop"},
	} {
		m.Check.Kind = task.KindHTTP
		m.Check.HTTP = &task.HTTP{URL: "https://secret.example.com/" + m.Name}
		if _, err := st.CreateMonitor(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []public.StatusPage{
		{Name: "main", Title: "Our shop"}, {Name: "hidden", Off: true},
		{Name: "ops", Sections: []public.StatusSection{{Title: "All", Monitors: []string{"vault", "shop", "nothing"}}}},
	} {
		if _, err := st.SaveStatusPage(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now().Add(time.Hour).Truncate(time.Second)
	if _, err := st.SaveWindow(ctx, monitor.Window{Name: "move", Description: "Internal words", From: begin, To: begin.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	h := handler(t, ui.Options{Board: st.Board})
	page := get(t, h, "/status/main")
	for _, want := range []string{"Our shop", "Where people buy", "No data: 1 of 1 system", ">move<", "Planned", begin.UTC().Format(time.RFC3339)} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	for _, path := range []string{"/status/main", "/status/main.json", "/status/main/feed.atom"} {
		for _, secret := range []string{"vault", "secret.example.com", "Internal words"} {
			if strings.Contains(get(t, h, path), secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	if page := get(t, h, "/status/ops"); strings.Index(page, "<h3 dir=\"auto\">vault</h3>") > strings.Index(page, "<h3 dir=\"auto\">shop</h3>") || !strings.Contains(page, "Behind the shop") {
		t.Error("a section does not show what it names")
	}
	want := ask(h, http.MethodGet, "/status/nothing")
	for _, path := range []string{"/status/hidden", "/status/other/main"} {
		if a := ask(h, http.MethodGet, path); a.status != http.StatusNotFound || a.body != want.body {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if a := ask(h, http.MethodGet, "/status/never-read"); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d of a closed database", a.status)
	}
}
