package intake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/intake"
)

func FuzzCrontab(f *testing.F) {
	for _, text := range []string{
		debian, packages, personal, "0 0 * * * a%b\\%c%", "@every 5m x", "@600 x", "-* * * * * -s x", "~ 0~5/2 * * * x", "CRON_TZ=UTC\n* * * * * x",
		"'a'=\"b\"\n@daily root x", "RANDOM_DELAY=5\n@hourly (", "0 0 * * *", "@", "-", "- ", "@reboot\tx", "* * * * * flock", "* * * * * \"", "=\n''=",
	} {
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, pick uint8) {
		o := intake.Options{Now: now, Format: []intake.Format{"", intake.FormatUser, intake.FormatSystem}[pick%3], Zone: []string{"", "Europe/Sofia"}[pick/3%2]}
		r, err := intake.Crontab(strings.NewReader(text), o)
		if err != nil {
			if code := belfry.CodeOf(err); code != belfry.Invalid && code != belfry.TooLarge {
				t.Errorf("a bare error: %v", err)
			}
			return
		}
		sound(t, r, "")
		// Without the comments and blank lines nothing changes but the numbers.
		var kept []string
		for line := range strings.Lines(text) {
			if s := strings.Trim(line, " \t\r\n"); s != "" && s[0] != '#' {
				kept = append(kept, strings.TrimSuffix(line, "\n"))
			}
		}
		again, err := intake.Crontab(strings.NewReader(strings.Join(kept, "\n")), o)
		if err != nil {
			t.Fatalf("without comments: %v", err)
		}
		same(t, "without comments", asJSON(again.Manifest), asJSON(r.Manifest))
	})
}

func FuzzCronJobs(f *testing.F) {
	for _, text := range []string{
		cronJob, job("schedule: 0 0 */2 * 1\nsuspend: true"), pod("backoffLimit: 3, ", "containers: [{command: [a, $(B), $$]}]"), "---\n---\n", "--- a\n... b",
		`{"kind":"List","items":[{"kind":"CronJob"}]}`, "kind: CronJob\nspec: &a {b: *a}", "kind: CronJob\n? [a]\n: b", "%YAML 1.2\n---\nkind: CronJob", "a: |\n  b\n---\n<<: c", "!!str a: b",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := intake.CronJobs(strings.NewReader(text), intake.Options{Now: now})
		if err != nil {
			if code := belfry.CodeOf(err); code != belfry.Invalid && code != belfry.TooLarge {
				t.Errorf("a bare error: %v", err)
			}
			return
		}
		sound(t, r, "")
	})
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
