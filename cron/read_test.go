package cron_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cron"
)

func TestReadTime(t *testing.T) {
	t.Parallel()
	paris, err := cron.LoadZone("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"2026-12-24T18:00:00Z", "2026-12-24T18:00:00Z"},
		{"2026-12-24 18:00:00Z", "2026-12-24T18:00:00Z"},
		{"2026-12-24T18:00:00.25+05:30", "2026-12-24T12:30:00.25Z"},
		{"2026-12-24T18:00:05", "2026-12-24T17:00:05Z"},
		{"2026-12-24 18:00", "2026-12-24T17:00:00Z"},
		{"2026-12-24", "2026-12-23T23:00:00Z"},
		{"2026-12-24 18:00:00 UTC", "2026-12-24T18:00:00Z"},
		{"2026-12-24 18:00 UTC", "2026-12-24T18:00:00Z"},
		{"2026-12-24 UTC", ""},
		{"2026-12-24 18:00:00 CET", "2026-12-24T17:00:00Z"},
		{"2026-10-25 02:30", "2026-10-25T00:30:00Z"}, // shown twice: the first
		{"2026-10-25 02:30:00 CEST", "2026-10-25T00:30:00Z"},
		{"2026-10-25 02:30:00 CET", "2026-10-25T01:30:00Z"},
		{"2026-12-24 18:00:00 PST", ""},
		{"2026-12-24 18:00:00 Noon", ""},
		{"2026-12-32", ""},
		{"18:00", ""},
		{"tomorrow", ""},
		{"", ""},
	} {
		got, ok := cron.ReadTime(c.text, paris)
		if ok != (c.want != "") || ok && got.UTC().Format(time.RFC3339Nano) != c.want {
			t.Errorf("%q is %s, %v; want %s", c.text, got.UTC().Format(time.RFC3339Nano), ok, c.want)
		}
	}
}

func ExampleReadTime() {
	sofia, _ := cron.LoadZone("Europe/Sofia")
	for _, text := range []string{"2026-12-24 18:00", "2026-12-24 18:00:00 UTC"} {
		if t, ok := cron.ReadTime(text, sofia); ok {
			fmt.Println(t.UTC())
		}
	}
	// Output:
	// 2026-12-24 16:00:00 +0000 UTC
	// 2026-12-24 18:00:00 +0000 UTC
}
