package monitor

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// Registries limit how often they answer, so a domain is not checked every minute.
func TestTheDefaultIntervalOfADomainIsADay(t *testing.T) {
	site := Monitor{Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}
	domain := Monitor{Check: task.Task{Domain: &task.Domain{Name: "example.com"}}}
	often, planned := domain, domain
	often.Every = core.Duration(time.Hour)
	planned.Rules = []schedule.Rule{{Cron: "0 3 * * *"}}
	for want, m := range map[string]Monitor{"1m": site, "1d": domain, "1h": often, "0s": planned} {
		if got := m.WithDefaults().Every.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
