package delivery

import (
	"strings"
	"testing"
)

func TestTheEndOfALogIsKept(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("0123456789abcde\n", 256) // 4 KiB
	for _, c := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing", nil, ""},
		{"all of little", []string{"a\n", "b"}, "a\nb"},
		{"all that fits", []string{full}, full},
		{"whole lines of more", []string{"x", full}, full[16:]},
		{"in one write", []string{strings.Repeat(full, 10)}, full[16:]},
		{"in many", strings.SplitAfter(strings.Repeat(full, 5), "e"), full[16:]},
		{"the end of a long line", []string{strings.Repeat("x", 10_000)}, strings.Repeat("x", 4096)},
		{"the end of a long line that ends", []string{strings.Repeat("x", 10_000), "\n"}, strings.Repeat("x", 4095) + "\n"},
		{"whole characters", []string{strings.Repeat("é", 5_000), "x"}, strings.Repeat("é", 2047) + "x"},
	} {
		var e tail
		all := 0
		for _, w := range c.writes {
			e.write([]byte(w))
			all += len(w)
		}
		if got := string(e.text()); got != c.want || e.all != all || cap(e.last) > 1<<15 {
			t.Errorf("%s: %d bytes that begin with %.20q, want %d that begin with %.20q; %d of %d, %d held", c.name, len(got), got, len(c.want), c.want, e.all, all, cap(e.last))
		}
	}
}
