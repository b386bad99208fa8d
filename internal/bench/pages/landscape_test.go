//go:build linux

package pages

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/bench/benchtest"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

func TestMain(m *testing.M) { benchtest.Main(m) }

// small is a landscape for tests.
var small = Landscape{Schedules: 200, Jobs: 1000, Days: 3, Live: 30, Running: 4, Monitors: 5, Pace: 3}

// The landscape has everything that was requested, tables loaded without indexes have them again, and every page that a
// link leads to can be shown.
func TestALandscapeHasAllThatPagesShow(t *testing.T) {
	benchtest.OnBoth(t, func(t *testing.T, s *database.Site) {
		before := indexesOf(t, s)
		if err := small.Build(t.Context(), s, t.Logf); err != nil {
			t.Fatal(err)
		}
		if after := indexesOf(t, s); !maps.Equal(before, after) {
			t.Errorf("indexes: got\n%v\nwant\n%v", after, before)
		}
		err := s.With(t.Context(), store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
			counts := benchtest.Rows(t, s, st)
			for table, want := range map[string]int64{
				"schedules": int64(small.Schedules + small.Monitors), "jobs_done": int64(small.Jobs + landModels), "monitors": int64(small.Monitors), "leases": int64(small.Running),
				"schedule_days": 365 * int64(small.Pace), "rollups": 2800 * int64(small.Monitors),
			} {
				if counts[table] != want {
					t.Errorf("rows of %[2]s: got %[1]d, want %[3]d", counts[table], table, want)
				}
			}
			for _, table := range []string{"occurrences", "job_minutes", "results", "spans", "incidents"} {
				if counts[table] == 0 {
					t.Errorf("rows of %s: got none", table)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pages, reads, err := Measure(t.Context(), s.URL, Looks{})
		if err != nil {
			t.Fatal(err)
		}
		if len(pages) < 60 || len(reads) < 60 {
			t.Errorf("found: got %d pages and %d reads", len(pages), len(reads))
		}
		asked := map[string]bool{}
		for _, p := range slices.Concat(pages, reads) {
			asked[p.Pattern] = p.URL != ""
			// Only the page of versions is refused, which an HTTP check does not have.
			if p.URL != "" && p.Status != http.StatusOK && p.Status != http.StatusConflict {
				t.Errorf("%s: status %d", p.URL, p.Status)
			}
		}
		for _, pattern := range []string{"GET /{$}", "GET /schedules", "GET /schedules/{name}", "GET /jobs/{id}", "GET /tasks/{name}", "GET /forecast", "GET /dead", "GET /monitors", "/v1/overview", "/v1/schedules/{name}/days"} {
			if !asked[pattern] {
				t.Errorf("page %s: not requested", pattern)
			}
		}
	})
}

func TestALandscapeThatDoesNotFitIsNotBegun(t *testing.T) {
	s, err := database.SQLite("SQLite", t.TempDir(), "NORMAL").NewSite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = Landscape{Jobs: 1 << 50}.Build(t.Context(), s, t.Logf)
	if err == nil || !strings.Contains(err.Error(), "left") {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// indexesOf returns all indexes with the statements that make them.
func indexesOf(t *testing.T, s *database.Site) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.With(t.Context(), store.Options{}, func(st *store.Store) error {
		return st.DB().Read(t.Context(), func(tx base.Tx) error {
			for _, table := range database.HistoryTables {
				some, err := s.Indexes(t.Context(), tx, table)
				if err != nil {
					return err
				}
				maps.Copy(all, some)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOnlySelectedPagesAreMeasured(t *testing.T) {
	l := Looks{Only: regexp.MustCompile(`^/schedules|by=hour`)}
	for _, c := range []struct {
		p    Page
		want bool
	}{
		{Page{Pattern: "GET /schedules state", URL: "/schedules?state=paused"}, true}, {Page{Pattern: "/v1/forecast", URL: "/v1/forecast?by=hour"}, true},
		{Page{Pattern: "GET /jobs", URL: "/jobs"}, false}, {Page{Pattern: "/schedules/{name}"}, false},
	} {
		if got := l.at(c.p); got != c.want {
			t.Errorf("%+v: %t", c.p, got)
		}
	}
	if !(Looks{}).at(Page{URL: "/"}) {
		t.Error("options without a filter: got no page, want all")
	}
}

func TestATableOfPagesMarksSlowPages(t *testing.T) {
	var text strings.Builder
	over, err := Table(&text, "page", []Page{
		{Pattern: "GET /quick", URL: "/quick", Status: 200, P50: time.Millisecond, P95: Limit, Size: 12},
		{Pattern: "GET /slow", URL: "/slow", Status: 200, P50: time.Millisecond, P95: Limit + 1},
		{Pattern: "GET /wrong", URL: "/wrong", Status: 500, P95: time.Millisecond}, {Pattern: "GET /hidden"}, {Pattern: "GET /other", URL: "/other"},
	})
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if err != nil || over != 1 || len(lines) != 6 {
		t.Fatalf("%d over, %v:\n%s", over, err, text.String())
	}
	for i, want := range []string{"| `/slow` |", "| `/quick` |", "| `/wrong` |", "| `/hidden` |"} {
		if !strings.HasPrefix(lines[i+2], want) {
			t.Errorf("line %d of the table: got %s", i, lines[i+2])
		}
	}
	for i, want := range []string{"over 100ms", "| 12 |  |", "status 500", "nothing leads to it"} {
		if !strings.Contains(lines[i+2], want) {
			t.Errorf("line %d of the table: got %s", i, lines[i+2])
		}
	}
}

// An interrupted measure returns an error and no table.
func TestPagesEndWithTheirContext(t *testing.T) {
	s, err := database.SQLite("SQLite", t.TempDir(), "NORMAL").NewSite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Measure(ctx, s.URL, Looks{}); err == nil {
		t.Error("interrupted measure: got no error, want one")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
