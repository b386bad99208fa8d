// Package foreign knows how other schedulers write a time. Its only use is a better error: a rule in such a spelling is
// refused with the one of Belfry.
package foreign

import (
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/cron/internal/refusal"
	"github.com/belfry-run/belfry/cron/internal/spell"
)

// cronLike is the hint for a rule that cannot be translated word by word.
const cronLike = `write minute hour day month weekday, such as "0 9 * * MON-FRI"`

// Refuse explains how to write a rule that is written as for another scheduler. It is asked about what is no rule, and answers
// nil for everything else. Parses says whether a text is a cron expression.
func Refuse(text string, parses func(string) bool) *refusal.Error {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	e := &refusal.Error{Field: "expression", Value: text}
	switch {
	case strings.HasPrefix(lower, "cron("):
		e.Msg, e.Hint = "is written as for Amazon EventBridge", eventBridgeCron(text[len("cron("):])
	case strings.HasPrefix(lower, "rate("):
		e.Msg, e.Hint = "is written as for Amazon EventBridge", eventBridgeRate(lower[len("rate("):])
	case onCalendar.MatchString(text):
		e.Msg, e.Hint = "is written as for OnCalendar of systemd", systemdCalendar(text, parses)
	default:
		return nil
	}
	return e
}

// eventBridgeCron takes off the year. Weekdays count from SUN=1 there, so only those with names stay as they are.
func eventBridgeCron(inner string) string {
	f := strings.Fields(strings.TrimSuffix(inner, ")"))
	if len(f) == 6 && f[5] == "*" && !strings.ContainsAny(f[4], "0123456789L") {
		return spell.DidYouMean(strings.Join(f[:5], " "), "")
	}
	return "leave out cron( ), put the year behind seven fields that begin with seconds, and write weekdays as names: 1 is SUN there"
}

func eventBridgeRate(inner string) string {
	f := strings.Fields(strings.TrimSuffix(inner, ")"))
	if len(f) == 2 {
		if n, ok := spell.ReadDuration(f[0] + strings.TrimSuffix(f[1], "s")[:1]); ok && n > 0 {
			switch strings.TrimSuffix(f[1], "s") {
			case "minute", "hour", "day":
				return spell.DidYouMean("@every "+f[0]+f[1][:1], "")
			}
		}
	}
	return `write "@every 5m", or the interval 5m as every`
}

var (
	onCalendar  = regexp.MustCompile(`(?i)[a-z]\.\.[a-z]|(^| )[0-9*]+-[0-9*/,]+-[0-9*/,]+ .*:|^[a-z,]+ [0-9*]{1,2}:[0-9*/]{1,2}`)
	systemdTime = regexp.MustCompile(`^(?:([A-Za-z]+(?:(?:\.\.|,)[A-Za-z]+)*) )?(?:\*-\*-(\*|[0-9]{1,2}) )?([0-9]{1,2}|\*):([0-9]{1,2})(?::00)?$`)
)

// systemdCalendar translates a rule with at most a weekday, a day of the month and a time of day.
func systemdCalendar(text string, parses func(string) bool) string {
	m := systemdTime.FindStringSubmatch(text)
	if m == nil {
		return cronLike
	}
	day, weekday := m[2], strings.ToUpper(strings.ReplaceAll(m[1], "..", "-"))
	if day == "" {
		day = "*"
	}
	if weekday == "" {
		weekday = "*"
	} else if day != "*" {
		weekday = "+" + weekday // both must match there
	}
	text = strings.Join([]string{noZero(m[4]), noZero(m[3]), noZero(day), "*", weekday}, " ")
	if !parses(text) {
		return cronLike
	}
	return spell.DidYouMean(text, "")
}

func noZero(s string) string {
	if short := strings.TrimLeft(s, "0"); short != "" {
		return short
	}
	return "0"
}
