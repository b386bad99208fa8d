//go:build linux || darwin

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// town serves many sites on one machine. They can hold back their answers.
type town struct {
	servers []*httptest.Server
	mu      sync.Mutex
	asked   map[string]int
	now     map[string]int // requests under way
	twice   []string       // sites with two requests at the same time
	held    int
	hold    chan struct{} // nil, or closed when the answers may be sent
}

func newTown(t testing.TB, doors int) *town {
	w := &town{asked: map[string]int{}, now: map[string]int{}}
	for range doors { // checks of one address at the same time are limited
		w.servers = append(w.servers, httptest.NewServer(w))
	}
	t.Cleanup(func() {
		w.letGo()
		for _, s := range w.servers {
			s.Close()
		}
	})
	return w
}

func (w *town) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked[r.URL.Path]++
	if w.now[r.URL.Path]++; w.now[r.URL.Path] > 1 {
		w.twice = append(w.twice, r.URL.Path)
	}
	hold := w.hold
	if hold != nil {
		w.held++
	}
	w.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[r.URL.Path]--
	if hold != nil {
		w.held--
	}
}

func (w *town) keepWaiting() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = make(chan struct{})
}

func (w *town) letGo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hold != nil {
		close(w.hold)
	}
	w.hold = nil
}

func (w *town) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

func (w *town) counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for path, n := range w.asked {
		out[path] = n
	}
	return out
}

// watch returns a manifest with a monitor for every site.
func (w *town) watch(s *site, houses int, every, hook string) {
	s.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "channels: [{name: pager, webhook: {url: %q}}]\nalert_rules: [{name: all, channels: [pager], group: -1s}]\nmonitors:\n", hook)
	for i := range houses {
		fmt.Fprintf(&text, "  - {name: house-%d, every: %s, check: {timeout: 5m, http: {url: \"%s/house-%d\"}}}\n", i, every, w.servers[i%len(w.servers)].URL, i)
	}
	s.write("town.yaml", text.String())
	s.run("apply", "-f", "town.yaml")
}

// monitors reads every page of the list.
func monitors(t testing.TB, api *client.Client) (all []view.MonitorView) {
	t.Helper()
	f := view.MonitorFilter{Paging: core.Paging{Limit: 1000}}
	for {
		p := must[core.Page[view.MonitorView]](t)(api.Monitors(t.Context(), f))
		all = append(all, p.Items...)
		if f.Cursor = p.Next; p.Next == "" {
			return all
		}
	}
}

// allAre waits until every monitor satisfies a condition.
func allAre(t testing.TB, api *client.Client, what string, so func(view.MonitorView) bool) {
	t.Helper()
	eventually(t, 2*patience, "every monitor "+what, func() (bool, string) {
		left := ""
		n := 0
		for _, m := range monitors(t, api) {
			if !so(m) {
				n++
				left = fmt.Sprintf("%s is %s: %+v", m.Name, m.Status, m.State)
			}
		}
		return n == 0, fmt.Sprintf("%d are not, such as: %s", n, left)
	})
}

// nobodyWasDown fails if an outage was recorded or a notification was sent.
func nobodyWasDown(t testing.TB, api *client.Client, hook *pager) {
	t.Helper()
	p := must[core.Page[monitor.Incident]](t)(api.Incidents(t.Context(), view.IncidentFilter{}))
	if len(p.Items) > 0 {
		t.Errorf("incidents: got %d, want 0: %+v", len(p.Items), p.Items[0])
	}
	for _, line := range hook.types() {
		if strings.HasSuffix(line, " down") {
			t.Errorf("notification: got %s, want none", line)
		}
	}
}

// A node is killed with 200 checks under way. These checks do not count against the
// monitors, and every monitor continues with one loop.
func TestANodeKilledDuringChecksMarksNoMonitorDown(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		const houses = 200
		w, hook := newTown(t, 50), newPager(t)
		flags := []string{"--allow-addresses", "loopback", "--session-ttl", s.ttl()}
		n := s.serve(flags...)
		w.watch(s, houses, "5s", hook.URL)
		allAre(t, n.api, "is up", func(m view.MonitorView) bool { return m.Status == monitor.StatusUp })
		w.keepWaiting()
		most := 0
		eventually(t, patience, "many checks are under way", func() (bool, string) {
			most = max(most, w.waiting())
			return most >= 50, fmt.Sprint(most)
		})
		n.kill()
		w.letGo()
		eventually(t, patience, "nobody waits any more", func() (bool, string) { return w.waiting() == 0, fmt.Sprint(w.waiting()) })
		n = s.serve(flags...)
		for range 2 {
			before := w.counts()
			since := time.Now()
			allAre(t, n.api, "is checked again", func(m view.MonitorView) bool {
				return m.Status == monitor.StatusUp && m.State.LastGoodAt.After(since) && w.counts()["/"+m.Name] > before["/"+m.Name]
			})
		}
		nobodyWasDown(t, n.api, hook)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.twice) > 0 {
			t.Errorf("sites with two requests at the same time: got %v, want none", w.twice)
		}
		t.Logf("%d checks were under way when it was killed", most)
	})
}

// PostgreSQL is killed while checks run and heartbeats are expected. A heartbeat that
// could not be recorded does not count as missed.
func TestALostDatabaseMarksNoMonitorDown(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	s := newSite(t, server.New(t))
	w, hook := newTown(t, 5), newPager(t)
	n := s.serve("--allow-addresses", "loopback", "--session-ttl", "2s")
	w.watch(s, 20, "1s", hook.URL)
	s.write("beat.yaml", beatYAML)
	s.run("apply", "-f", "beat.yaml")
	beat := must[view.MonitorView](t)(n.api.Monitor(t.Context(), "default", "beat")).Beat
	caller := calling(t, n.url+beat)
	up := func(m view.MonitorView) bool { return m.Status == monitor.StatusUp }
	allAre(t, n.api, "is up", up)
	for _, end := range []func() error{server.Kill, server.Stop} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		readyWithin(t, n.url, patience, 503)
		caller.refusedForLong(t, func() {})
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		readyWithin(t, n.url, patience, 200)
		allAre(t, n.api, "goes on", func(m view.MonitorView) bool { return up(m) && m.State.LastGoodAt.After(back) })
	}
	nobodyWasDown(t, n.api, hook)
	if !n.running() {
		t.Error("the node has ended")
	}
}

// beatYAML has a heartbeat that is missed once no call was taken for beatLasts. A caller of a busy machine is not that late.
const (
	beatYAML  = "monitors: [{name: beat, every: 2s, heartbeat: {grace: 13s}}]\n"
	beatLasts = 15 * time.Second
)

// calls sends a heartbeat ten times a second and counts the refusals.
type calls struct {
	mu    sync.Mutex
	no    int
	since time.Time // of the first refusal after the last call that was taken
}

func (c *calls) refused() (n int, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.no, c.since
}

// refusedForLong waits until all calls were refused for longer than the heartbeat lasts.
func (c *calls) refusedForLong(t testing.TB, meanwhile func()) {
	t.Helper()
	eventually(t, patience, "calls were refused for longer than the grace", func() (bool, string) {
		meanwhile()
		n, since := c.refused()
		return !since.IsZero() && time.Since(since) > beatLasts+2*time.Second, fmt.Sprint(n, " since ", since)
	})
}

func calling(t testing.TB, url string) *calls {
	c := &calls{}
	stop, gone := make(chan struct{}), make(chan struct{})
	client := &http.Client{Timeout: patience}
	go func() {
		defer close(gone)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			res, err := client.Get(url)
			if err == nil {
				_ = res.Body.Close()
			}
			c.mu.Lock()
			if err == nil && res.StatusCode == http.StatusOK {
				c.since = time.Time{}
			} else if c.no++; c.since.IsZero() {
				c.since = time.Now()
			}
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-gone
		client.CloseIdleConnections()
	})
	return c
}

// Checks run on a remote worker. Its kill makes no monitor go down. Another worker
// continues and finds an outage.
func TestARemoteWorkerChecksForTheNode(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		web, hook := newTarget(t), newPager(t)
		n := s.serve("--roles", "api,engine", "--session-ttl", "5s", "--allow-addresses", "loopback")
		watching(s, web, hook)
		secret := s.run("token", "create", "far", "--scope", "worker", "--for", "*").stdout
		start := func(name string) *process {
			return workerSite(t, secret).work(n.url, "--allow-addresses", "loopback", "--name", name)
		}
		status := func(what string, so func(view.MonitorView) bool) {
			t.Helper()
			eventually(t, 2*patience, "the monitor is "+what, func() (bool, string) {
				m := must[view.MonitorView](t)(n.api.Monitor(t.Context(), "default", "site"))
				return so(m), fmt.Sprintf("%s %+v", m.Status, m.State)
			})
		}
		up := func(m view.MonitorView) bool { return m.Status == monitor.StatusUp }
		first := start("far-1")
		status("up", up)
		first.kill()
		n.logs(2*patience, `msg="jobs of lost sessions released" sessions=1`)
		since := time.Now()
		second := start("far-2")
		status("checked by the other", func(m view.MonitorView) bool { return up(m) && m.State.LastGoodAt.After(since) })
		nobodyWasDown(t, n.api, hook)
		web.down.Store(true)
		status("down", func(m view.MonitorView) bool { return m.Status == monitor.StatusDown })
		web.down.Store(false)
		status("up", up)
		eventually(t, patience, "the outage was told", func() (bool, string) {
			return strings.Join(hook.types(), ",") == "site down,site up", fmt.Sprint(hook.types())
		})
		if !second.running() {
			t.Error("the worker has ended")
		}
	})
}

// A client that guesses keys learns nothing and changes nothing.
func TestKeysOfHeartbeatsThatAreWrong(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := s.serve()
		s.write("beat.yaml", "monitors: [{name: beat, every: 1h, heartbeat: {grace: 1m}}]\n")
		s.run("apply", "-f", "beat.yaml")
		v := must[view.MonitorView](t)(n.api.Monitor(t.Context(), "default", "beat"))
		key := strings.TrimPrefix(v.Beat, "/beat/")
		wrong := []string{
			"", "x", strings.Repeat("0", 32), key[:31], key + "0", key[1:] + key[:1], "%00" + key, key + "%0a", "%27%20or%201=1--", "beat", "..%2f..%2fv1%2fmonitors",
			strings.Repeat("a", 10_000), "%ff%fe", key + "/no-such-verb", key + "/start/start", key + "/999", key + "/-1",
		}
		for _, k := range wrong {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead} {
				a, err := request(method, n.url+"/beat/"+k, "", "")
				if err != nil {
					t.Errorf("%s %q: %v", method, k, err)
				} else if a.StatusCode < 400 || a.StatusCode >= 500 {
					t.Errorf("%s %q answered %d: %s", method, k, a.StatusCode, a.Body)
				} else if strings.Contains(a.Body, key) && !strings.Contains(k, key) {
					t.Errorf("%s %q answered with the key: %s", method, k, a.Body)
				}
			}
		}
		if m := must[view.MonitorView](t)(n.api.Monitor(t.Context(), "default", "beat")); m.Status != monitor.StatusNew || !m.State.LastAt.IsZero() {
			t.Errorf("status of the monitor: got %s: %+v", m.Status, m.State)
		}
		if a, err := request(http.MethodGet, n.url+"/beat/"+strings.ToUpper(key), "", ""); err != nil || a.StatusCode != 200 {
			t.Errorf("heartbeat with its key in capitals: got %+v, error %v", a, err)
		}
	})
}
