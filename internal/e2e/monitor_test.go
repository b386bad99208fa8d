//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// target is a web site that can be taken down.
type target struct {
	*httptest.Server
	down  atomic.Bool
	asked atomic.Int64
}

func newTarget(t testing.TB) *target {
	s := &target{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		if s.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "out of order")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// pager is a webhook that keeps its messages by their keys.
type pager struct {
	*httptest.Server
	deaf atomic.Bool
	mu   sync.Mutex
	told map[string]alert.Message
	keys []string // every delivery, in order
}

func newPager(t testing.TB) *pager {
	p := &pager{told: map[string]alert.Message{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.deaf.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var m alert.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		key := r.Header.Get("Belfry-Delivery")
		p.told[key] = m
		p.keys = append(p.keys, key)
	}))
	t.Cleanup(p.Close)
	return p
}

// types returns the types of the notifications, each message once.
func (p *pager) types() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for _, key := range p.keys {
		if !seen[key] {
			for _, n := range p.told[key].Notifications {
				out = append(out, n.Monitor+" "+string(n.Type))
			}
		}
		seen[key] = true
	}
	return out
}

// watching returns a manifest with a check every second and a webhook that gets its
// messages at once.
func watching(s *site, site *target, hook *pager) {
	s.t.Helper()
	text := fmt.Sprintf(`
channels:
  - name: pager
    webhook: {url: %s}
alert_rules:
  - name: all
    channels: [pager]
    group: -1s
monitors:
  - name: site
    every: 1s
    check: {http: {url: %s}}
    flap: {off: true}
  - name: backup
    every: 1h
    heartbeat: {grace: 1m}
`, hook.URL, site.URL)
	if err := os.WriteFile(filepath.Join(s.dir, "watch.yaml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.run("apply", "-f", "watch.yaml")
}

// An outage that begins before a kill of the node and ends after it is one incident
// with one notification, and the loop of checks continues by itself.
func TestAnOutageThatOutlivesItsNodeIsToldOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		web, hook := newTarget(t), newPager(t)
		n := s.serve("--allow-addresses", "loopback")
		watching(s, web, hook)
		status := func(want monitor.Status) {
			t.Helper()
			eventually(t, patience, "the monitor is "+string(want), func() (bool, string) {
				m, err := s.client(s.server).Monitor(t.Context(), "default", "site")
				return err == nil && m.Status == want, fmt.Sprintf("%+v %v", m.State, err)
			})
		}
		status(monitor.StatusUp)
		web.down.Store(true)
		hook.deaf.Store(true) // a message that fails now is sent later
		status(monitor.StatusDown)
		// A message under way passes from a dead node to another only after two
		// minutes. The delivery of this message has ended.
		eventually(t, patience, "a try to tell was written down", func() (bool, string) {
			p, err := s.client(s.server).Alerts(t.Context(), alert.Filter{})
			return err == nil && len(p.Items) == 1 && p.Items[0].Tries > 0, fmt.Sprintf("%+v %v", p.Items, err)
		})
		n.signal(syscall.SIGKILL)
		n.ended(patience)
		hook.deaf.Store(false)
		s.serve("--allow-addresses", "loopback")
		eventually(t, patience, "the outage was told", func() (bool, string) {
			return strings.Join(hook.types(), ",") == "site down", fmt.Sprint(hook.types())
		})
		web.down.Store(false)
		status(monitor.StatusUp)
		eventually(t, patience, "the end was told", func() (bool, string) {
			return strings.Join(hook.types(), ",") == "site down,site up", fmt.Sprint(hook.types())
		})
		incidents, err := s.client(s.server).Incidents(t.Context(), view.IncidentFilter{})
		if err != nil || len(incidents.Items) != 1 || incidents.Items[0].EndedBy != "recovered" || incidents.Items[0].Snapshot == nil || incidents.Items[0].Snapshot.Body != "out of order" {
			t.Fatalf("incidents: got %+v, error %v", incidents.Items, err)
		}
		asked := web.asked.Load()
		eventually(t, patience, "checks go on", func() (bool, string) { return web.asked.Load() > asked+2, "" })
	})
}

// The URL of a heartbeat needs no token, only curl.
func TestAHeartbeatIsAUrlThatOthersCall(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.serve("--allow-addresses", "loopback")
		watching(s, newTarget(t), newPager(t))
		view, err := s.client(s.server).Monitor(t.Context(), "default", "backup")
		if err != nil {
			t.Fatal(err)
		}
		call := func(path string, want int) {
			t.Helper()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server+path, strings.NewReader("3 files"))
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != want {
				body, _ := io.ReadAll(res.Body)
				t.Errorf("status of %s: got %d, want %d: %s", path, res.StatusCode, want, body)
			}
		}
		for _, step := range []struct {
			path   string
			status monitor.Status
		}{{"", monitor.StatusUp}, {"/start", monitor.StatusUp}, {"/3", monitor.StatusDown}, {"/0", monitor.StatusUp}, {"/fail", monitor.StatusDown}} {
			call(view.Beat+step.path, http.StatusOK)
			if m, err := s.client(s.server).Monitor(t.Context(), "default", "backup"); err != nil || m.Status != step.status {
				t.Errorf("status of the monitor after %q: got %s, want %s (%v)", step.path, m.Status, step.status, err)
			}
		}
		call("/beat/00000000000000000000000000000000", http.StatusNotFound)
	})
}
