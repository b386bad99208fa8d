package schedules

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

func TestPresetsAreCron(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"hourly", ":15", "15 * * * *"}, {"hourly", "0", "0 * * * *"},
		{"daily", "09:30", "30 9 * * *"}, {"daily", "at 9", "0 9 * * *"}, {"daily", "9 pm", "0 21 * * *"}, {"daily", "12 am", "0 0 * * *"}, {"daily", "7.05", "5 7 * * *"},
		{"weekdays", "9:30", "30 9 * * MON-FRI"},
		{"weekly", "Mon 09:30", "30 9 * * MON"}, {"weekly", "monday, thu at 9:30pm", "30 21 * * MON,THU"}, {"weekly", "Sundays 10:00", "0 10 * * SUN"},
		{"monthly", "1 09:30", "30 9 1 * *"}, {"monthly", "last 18:00", "0 18 L * *"},
		{"daily", "30 2 * * MON", "30 2 * * MON"}, // which is cron, whatever was chosen
	} {
		if r, err := readRule(ruleRow{Kind: tt[0], Text: tt[1]}, "rules[0]", "UTC", nil); err != nil || r.Cron != tt[2] {
			t.Errorf("%s %q is %q, %v", tt[0], tt[1], r.Cron, err)
		}
	}
	for _, bad := range [][2]string{{"hourly", "60"}, {"hourly", "9:30"}, {"daily", "24:00"}, {"daily", "13 pm"}, {"daily", "noon"}, {"weekly", "09:30"}, {"weekly", "Moonday 9:30"}, {"monthly", "32 9:00"}, {"monthly", "0 9:00"}} {
		_, err := readRule(ruleRow{Kind: bad[0], Text: bad[1]}, "rules[0]", "UTC", nil)
		if err == nil || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%s %q: %v", bad[0], bad[1], err)
		}
	}
	for cron, kind := range map[string]string{"*/5 * * * *": "cron", "0 9 * * 1": "cron", "0 9 1 * MON": "cron", "0 9 * * MON-WED": "cron", "61 * * * *": "cron", "0 9 32 * *": "cron", "0 9 * * XYZ": "cron"} {
		if got, text := writeRule(schedule.Rule{Cron: cron}, "UTC"); got != kind || text != cron {
			t.Errorf("%s is shown as %s %q", cron, got, text)
		}
	}
}

// What a preset shows of a rule is read as the same rule, and is a rule.
func TestPresetsReadTheRulesTheyShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(presets).Draw(t, "preset")
		text := rapid.SampledFrom([]string{"", "Mon ", "Mon, Wed, Sun ", "1 ", "31 ", "last ", ":"}).Draw(t, "day") +
			rapid.StringMatching(`[0-2]?[0-9](:[0-5][0-9])?`).Draw(t, "time")
		rule, err := readRule(ruleRow{Kind: p.Value, Text: text}, "rules[0]", "UTC", nil)
		if err != nil {
			return
		}
		kind, shown := writeRule(rule, "UTC")
		again, err := readRule(ruleRow{Kind: kind, Text: shown}, "rules[0]", "UTC", nil)
		if err != nil || again.Cron != rule.Cron || kind != p.Value {
			t.Fatalf("%s %q is %q, shown as %s %q, which is %q: %v", p.Value, text, rule.Cron, kind, shown, again.Cron, err)
		}
		if _, err := cron.Parse(rule.Cron, cron.Options{Zone: time.UTC}); err != nil {
			t.Fatalf("%q: %v", rule.Cron, err)
		}
	})
}
