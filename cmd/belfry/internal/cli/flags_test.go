package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfry-run/belfry/core"
)

// People write times as they are called where they are, whatever zone a
// schedule has.
func TestTimesFromNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	here := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.Local) }
	for text, want := range map[string]struct{ before, expiry time.Time }{
		"":                     {},
		"1h":                   {now.Add(-time.Hour), now.Add(time.Hour)},
		"2026-11-20":           {here(20, 0), here(20, 0)},
		"2026-11-20 18:00":     {here(20, 18), here(20, 18)},
		"2026-11-20T18:00:00Z": {time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)},
	} {
		var since, until time.Time
		if err := Before(now, "--since", text, &since); err != nil || !since.Equal(want.before) {
			t.Errorf("before %q is %s, want %s: %v", text, since, want.before, err)
		}
		if err := Expiry(now, text, &until); err != nil || !until.Equal(want.expiry) {
			t.Errorf("expiry %q is %s, want %s: %v", text, until, want.expiry, err)
		}
	}
	var to time.Time
	if err := Before(now, "--since", "tomorrow", &to); core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "--since") {
		t.Errorf("tomorrow: %v", err)
	}
}

func TestAValueOfTheWrongTypeIsSaidInWords(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--limit x":                    `--limit "x": is not a whole number`,
		"--limit 99999999999999999999": `--limit "99999999999999999999": is out of range`,
		"--share x":                    `--share "x": is not a number`,
		"--yes=maybe":                  `--yes "maybe": is not true or false`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			c := New(strings.NewReader(""), &out, &errs, nil)
			cmd := &cobra.Command{Use: "belfry", RunE: func(*cobra.Command, []string) error { return nil }}
			cmd.Flags().Int("limit", 0, "")
			cmd.Flags().Float64("share", 0, "")
			cmd.Flags().Bool("yes", false, "")
			c.Attach(cmd)
			if code := c.Run(t.Context(), cmd, strings.Fields(args)); code != ExitUsage || !strings.Contains(errs.String(), want) {
				t.Errorf("exit code %d, errors %q, want %d and %q", code, errs.String(), ExitUsage, want)
			}
		})
	}
}
