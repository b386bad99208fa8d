package cron

import (
	"errors"
	"strings"
	"testing"
)

func TestSpellingsOfOtherSchedulersAreToldApart(t *testing.T) {
	t.Parallel()
	const cronLike = "write minute hour day month weekday"
	for text, hint := range map[string]string{
		"cron(0 9 ? * MON-FRI *)":     `did you mean "0 9 ? * MON-FRI"?`,
		"cron(15 10 * * ? *)":         `did you mean "15 10 * * ?"?`,
		"cron(0 9 ? * 2-6 *)":         "weekdays as names",
		"cron(0 9 1 1 ? 2030)":        "leave out cron( )",
		"cron(":                       "leave out cron( )",
		"rate(5 minutes)":             `did you mean "@every 5m"?`,
		"rate(1 hour)":                `did you mean "@every 1h"?`,
		"rate(7 days)":                `did you mean "@every 7d"?`,
		"rate(5 weeks)":               `"@every 5m"`,
		"rate(":                       `"@every 5m"`,
		"rate(5 )":                    `"@every 5m"`,
		"Mon..Fri *-*-* 09:00":        `did you mean "0 9 * * MON-FRI"?`,
		"Mon..Fri 9:00":               `did you mean "0 9 * * MON-FRI"?`,
		"*-*-* 03:30:00":              `did you mean "30 3 * * *"?`,
		"*-*-01 04:05":                `did you mean "5 4 1 * *"?`,
		"Mon *-*-1 04:05":             `did you mean "5 4 1 * +MON"?`,
		"Sat,Sun 20:15":               `did you mean "15 20 * * SAT,SUN"?`,
		"*-*-* *:00:00":               `did you mean "0 * * * *"?`,
		"2026-12-24 18:00":            cronLike,
		"*-01,07-01 00:00:00":         cronLike,
		"Mon..Fri *-*-* 09..17:00:00": cronLike,
	} {
		_, err := Parse(text, Options{})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		e, _ := errors.AsType[*Error](err)
		if !strings.Contains(e.Hint, hint) {
			t.Errorf("%q: %v, want a hint with %s", text, e, hint)
		}
		if _, meant, ok := strings.Cut(e.Hint, `did you mean "`); ok {
			meant, _, _ = strings.Cut(meant, `"`)
			if _, err := Parse(meant, Options{}); err != nil {
				t.Errorf("%q: what is proposed is refused: %v", text, err)
			}
		}
	}
}

func TestAZoneWithoutAName(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"CRON_TZ= 0 0 * * *", "TZ= 0 0 * * *"} {
		_, err := Parse(text, Options{})
		if err == nil || !strings.Contains(err.Error(), "Europe/Sofia") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Lists of ranges look like dates of systemd.
func TestRulesAreNoSpellingsOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"* */15 5-16/2,8-25/10,6 * *", "1-5,10-15 * * * *", "0 9-17/2,20-22 1-3,5-7 * *", "10 8-20/4,14,6-9 * 12,5 * */6"} {
		if _, err := Parse(text, Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"1-5,10-99 * * * *", "0 9-17/2,20-22 1-3,5-7 *"} {
		_, err := Parse(text, Options{})
		if err == nil || strings.Contains(err.Error(), "systemd") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
