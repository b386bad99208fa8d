package console

import (
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{numberText(0), "0"}, {numberText(-1234), "−1\u202f234"}, {numberText(1000000), "1\u202f000\u202f000"},
		{countText(10_001), "over 10\u202f000"},
		{percentText(0.99999), "99.9 %"}, {percentText(1), "100 %"}, {percentText(0.5), "50 %"},
		{spanText(90 * time.Second), "1 min 30 s"}, {spanText(26 * time.Hour), "1 d 2 h"}, {spanText(time.Millisecond), "1.0 ms"}, {spanText(2500 * time.Millisecond), "2.5 s"},
		{latencyText(42 * time.Microsecond), "42 µs"}, {latencyText(1234 * time.Millisecond), "1.23 s"},
		{quote("it's"), `'it'\''s'`}, {quote("a-b_c.d"), "a-b_c.d"}, {quote(""), "''"}, {quote("$(x)"), "'$(x)'"},
		{sentence("a thing"), "A thing."}, {short(3, "abcdef"), "abc…"},
		{localPath("/a?b=c"), "/a?b=c"}, {localPath("//a"), "/"}, {localPath("/\\a"), "/"}, {localPath(""), "/"}, {localPath("/\t/a"), "/"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestSealedSecretsOpenWithTheirKeyAlone(t *testing.T) {
	a, b := newKey(), newKey()
	for _, want := range []sealed{{Secret: "belfry_secret"}, {Secret: "belfry_secret", Own: 7}} {
		box, err := a.seal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.open(box); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := b.open(box); err == nil {
			t.Errorf("another key opened it: %+v", got)
		}
		box[len(box)-1]++
		if got, err := a.open(box); err == nil {
			t.Errorf("opened what was changed: %+v", got)
		}
	}
}
