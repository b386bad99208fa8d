package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

func TestAPageThatAlwaysDiffersIsShownAsUnstable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.CreateMonitor(t.Context(), monitor.Monitor{Name: "clock", Every: core.Duration(time.Hour), Check: task.Task{
		Page: &task.PageCheck{URL: "https://shop.example/clock", Confirm: core.Duration(time.Hour)},
	}}))(s)
	v := s.visitor(s.admin)
	for i, digest := range []string{"a", "b", "c", "d", "e", "f", "f"} {
		s.check("clock", task.CheckResult{Outcome: task.CheckOK, Page: &task.PageSeen{Outcome: task.PageText, Digest: digest, ConfigHash: "c", Text: digest, Matches: 1}})
		says := i == 5
		for path, text := range map[string]string{"/monitors": "unstable</", "/monitors/clock": "Each of the last 5 checks differs from the one before, so no change", "/monitors/clock/versions": "or serve one variant to Belfry"} {
			if _, body := v.get(path); strings.Contains(body, text) != says {
				t.Errorf("after %s, %s shows %q: %t", digest, path, text, !says)
			}
		}
	}
}
