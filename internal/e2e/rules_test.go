//go:build linux || darwin

package e2e

import (
	"os"
	"testing"
)

// A rule can be tried first of all: no server runs, and none is needed.
func TestARuleIsPreviewedWithoutAServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	s.server = ""
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"schedule", "next", "30 2 * * *", "--zone", "Europe/Sofia", "--from", "2027-03-27", "-n", "3"}, []string{
			`NOMINAL \(Europe/Sofia\) +UTC +AWAY +NOTE`, `Sat 2027-03-27 02:30:00 EET +2027-03-27 00:30:00 `,
			`Sun 2027-03-28 02:30:00 EET +2027-03-28 00:30:00 `, `Mon 2027-03-29 02:30:00 EEST +2027-03-28 23:30:00 `}},
		{[]string{"schedule", "next", "FREQ=MONTHLY;BYDAY=-1FR", "--from", "2199-03-01", "-n", "1"}, []string{`NOMINAL \(UTC\) +AWAY +NOTE`, `Fri 2199-03-29 00:00:00 UTC +in `}},
		{[]string{"schedule", "explain", "30 3 * * *", "--zone", "Europe/Sofia", "--at", "2027-03-28 03:30"}, []string{
			"2027-03-28 03:30 does not exist in Europe/Sofia", "about 2027-03-28 04:00:00 EEST", "At 03:30 every day", "yes: 03:30 does not exist"}},
	} {
		r := s.run(c.args...)
		for _, pattern := range c.says {
			r.says(pattern)
		}
	}
	s.fails(2, `zone "Nowhere": is not a time zone`, "schedule", "next", "* * * * *", "--zone", "Nowhere")
	s.fails(2, `n "1001": is outside 1 to 1000`, "schedule", "next", "* * * * *", "-n", "1001")
	s.fails(2, `RULE "every 0s": is no time between two runs`, "schedule", "next", "every 0s")
	s.fails(2, `RULE: "5" has no unit`, "schedule", "explain", "every 5")
	s.fails(6, "no server answers", "schedule", "next", "nightly")
	left, err := os.ReadDir(s.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("files of the folder: got %v, error %v", left, err)
	}
}
