package delivery

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// However output is written and taken, its pieces together are the text, each piece
// is valid, and their numbers grow by one.
func TestPiecesTogetherAreTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ship := NewShipper(nil, nil)
		var l Log
		l.Open(ship, "s", job.Ref{}, 1<<20)
		written := ""
		var pieces []job.LogPiece
		take := func() {
			p, size := l.take()
			pieces = append(pieces, p...)
			l.sent(size, true)
		}
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			part := rapid.SampledFrom([]string{"", "a", "line\n", "\x00", "\xff", "é", "\xe2\x82", "\xac", "€", strings.Repeat("ab€\n", 20_000), strings.Repeat("\xff-", 9_000)}).Draw(t, "part")
			l.write(job.Stdout, []byte(part))
			written += part
			if l.unsent > 100_000 || rapid.Bool().Draw(t, "take") {
				take()
			}
		}
		l.Close()
		take()
		got := ""
		for i, p := range pieces {
			if p.Seq != i || p.Text == "" || len(p.Text) > job.MaxLogPiece {
				t.Fatalf("piece %d has number %d and %d bytes", i, p.Seq, len(p.Text))
			}
			got += p.Text
		}
		// Cleaning in parts gives more replacement characters for consecutive
		// invalid bytes than cleaning at once; otherwise it is the same.
		once, _ := core.CleanText(written, 4*len(written)+4)
		if squeeze(got) != squeeze(once) {
			t.Fatalf("got %d bytes, want %d", len(got), len(once))
		}
		if l.unsent != 0 {
			t.Fatalf("%d bytes are unsent", l.unsent)
		}
	})
}

func squeeze(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
