package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

var update = flag.Bool("update", false, "write openapi.golden.json")

func TestTheOpenAPIDocumentIsAsItWasAgreed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	status, h, body := b.raw(t, "GET", "/openapi.json", "", "Authorization", "")
	if status != 200 || h.Get("Content-Type") != "application/openapi+json" {
		t.Fatalf("%d %s", status, h.Get("Content-Type"))
	}
	const golden = "openapi.golden.json"
	if *update {
		if err := os.WriteFile(golden, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if body != string(want) {
		t.Errorf("the API has changed: look at what differs, then: go test ./httpapi -run OpenAPI -update\n%s", firstDifference(body, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + strings.Join([]string{g[i], w[i]}, "\nwas  ")
		}
	}
	return "one ends before the other"
}

func TestTheOpenAPIDocumentIsWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, body := b.raw(t, "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]map[string]any
		Components struct {
			Schemas         map[string]any
			SecuritySchemes map[string]any
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Components.SecuritySchemes["token"] == nil {
		t.Errorf("version %q, security %v", doc.OpenAPI, doc.Components.SecuritySchemes)
	}
	noBody := regexp.MustCompile(`/(resume|drain|hooks/\{name\}/pause|check|test|accept|unacknowledge|unassign|end|skip|confirm|rotate)$|^/v1/cycles/\{name\}/run$|^/v1/backfills/\{id\}/`)
	for path, item := range doc.Paths {
		for method, op := range item {
			responses := op["responses"].(map[string]any)
			text, _ := json.Marshal(responses["default"])
			if !bytes.Contains(text, []byte(`"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}`)) {
				t.Errorf("%s %s: no problem among its answers: %s", method, path, text)
			}
			if op["security"] == nil || op["summary"] == nil || op["operationId"] == nil {
				t.Errorf("%s %s: incomplete: %v", method, path, slices.Sorted(maps.Keys(op)))
			}
			if (method == "put" || method == "post") && op["requestBody"] == nil && !noBody.MatchString(path) {
				t.Errorf("%s %s: no body", method, path)
			}
		}
	}
	for _, ref := range regexp.MustCompile(`"#/components/schemas/(\w+)"`).FindAllStringSubmatch(body, -1) {
		if doc.Components.Schemas[ref[1]] == nil {
			t.Errorf("no schema %s", ref[1])
		}
	}
	if doc.Components.Schemas["ErrorModel"] != nil {
		t.Error("huma's own error is in the document")
	}
	noLinksOut(t, "openapi.json", body)
	if strings.Contains(body, "$schema") {
		t.Error("a link to a schema")
	}
	status, h, yaml := b.raw(t, "GET", "/openapi.yaml", "")
	if status != 200 || h.Get("Content-Type") != "application/openapi+yaml" || !strings.Contains(yaml, "/v1/tasks/{name}:") {
		t.Errorf("yaml: %d %s", status, h.Get("Content-Type"))
	}
}

// ownWords are addresses that the words of the API name and nobody follows.
var ownWords = regexp.MustCompile(`Default: https://[a-z.]+`)

func noLinksOut(t *testing.T, what, body string) {
	t.Helper()
	body = ownWords.ReplaceAllString(body, "")
	if link := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}`).FindString(body); link != "" {
		t.Errorf("%s links to %s", what, link)
	}
}

func TestTheDocsPageStandsByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, h, page := b.raw(t, "GET", "/docs", "", "Authorization", "")
	for _, forbidden := range []string{"<script", "style=", "onclick", "javascript:"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	noLinksOut(t, "docs", page)
	csp := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	for path, item := range b.server.api.Huma.OpenAPI().Paths {
		for method, op := range api.OperationsOf(item) {
			if !strings.Contains(page, `<article id="`+op.OperationID+`">`) {
				t.Errorf("%s %s is not on the page", method, path)
			}
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("a link to #%s leads nowhere", link[1])
		}
	}
	if !strings.Contains(page, `curl -H &#34;Authorization: Bearer $BELFRY_TOKEN&#34; -X PUT --json @body.json &#34;$BELFRY_SERVER/v1/tasks/{name}&#34;`) {
		t.Error("no example of a call")
	}
	if !strings.Contains(page, `-H &#34;Content-Type: text/calendar&#34; --data-binary @body &#34;$BELFRY_SERVER/v1/calendars/{name}/ics&#34;`) {
		t.Error("no example of an import")
	}
	status, h, _ := b.raw(t, "GET", "/docs/style.css", "", "Authorization", "")
	if status != 200 || h.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style: %d %s", status, h.Get("Content-Type"))
	}
}

func TestHealthOfAnOutdatedNode(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Outdated = func() error { return core.ErrOutdated } })
	if status, _, body := b.raw(t, "GET", "/healthz", "", "Authorization", ""); status != 503 || !strings.Contains(body, "outdated") {
		t.Errorf("healthz: %d %s", status, body)
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	good := view.Health{SchemaVersion: 3, SchemaWanted: 3}
	late := good
	late.ScheduleLag = 90 * time.Second
	quiet := good
	quiet.QuietUntil = time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC)
	full := good
	full.Full = true
	standby := good
	standby.ReadOnly = true
	old := good
	old.SchemaVersion = 2
	expanded, outdated := good, good
	expanded.SchemaVersion, expanded.SchemaFloor = 5, 3
	outdated.SchemaVersion, outdated.SchemaFloor = 5, 4
	for _, c := range []struct {
		name   string
		health view.Health
		err    error
		ready  error
		maxLag time.Duration
		status int
		says   string
	}{
		{"all is well", good, nil, nil, 0, 200, `{"ready":true,"checks":[{"name":"database","ok":true},{"name":"schema","ok":true},{"name":"schedules","ok":true},{"name":"node","ok":true}]}`},
		{"database away", good, errors.New("password=hunter2"), nil, 0, 503, `"name":"database","ok":false`},
		{"schema of another version", old, nil, nil, 0, 503, "version 2, and this belfry needs 3"},
		{"schema that a newer belfry has added to", expanded, nil, nil, 0, 200, `"name":"schema","ok":true`},
		{"schema that this belfry is too old for", outdated, nil, nil, 0, 503, "the database needs version 4 or newer, and this belfry knows 3"},
		{"late, which is shown", late, nil, nil, 0, 200, "the most overdue is 1m30s late"},
		{"late, which counts", late, nil, nil, time.Minute, 503, "the most overdue is 1m30s late"},
		{"late, within the limit", late, nil, nil, 2 * time.Minute, 200, `"name":"schedules","ok":true`},
		{"the clock was set back, which no other node cures", quiet, nil, nil, time.Minute, 200, `{"name":"clock","ok":false,"detail":"it was set back: planned times of schedules and checks of monitors are quiet until 2027-03-01 10:00:00 UTC"`},
		{"full", full, nil, nil, 0, 503, "its disk is full, and nothing can be written"},
		{"standby", standby, nil, nil, 0, 503, "it takes no writes: it is a standby, or set to read only"},
		{"the node says no", good, nil, errors.New("hunter2"), 0, 503, `{"name":"node","ok":false,"detail":"is not ready"}`},
		{"the node starts", good, nil, core.Errorf(core.Unavailable, "its worker has not registered yet"), 0, 503, `{"name":"node","ok":false,"detail":"is not ready"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *Options) {
				o.MaxLag = c.maxLag
				o.Ready = func(context.Context) error { return c.ready }
			})
			b.when("Health", func(context.Context, []any) (any, error) { return c.health, c.err })
			status, _, body := b.raw(t, "GET", "/readyz", "", "Authorization", "")
			if status != c.status || !strings.Contains(body, c.says) || strings.Contains(body, "hunter2") {
				t.Errorf("%d %s", status, body)
			}
			if warned, fault := strings.Contains(b.logged.text(), "level=WARN"), c.err != nil || core.CodeOf(c.ready) == core.Internal; warned != fault {
				t.Errorf("a warning: %t, want %t: %s", warned, fault, b.logged.text())
			}
			b.raw(t, "GET", "/readyz", "", "Authorization", "")
			if n := b.seen["Health"]; n != 1 {
				t.Errorf("the database was asked %d times in a row", n)
			}
			if status, _, body := b.raw(t, "GET", "/healthz", "", "Authorization", ""); status != 200 || body != "{\"status\":\"ok\",\"version\":\"test\"}\n" {
				t.Errorf("healthz: %d %s", status, body)
			}
		})
	}
}

func TestReadinessNamesPartsThatDidNotStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempts, alerts int
		says             string
	}{
		{0, 0, `{"name":"left behind","ok":true}`},
		{2, 1, "attempts of jobs: 2, tries of alerts: 1"},
		{0, 3, "attempts of jobs: 0, tries of alerts: 3"},
	} {
		b := setup(t, func(o *Options) { o.LeftBehind = func() (int, int) { return c.attempts, c.alerts } })
		b.when("Health", func(context.Context, []any) (any, error) { return view.Health{}, nil })
		if status, _, body := b.raw(t, "GET", "/readyz", "", "Authorization", ""); status != 200 || !strings.Contains(body, c.says) {
			t.Errorf("%d %s, want %s", status, body, c.says)
		}
	}
}

func TestMetricsAreGuardedUnlessPublic(t *testing.T) {
	t.Parallel()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("belfry_up 1\n")) })
	guarded := setup(t, func(o *Options) { o.Metrics = metrics })
	guarded.refused(t, 401, "GET", "/metrics", "", "Authorization", "")
	if status, _, body := guarded.raw(t, "GET", "/metrics", "", "Authorization", "Bearer reader"); status != 200 || body != "belfry_up 1\n" {
		t.Errorf("%d %s", status, body)
	}
	guarded.refused(t, 403, "GET", "/metrics", "", "Authorization", "Bearer team")
	public := setup(t, func(o *Options) { o.Metrics, o.MetricsPublic = metrics, true })
	if status, _, _ := public.raw(t, "GET", "/metrics", "", "Authorization", ""); status != 200 {
		t.Errorf("public: %d", status)
	}
	none := setup(t)
	none.refused(t, 404, "GET", "/metrics", "")
}

func TestRequestsAreObservedByRoute(t *testing.T) {
	t.Parallel()
	seen := make(chan api.Request, 10)
	b := setup(t, func(o *Options) { o.Observe = func(r api.Request) { seen <- r } })
	b.fail(core.Errorf(core.NotFound, "no"))
	for path, want := range map[string]api.Request{
		"/v1/tasks/some-name": {Route: "GET /v1/tasks/{name}", Status: 404},
		"/wp-login.php":       {Route: "none", Status: 404},
		"/healthz":            {Route: "GET /healthz", Status: 200},
	} {
		b.raw(t, "GET", path, "")
		if got := <-seen; got.Route != want.Route || got.Status != want.Status || got.Duration <= 0 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	f, k := &fake{}, &tokens{}
	for name, o := range map[string]Options{
		"no service":  {Auth: k},
		"no auth":     {Service: f},
		"negative":    {Service: f, Auth: k, MaxBody: -1},
		"odd origin":  {Service: f, Auth: k, Origins: []string{"ops.example"}},
		"path origin": {Service: f, Auth: k, Origins: []string{"https://ops.example/path"}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
