package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

var (
	monitorRow = regexp.MustCompile(`<tr id="monitor-default-([a-z0-9-]+)"`)
	nextPage   = regexp.MustCompile(`href="([^"]*)" rel="next"`)
)

// What is down comes first, and each monitor stands on one page.
func TestMonitorsThatAreDownComeFirst(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(target.Close)
	s := newSite(t, func(c *config.Config) {
		c.Roles, c.AllowAddresses = []string{config.RoleAPI, config.RoleEngine, config.RoleWorker}, []string{"loopback"}
	})
	const all = 30
	down := []string{"m-07", "m-29"} // of which one is not among the first by name
	for i := range all {
		name, path := fmt.Sprintf("m-%02d", i), "/up"
		if slices.Contains(down, name) {
			path = "/down"
		}
		must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: name, Every: core.Duration(time.Hour), Confirm: monitor.Confirm{Failures: 1}, Check: task.Task{HTTP: &task.HTTP{URL: target.URL + path}}}))(s)
		must(s.CheckMonitor(t.Context(), "default", name))(s) // the first of its own comes within half a minute
	}
	for cursor := ""; ; {
		n := must(s.CountMonitors(t.Context(), view.MonitorFilter{}))(s)
		if n.Statuses[monitor.StatusUp] == all-len(down) && n.Statuses[monitor.StatusDown] == len(down) {
			break
		}
		var err error
		if _, cursor, err = s.Events(t.Context(), "default", cursor, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	v := s.visitor(s.admin)
	var names []string
	for path := "/monitors"; path != ""; {
		_, body := v.get(path)
		for _, row := range monitorRow.FindAllStringSubmatch(body, -1) {
			names = append(names, row[1])
		}
		next := nextPage.FindStringSubmatch(body)
		if path = ""; next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if !slices.Equal(names[:2], down) {
		t.Errorf("first come %v, want %v", names[:2], down)
	}
	seen := slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) != all || len(seen) != all {
		t.Errorf("%d rows of %d monitors, want %d: %v", len(names), len(seen), all, names)
	}
}
