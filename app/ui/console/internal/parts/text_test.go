package parts

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{NumberText(0), "0"}, {NumberText(-1234), "−1\u202f234"}, {NumberText(1000000), "1\u202f000\u202f000"},
		{CountText(10_001), "over 10\u202f000"},
		{PercentText(0.99999), "99.9 %"}, {PercentText(1), "100 %"}, {PercentText(0.5), "50 %"},
		{core.SpanText(90 * time.Second), "1 min 30 s"}, {core.SpanText(26 * time.Hour), "1 d 2 h"}, {core.SpanText(time.Millisecond), "1.0 ms"}, {core.SpanText(2500 * time.Millisecond), "2.5 s"},
		{LatencyText(42 * time.Microsecond), "42 µs"}, {LatencyText(1234 * time.Millisecond), "1.23 s"},
		{Quote("it's"), `'it'\''s'`}, {Quote("a-b_c.d"), "a-b_c.d"}, {Quote(""), "''"}, {Quote("$(x)"), "'$(x)'"},
		{sentence("a thing"), "A thing."}, {Short(3, "abcdef"), "abc…"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
