package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
)

// behindDB is a database whose clock is two hours behind that of this node.
type behindDB struct{ base.DB }

func (behindDB) Skew(context.Context) (time.Duration, error) { return 2 * time.Hour, nil }

// A link ends by the clock that decides. A node whose own clock is two hours ahead takes the links of the others.
func TestLinksToArtifactsFollowTheClockThatDecides(t *testing.T) {
	t.Parallel()
	c := config.Config{Artifacts: "folder:" + t.TempDir()}
	st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // of a test
	ahead := &App{store: store.New(behindDB{st.DB()}, store.Options{})}
	ahead.artifacts = NewArtifacts(c, nil, ahead.clock.Now)
	if skew, err := ahead.compareClocks(t.Context()); err != nil || skew != 2*time.Hour {
		t.Fatal(skew, err)
	}
	there, err := ahead.artifacts.part(t.Context(), core.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	link, err := there.SignPut(t.Context(), blob.Upload{Digest: strings.Repeat("0", 64), Size: 1}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(link.Expires); left > -50*time.Minute {
		t.Errorf("by the clock of the node the link ends in %s, want about -1h", left)
	}
	w := httptest.NewRecorder()
	ahead.artifacts.ServeHTTP(w, httptest.NewRequest(http.MethodPut, link.URL, strings.NewReader("x")))
	if said := w.Body.String(); strings.Contains(said, "expired") {
		t.Error(w.Code, said)
	}
}

// Spans, searches, tokens and pages follow the clock that decides: here it is two hours ahead of that of the node.
func TestTheAPIAndPagesFollowTheClockThatDecides(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	a := start(t, options(t))
	c := dial(t, a)
	echo(ctx, t, c)
	if _, err := c.CreateMonitor(ctx, monitor.Monitor{Name: "m", Every: core.Duration(time.Hour), Heartbeat: &monitor.Heartbeat{}}); err != nil {
		t.Fatal(err)
	}
	later := core.Micro(time.Now().Add(3 * time.Hour))
	if _, err := c.Enqueue(ctx, []job.NewJob{{Task: "echo", DueAt: later}}); err != nil {
		t.Fatal(err)
	}
	_, short, err := a.Store().CreateToken(ctx, access.Token{Name: "short", Scopes: []access.Scope{access.ScopeRead}, ExpiresAt: core.Micro(time.Now().Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}

	a.clock.Set(-2 * time.Hour)
	answer := func(method, path, body string) string {
		t.Helper()
		token, _ := ReadToken(a.TokenFile())
		r, _ := http.NewRequestWithContext(ctx, method, a.URL()+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return read(t, http.DefaultClient, r)
	}
	answer(http.MethodPost, "/v1/monitors/m/pause", `{"for": "1h"}`)
	m, err := c.Monitor(ctx, core.DefaultNamespace, "m")
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(m.State.PausedUntil); left < 2*time.Hour {
		t.Errorf("a pause for an hour ends in %s, want 3h", left)
	}
	if said := answer(http.MethodGet, "/v1/jobs?q=since:1h", ""); !strings.Contains(said, `"items":[]`) {
		t.Errorf("jobs of the last hour: %s", said)
	}
	var next wire.OccasionList
	if err := json.Unmarshal([]byte(answer(http.MethodPost, "/v1/windows/preview?n=1", `{"rules": [{"cron": "0 * * * *"}], "lasts": "1m"}`)), &next); err != nil || len(next.Items) == 0 {
		t.Fatal(err, next)
	}
	if left := time.Until(next.Items[0].From); left < 2*time.Hour-time.Minute || left > 3*time.Hour {
		t.Errorf("the next window is in %s, want that of the next hour in two hours", left)
	}
	old, err := client.New(a.URL(), short, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.CloseIdleConnections)
	if _, err := old.Task(ctx, core.DefaultNamespace, "echo"); core.CodeOf(err) != core.Unauthorized {
		t.Errorf("a token that has ended: %v", err)
	}

	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	link, _ := url.Parse(a.SignInLink())
	form := strings.NewReader(url.Values{"once": {link.Query().Get("once")}}.Encode())
	in, _ := http.NewRequestWithContext(ctx, http.MethodPost, a.URL()+"/sign-in", form)
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	read(t, browser, in)
	page, _ := http.NewRequestWithContext(ctx, http.MethodGet, a.URL()+"/jobs?q=state:scheduled", nil)
	if said := read(t, browser, page); !strings.Contains(said, ">in 59 min<") && !strings.Contains(said, ">in 1 h<") {
		t.Errorf("the page does not show a job in an hour: %s", said)
	}
}

func read(t *testing.T, c *http.Client, r *http.Request) string {
	t.Helper()
	w, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close() //nolint:errcheck // read
	said, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
