//go:build linux || darwin

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/view"
)

// diary is a web site that records its answers and the times of their changes.
type diary struct {
	*httptest.Server
	mu      sync.Mutex
	down    bool
	answers int // since the last change
	log     []history.Target
}

func newDiary(t testing.TB) *diary {
	d := &diary{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.answers++
		state := "up"
		if d.down {
			state = "down"
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if n := len(d.log); n == 0 || d.log[n-1].State != state {
			d.log = append(d.log, history.Target{Monitor: "site", Time: time.Now().UnixMicro(), State: state})
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// turn makes the site go down or up, and waits until it has answered so for some time.
func (d *diary) turn(t testing.TB, down bool, answers int) {
	t.Helper()
	d.mu.Lock()
	d.down, d.answers = down, 0
	d.mu.Unlock()
	eventually(t, 2*patience, "the site has answered", func() (bool, string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.answers >= answers, fmt.Sprint(d.answers)
	})
}

// The reported uptime agrees with the target's own log, within the precision of checks. A wrong uptime is found.
func TestUptimeIsThatOfTheTargetsLog(t *testing.T) {
	const timeout = 10 * time.Second // of a check: the greatest distance between an answer and its result
	onEach(t, func(t *testing.T, s *site) {
		site := newDiary(t)
		s.serve("--allow-addresses", "loopback")
		s.write("watch.yaml", fmt.Sprintf("monitors: [{name: site, every: 1s, flap: {off: true}, check: {timeout: %s, http: {url: %q}}}]\n", timeout, site.URL))
		s.run("apply", "-f", "watch.yaml")
		site.turn(t, false, 3)
		site.turn(t, true, 20) // an outage of longer than that distance
		site.turn(t, false, 4)
		report := must[view.UptimeReport](t)(s.client(s.server).Uptime(t.Context(), "default", "site"))
		day := report.Spans[slices.IndexFunc(report.Spans, func(w view.UptimeWindow) bool { return w.Name == "24h" })]

		site.mu.Lock()
		log := slices.Clone(site.log)
		site.mu.Unlock()
		// The time before the monitor was created is unknown and does not matter.
		m := history.Monitor{
			Name: "site", From: log[0].Time - timeout.Microseconds(), To: day.To.UnixMicro(), Slack: timeout.Microseconds(),
			Up: day.Up.D().Microseconds(), Down: day.Down.D().Microseconds(), Maintenance: day.Maintenance.D().Microseconds(), Paused: day.Paused.D().Microseconds(),
		}
		m.Unknown = m.To - m.From - m.Up - m.Down - m.Maintenance - m.Paused
		check := func(m history.Monitor) history.Report {
			t.Helper()
			var out bytes.Buffer
			w := history.NewWriter(&out, history.Header{Source: "a site and its own log", Clock: "the machine's"}, nil)
			for _, l := range log {
				w.Add(l)
			}
			w.Add(m)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return history.Check(must[*history.History](t)(history.Read(&out)))
		}
		r := check(m)
		if err := r.Err(); err != nil || m.Unknown < 0 || len(log) != 3 {
			t.Fatalf("%v: %+v, %+v, log %+v", err, r.Violations, m, log)
		}
		const hour = int64(time.Hour / time.Microsecond)
		m.To, m.Down = m.To+hour, m.Down+hour
		if text := fmt.Sprint(check(m).Violations); !strings.Contains(text, "down are recorded, and by the log of its target it was down for") {
			t.Errorf("check of an invented outage: got %s, want it found", text)
		}
	})
}
