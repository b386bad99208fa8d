package task

import (
	"strings"
	"testing"
)

func TestStatusRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]StatusRange{"204": {204, 204}, "200-299": {200, 299}, "100-599": {100, 599}, "200-200": {200, 200}} {
		got, err := ParseStatusRanges([]string{text})
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "2xx", "99", "600", "299-200", "200-", "-200", "200-250-299", "+200", "200-+299", " 200", "0200", "100-600"} {
		if got, err := ParseStatusRanges([]string{"204", text}); err == nil || !strings.Contains(err.Error(), "is not a status code or range") {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
}

func FuzzParseStatusRanges(f *testing.F) {
	for _, text := range []string{"200", "200-299", "2xx", "-", "299-200", "+200", "٢٠٠"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseStatusRanges([]string{text})
		if err != nil {
			return
		}
		if len(got) != 1 || got[0].From < 100 || got[0].To > 599 || got[0].From > got[0].To {
			t.Errorf("%q is %v", text, got)
		}
		if strings.Trim(text, "0123456789-") != "" {
			t.Errorf("%q passes as %v", text, got)
		}
	})
}
