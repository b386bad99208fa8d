package truth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// TestKnownTruthHistory checks a target whose delays follow a script, and reads
// the history that these checks left.
func TestKnownTruthHistory(t *testing.T) {
	t.Parallel()
	script := []time.Duration{200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}
	truly(t, func() (wrong []string) {
		_, c := node(t)
		var asked atomic.Int64
		site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			<-time.After(script[int(asked.Add(1)-1)%len(script)])
		}))
		t.Cleanup(site.Close)
		began := time.Now()
		_, err := c.CreateMonitor(t.Context(), monitor.Monitor{
			Name: "scripted", Every: core.Duration(24 * time.Hour), Check: task.Task{HTTP: &task.HTTP{URL: site.URL}},
		})
		if err != nil {
			t.Fatal(err)
		}
		results := func() []view.MonitorResult {
			page, err := c.Results(t.Context(), view.ResultFilter{Monitor: "scripted"})
			if err != nil {
				t.Fatal(err)
			}
			return page.Items
		}
		for n := range script { // a check that is under way already counts as the one that is asked for
			eventually(t, "a check is recorded", func() bool {
				if int(asked.Load()) <= n {
					_, _ = c.CheckMonitor(t.Context(), "", "scripted")
				}
				return len(results()) > n
			})
		}
		kept := results()
		if len(kept) != len(script) || int(asked.Load()) != len(script) {
			return []string{fmt.Sprintf("%d results are kept, and in truth %d checks were made", len(kept), asked.Load())}
		}
		for i, r := range slices.Backward(kept) {
			if r.Starved { // its latency is not the target's, and counts nowhere
				return []string{"the worker had no time for a check"}
			}
			wrong = append(wrong, near("a result's latency", r.Latency, script[len(script)-1-i]), near("its first byte", r.Phases.FirstByte, script[len(script)-1-i]))
		}
		report, err := c.Uptime(t.Context(), "", "scripted")
		if err != nil {
			t.Fatal(err)
		}
		day := report.Spans[0]
		wrong = append(wrong, near("the median of a day", day.P50, 200*time.Millisecond), near("the 95th percentile of a day", day.P95, 800*time.Millisecond))
		if day.Ratio == nil || *day.Ratio != 1 || day.Outages != 0 || day.Up.D() > time.Since(began) {
			wrong = append(wrong, fmt.Sprintf("the day reads %+v, and in truth it was up all the time", day.Uptime))
		}
		points, err := c.Series(t.Context(), view.SeriesQuery{Monitor: "scripted", From: began.Add(-time.Minute), Step: core.Duration(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		var ok int64
		for _, p := range points {
			ok += p.OK
		}
		if ok != int64(len(script)) {
			wrong = append(wrong, fmt.Sprintf("the points count %d good checks, and in truth there were %d", ok, len(script)))
		}
		return slices.DeleteFunc(wrong, func(text string) bool { return text == "" })
	})
}
