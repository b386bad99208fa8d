package monitors

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
)

func TestPercentNeverRoundsToWhole(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{1: "100%", 0: "0%", 0.5: "50%", 0.9999999: "99.999%", 0.000009: "<0.001%", 0.00001: "0.001%", 0.99987: "99.987%", 0.123456: "12.345%", 0.29: "29%"} {
		if got := percent(ratio); got != want {
			t.Errorf("%v: got %s, want %s", ratio, got, want)
		}
	}
}

func TestADiffOfTheOnlyVersionSaysSo(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	v := monitor.PageVersion{Seq: 1, At: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
	drawPageDiff(&cli.CLI{Stderr: &said}, io.Discard, wire.PageDiff{From: v, To: v})
	if want := "version 1 was first seen at 2026-03-02 10:00:00 UTC; with no other there is nothing to compare\n"; said.String() != want {
		t.Errorf("got %q", said.String())
	}
}
