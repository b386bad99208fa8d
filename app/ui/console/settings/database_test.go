package settings

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// What a server says more than a file, and what is bad of it.
func TestDatabaseOfAServer(t *testing.T) {
	site := &frame.Site{Now: time.Now, Assets: func() asset.Set { return asset.Read(os.DirFS(".."), "assets") }}
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	d := view.DatabaseHealth{
		Now: now, Database: "postgres 17.2", Size: 5 << 30, ReadyQueue: "mail", ReadyAt: now.Add(-time.Hour), Most: 100, Connections: 96,
		Tables:      []view.TableHealth{{Name: "jobs", Rows: 1_000_000, Size: 3 << 30, Parts: 4, Dead: 900_000, VacuumedAt: now.Add(-30 * time.Hour)}},
		Transaction: &view.OldTransaction{Since: now.Add(-2 * time.Hour), Application: "<b>psql</b>", State: "idle in transaction"},
		Slots:       []view.WALSlot{{Name: "replica", Held: 3 << 30}},
		Retention:   view.Retention{Age: core.Duration(30 * 24 * time.Hour), Jobs: 1000, Results: core.Duration(7 * 24 * time.Hour)},
	}
	d.Checks = d.Judge()
	w := httptest.NewRecorder()
	p := &page{Page: site.NewPage(w, httptest.NewRequest(http.MethodGet, "/settings/database", nil))}
	p.Of(p, templates)
	p.Token = access.Token{Name: "admin", Namespace: core.AnyNamespace, Scopes: []access.Scope{access.ScopeAdmin}}
	if err := p.Show("database", databaseData{d}); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	for _, says := range []string{
		"postgres 17.2", "Needs attention", "in mail", "5 GiB", "900\u202f000", "2 h", "of 100", "3 GiB", "&lt;b&gt;psql&lt;/b&gt;", "idle in transaction",
		"more workers, or more slots of them", "alter table LEAF set", "replica", "Last vacuum", "Partitions",
	} {
		if !strings.Contains(body, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	if n := strings.Count(body, `<div class="bad">`); n != 4 {
		t.Errorf("%d numbers are marked: %s", n, body)
	}
}
