package define

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// Rule reads a rule as people write it on a command line. What cannot be a
// name of a schedule is one.
func Rule(text string) (schedule.Rule, bool) {
	switch {
	case strings.Contains(text, "FREQ="), strings.Contains(text, "RRULE"):
		return schedule.Rule{RRule: text}, true
	case strings.HasPrefix(text, "every "):
		if d, err := core.ParseDuration(strings.TrimPrefix(text, "every ")); err == nil {
			return schedule.Rule{Every: d}, true
		}
		return schedule.Rule{Cron: text}, true
	case strings.ContainsAny(text, " @*"):
		return schedule.Rule{Cron: text}, true
	}
	return schedule.Rule{}, false
}

// Times are the flags that say when something runs.
type Times struct {
	Cron, RRule, Every, At []string
	AfterFinish            bool
}

// Apply replaces the rules of a schedule, if a flag names one.
func (f *Times) Apply(given func(string) bool, s *schedule.Schedule) error {
	if !given("cron") && !given("every") && !given("at") && !given("rrule") {
		if f.AfterFinish {
			return core.InvalidField("--after-finish", "", "belongs to --every", "such as --every 5s --after-finish")
		}
		return nil
	}
	var rules []schedule.Rule
	for _, text := range f.Cron {
		rules = append(rules, schedule.Rule{Cron: text})
	}
	for _, text := range f.RRule {
		rules = append(rules, schedule.Rule{RRule: text})
	}
	for _, text := range f.Every {
		d, err := core.ParseDuration(text)
		if err != nil {
			return core.InvalidField("--every", "", err.Error(), "")
		}
		if d <= 0 {
			return core.InvalidField("--every", text, "is no time between two runs", "such as 5s or 1h30m")
		}
		r := schedule.Rule{Every: d}
		if f.AfterFinish {
			r.Anchor = schedule.AnchorFinish
		}
		rules = append(rules, r)
	}
	if len(f.At) > 0 {
		var r schedule.Rule
		for _, text := range f.At {
			var t time.Time
			if err := cli.Instant(true, "--at", text, s.Zone, &t); err != nil {
				return err
			}
			r.At = append(r.At, t)
		}
		rules = append(rules, r)
	}
	s.Rules = rules
	return nil
}
