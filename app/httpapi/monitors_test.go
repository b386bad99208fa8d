package httpapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// TestEveryRouteOfMonitorsWantsItsScope asks each of them as somebody who may
// do a bit less.
func TestEveryRouteOfMonitorsWantsItsScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, scope := range access.Scopes {
		b.tokens.set(string(scope), access.Token{Name: string(scope), Namespace: "*", Scopes: []access.Scope{scope}})
	}
	less := map[access.Scope][]string{
		access.ScopeRead:    {"worker"},
		access.ScopeOperate: {"worker", "read"},
		access.ScopeAdmin:   {"worker", "read", "operate"},
	}
	wanted := map[string]access.Scope{
		"PUT": access.ScopeAdmin, "DELETE": access.ScopeAdmin, "GET": access.ScopeRead, "POST": access.ScopeOperate,
		"POST /v1/monitors": access.ScopeAdmin, "POST /v1/windows/preview": access.ScopeRead,
		"GET /v1/status-pages/{name}/subscribers":        access.ScopeAdmin,
		"PUT /v1/status-pages/{name}/announcements/{id}": access.ScopeOperate,
	}
	ours := regexp.MustCompile(`^/v1/(monitors|incidents|alerts|channels|alert-rules|hooks|hook-statuses|windows|status-pages|checks)(/|$)`)
	place := regexp.MustCompile(`\{(\w+)\}`)
	routes := 0
	for path, item := range b.server.api.Huma.OpenAPI().Paths {
		if !ours.MatchString(path) {
			continue
		}
		for method, op := range api.OperationsOf(item) {
			routes++
			want, special := wanted[method+" "+path]
			if !special {
				want = wanted[method]
			}
			if got := op.Security[0]["token"]; !slices.Equal(got, []string{string(want)}) {
				t.Errorf("%s %s is documented to want %v, not %s", method, path, got, want)
			}
			address := place.ReplaceAllStringFunc(path, func(p string) string {
				if p == "{id}" || p == "{version}" {
					return "1"
				}
				return "n"
			})
			for _, token := range less[want] {
				if p := b.refused(t, http.StatusForbidden, method, address, "", "Authorization", "Bearer "+token); !strings.Contains(p.Detail, "needs the scope "+string(want)) {
					t.Errorf("%s %s with %s: %s", method, path, token, p.Detail)
				}
			}
			b.refused(t, http.StatusUnauthorized, method, address, "", "Authorization", "")
		}
	}
	if b.last() != nil {
		t.Errorf("somebody got through: %v", b.last())
	}
	if routes != 68 {
		t.Errorf("%d routes were asked", routes)
	}
}

func TestTheKeyOfAHeartbeatIsForOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reader := b.as(t, "reader")
	v, err := reader.Monitor(t.Context(), "", "m")
	if err != nil || v.Beat != "" {
		t.Errorf("a reader is shown %q, %v", v.Beat, err)
	}
	p, err := reader.Monitors(t.Context(), view.MonitorFilter{})
	if err != nil || p.Items[0].Beat != "" {
		t.Errorf("a reader is listed %+v, %v", p, err)
	}
	if v, err := b.client.Monitor(t.Context(), "", "m"); err != nil || v.Beat == "" {
		t.Errorf("an operator is shown %q, %v", v.Beat, err)
	}
}

func TestAnAnswerCanBeSentBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, shown := b.raw(t, "GET", "/v1/monitors/a1?namespace=a1", "")
	if status, _, body := b.raw(t, "PUT", "/v1/monitors/a1", shown); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	same(t, "it arrives", b.last(), []any{"UpdateMonitor", apitest.Filled[monitor.Monitor]().Redacted()})
}

func TestAPauseForATimeEnds(t *testing.T) {
	t.Parallel()
	now := apitest.Filled[time.Time]()
	end, err := wire.PauseOptions{For: core.Duration(time.Hour)}.End(now)
	if err != nil || !end.Equal(now.Add(time.Hour)) {
		t.Errorf("%s %v", end, err)
	}
	b := setup(t)
	before := time.Now()
	if status, _, body := b.raw(t, "POST", "/v1/monitors/m/pause", `{"for":"2h","reason":"r"}`); status != 200 {
		t.Fatal(status, body)
	}
	if until := b.last()[3].(time.Time); until.Before(before.Add(2*time.Hour)) || until.After(time.Now().Add(2*time.Hour)) {
		t.Errorf("paused until %s", until)
	}
}

func TestTextsThatAreNotKeptCannotBeCompared(t *testing.T) {
	t.Parallel()
	b := setup(t) // a filled version is pruned
	if _, err := b.client.LastChange(t.Context(), "ns", "n"); core.CodeOf(err) != core.Conflict || !strings.Contains(err.Error(), "no longer kept") {
		t.Error(err)
	}
}
