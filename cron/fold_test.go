package cron_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

func TestFirstOfTwoTimesThatLookAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, at, want string }{
		{"Europe/Sofia", "2027-10-31T03:30:00+02:00", "2027-10-31T03:30:00+03:00"},
		{"Europe/Sofia", "2027-10-31T03:30:00+03:00", "2027-10-31T03:30:00+03:00"},
		{"Europe/Sofia", "2027-10-31T04:00:00+02:00", "2027-10-31T04:00:00+02:00"},
		{"Europe/Sofia", "2027-03-28T04:00:00+03:00", "2027-03-28T04:00:00+03:00"},
		{"Australia/Lord_Howe", "2027-04-04T01:45:00+10:30", "2027-04-04T01:45:00+11:00"},
		{"UTC", "2027-10-31T03:30:00Z", "2027-10-31T03:30:00Z"},
	} {
		zone, err := cron.LoadZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := cron.FirstOf(at.In(zone)).Format(time.RFC3339); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.zone, c.at, got, c.want)
		}
	}
}
