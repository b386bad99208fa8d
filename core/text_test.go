package core

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDurationsAsText(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, row := range []struct {
		text string
		want time.Duration
		back string
	}{
		{"90s", 90 * time.Second, "1m30s"},
		{"5m", 5 * time.Minute, "5m"},
		{"1h30m", 90 * time.Minute, "1h30m"},
		{"10m0s", 10 * time.Minute, "10m"},
		{"10h", 10 * time.Hour, "10h"},
		{"100h", 100 * time.Hour, "100h"},
		{"24h", day, "1d"},
		{"25h", 25 * time.Hour, "25h"},
		{"7d", 7 * day, "7d"},
		{"2w", 14 * day, "14d"},
		{"1w2d", 9 * day, "9d"},
		{"1d12h", 36 * time.Hour, "36h"},
		{"1w1d1h1m1s", 8*day + time.Hour + time.Minute + time.Second, "193h1m1s"},
		{" 7d ", 7 * day, "7d"},
		{"0d", 0, "0s"},
		{"0", 0, "0s"},
		{"0s", 0, "0s"},
		{"-5m", -5 * time.Minute, "-5m"},
		{"-24h", -day, "-24h"},
		{"1.5h", 90 * time.Minute, "1h30m"},
		{"250ms", 250 * time.Millisecond, "250ms"},
		{"10us", 10 * time.Microsecond, "10µs"},
		{"106751d", 106_751 * day, "106751d"},
	} {
		d, err := ParseDuration(row.text)
		if err != nil || d.D() != row.want || d.String() != row.back {
			t.Errorf("%q is %s (%v), want %s written as %s", row.text, d, err, row.want, row.back)
		}
	}
}

func TestTextsThatAreNotDurations(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"5":                     `write "5s" or "5m"`,
		"1.5":                   `write "1.5s" or "1.5m"`,
		"":                      "such as 90s, 1h30m or 7d",
		"   ":                   "such as",
		"d":                     "such as",
		"w":                     "such as",
		"-1d":                   "such as",
		"1d-1h":                 "such as",
		"1.5d":                  "such as",
		"2d1w":                  "such as",
		"1d1d":                  "such as",
		"1d 1h":                 "such as",
		"soon":                  "such as",
		"1y":                    "such as",
		"3mo":                   "such as",
		"15251w":                "longer than the 106751 days",
		"65535w":                "longer than the 106751 days",
		"106752d":               "longer than the 106751 days",
		"15250w800h":            "longer than the 106751 days",
		"9999999999w":           "longer than the 106751 days",
		"99999999999999999999d": "longer than the 106751 days",
		"2562048h":              "longer than the 106751 days",
		"1d2562047.9h":          "longer than the 106751 days",
		"-2562048h":             "such as",
	} {
		if d, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %s (%v), want an error that says %s", text, d, err, says)
		}
	}
}

func TestDurationsInJSON(t *testing.T) {
	t.Parallel()
	var v struct{ D Duration }
	if err := json.Unmarshal([]byte(`{"D":"2w"}`), &v); err != nil || v.D != span("14d") {
		t.Error(v, err)
	}
	if b, err := json.Marshal(v); err != nil || string(b) != `{"D":"14d"}` {
		t.Error(string(b), err)
	}
	for _, bad := range []string{`{"D":"5"}`, `{"D":5}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is a duration", bad)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"90s", "1h30m", "7d", "2w", "1w2d3h", "5", "", " ", "-5m", "65535w", "106751d23h47m16.854775807s", "0.5h", "1d\x00"} {
		f.Add(text, int64(len(text))*int64(time.Hour))
	}
	f.Add("x", int64(math.MinInt64))
	f.Add("x", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		for _, d := range []Duration{Duration(n), parsedOr0(text)} {
			back, err := ParseDuration(d.String())
			if err != nil || back != d {
				t.Errorf("%d is written as %q and read as %d (%v)", d, d.String(), back, err)
			}
		}
		if d := parsedOr0(text); d < 0 && !strings.HasPrefix(text, "-") {
			t.Errorf("%q is %s", text, d)
		}
	})
}

// Words and bare numbers have their own hints.
func TestHintsOfDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5 minutes": `"5 minutes" is not a duration, write "5m"`,
		" 2 DAYS ":  `" 2 DAYS " is not a duration, write "2d"`,
		"3weeks":    `"3weeks" is not a duration, write "3w"`,
		"1hr":       `"1hr" is not a duration, write "1h"`,
		"10sec":     `"10sec" is not a duration, write "10s"`,
		"1e3":       `"1e3" has no unit, write "1e3s" or "1e3m"`,
		"nan":       `"nan" has no unit, write "nans" or "nanm"`,
		"0x1dp0":    `"0x1dp0" has no unit, write "0x1dp0s" or "0x1dp0m"`,
		"1 2 days":  `"1 2 days" is not a duration such as 90s, 1h30m or 7d`,
	} {
		if d, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q is %s (%v), want %s", text, d, err, want)
		}
	}
}

func BenchmarkParseDuration(b *testing.B) {
	for _, text := range []string{"90s", "1h30m", "7d", "soon"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				_, _ = ParseDuration(text)
			}
		})
	}
}

func parsedOr0(text string) Duration {
	d, err := ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"plain", 10, "plain", false},
		{"plain", 5, "plain", false},
		{"plain", 4, "plai", true},
		{"plain", 0, "", true},
		{"", 0, "", false},
		{"a\x00b\x00", 10, "ab", false},
		{"a\x00b", 2, "ab", false},
		{"a\xffb", 10, "a\uFFFDb", false},
		{"a\xff\xfeb", 10, "a\uFFFDb", false},
		{"жж", 3, "ж", true},
		{"жж", 1, "", true},
		{"a😀", 4, "a", true},
		{"a\xff", 2, "a", true},
	} {
		if got, cut := CleanText(row.text, row.limit); got != row.want || cut != row.cut {
			t.Errorf("%q to %d is %q, cut %t", row.text, row.limit, got, cut)
		}
	}
}

func FuzzCleanText(f *testing.F) {
	f.Add("plain", uint16(3))
	f.Add("a\x00b\xff\xfe", uint16(4))
	f.Add("жж😀", uint16(5))
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		got, cut := CleanText(text, int(limit))
		switch {
		case len(got) > int(limit):
			t.Errorf("%d bytes of %d", len(got), limit)
		case !utf8.ValidString(got) || strings.ContainsRune(got, 0):
			t.Errorf("%q is not clean", got)
		case utf8.ValidString(text) && !strings.ContainsRune(text, 0) && !strings.HasPrefix(text, got):
			t.Errorf("%q is no part of %q", got, text)
		case !cut && utf8.ValidString(text) && strings.ReplaceAll(text, "\x00", "") != got:
			t.Errorf("%q lost something", text)
		case cut && len(got)+utf8.UTFMax <= int(limit):
			t.Errorf("cut to %d bytes, %d were allowed", len(got), limit)
		}
		if again, cut := CleanText(got, int(limit)); again != got || cut {
			t.Errorf("%q is cleaned again to %q", got, again)
		}
	})
}

func TestSpansForPeople(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"}, {999, "0 s"}, {42 * time.Microsecond, "42 µs"}, {time.Millisecond, "1.0 ms"}, {99_999 * time.Microsecond, "99.9 ms"}, {999_999 * time.Microsecond, "999 ms"},
		{time.Second, "1 s"}, {2500 * time.Millisecond, "2.5 s"}, {9_999 * time.Millisecond, "9.9 s"}, {59_999 * time.Millisecond, "59 s"}, {time.Minute, "1 min"},
		{90 * time.Second, "1 min 30 s"}, {time.Hour + time.Second, "1 h"}, {26*time.Hour + 59*time.Minute, "1 d 2 h"}, {48*time.Hour + 59*time.Minute, "2 d"},
		{-90 * time.Second, "−1 min 30 s"}, {math.MinInt64, "−106751 d 23 h"},
	} {
		if got := SpanText(row.d); got != row.want {
			t.Errorf("%d ns is %q, want %q", row.d, got, row.want)
		}
	}
}
