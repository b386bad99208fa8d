package define

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// Rule reads a rule from the command line; errors name the field. is reports whether the text is a rule: it cannot be the
// name of a schedule.
func Rule(field, text string) (r schedule.Rule, is bool, err error) {
	switch step, steps := strings.CutPrefix(text, "every "); {
	case strings.Contains(text, "FREQ="), strings.Contains(text, "RRULE"):
		return schedule.Rule{RRule: text}, true, nil
	case steps:
		r.Every, err = every(field, text, step)
		return r, true, err
	case strings.ContainsAny(text, " @*"):
		return schedule.Rule{Cron: text}, true, nil
	}
	return r, false, nil
}

// every reads the time between two runs.
func every(field, text, step string) (core.Duration, error) {
	d, err := core.ParseDuration(step)
	if err != nil {
		return 0, core.InvalidField(field, "", err.Error(), "")
	}
	if d <= 0 {
		return 0, core.InvalidField(field, text, "is no time between two runs", "such as 5s or 1h30m")
	}
	return d, nil
}

// Times are the flags for the rules of a schedule.
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
		d, err := every("--every", text, text)
		if err != nil {
			return err
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
