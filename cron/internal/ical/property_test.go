package ical

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestUnfold(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"lines":                          {"A:1\r\nB:2\n", []string{"A:1", "B:2"}},
		"empty lines":                    {"\r\n\nA:1\n\r\n\nB:2\n \n", []string{"A:1", "B:2"}},
		"blanks around a line":           {"  A:1 \t\nB:2", []string{"A:1", "B:2"}},
		"a fold":                         {"SUMMARY:New\r\n Year", []string{"SUMMARY:NewYear"}},
		"a fold by a tab":                {"SUMMARY:New\r\n\tYear", []string{"SUMMARY:NewYear"}},
		"a fold behind a blank":          {"SUMMARY:New \r\n Year", []string{"SUMMARY:New Year"}},
		"a fold before a blank":          {"SUMMARY:New\r\n  Year", []string{"SUMMARY:New Year"}},
		"a fold in a fold":               {"SUMMARY:N\r\n e\r\n w\r\nB:2", []string{"SUMMARY:New", "B:2"}},
		"a fold over an empty line":      {"SUMMARY:New\r\n\r\n Year", []string{"SUMMARY:NewYear"}},
		"a fold of no line":              {" A:1\n B", []string{"A:1B"}},
		"a line of blanks is a fold":     {"A:1\n   \n 2", []string{"A:1  2"}},
		"blanks alone are no line":       {"  \n\t\n", nil},
		"a break in a character (UTF-8)": {"SUMMARY:caf\xc3\r\n \xa9", []string{"SUMMARY:café"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unfold(test.text); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheCostOfUnfoldingIsLinear(t *testing.T) {
	const folds = 50_000
	text := "SUMMARY:" + strings.Repeat("\r\n a", folds)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := Unfold(text)
	runtime.ReadMemStats(&after)
	if len(lines) != 1 || lines[0] != "SUMMARY:"+strings.Repeat("a", folds) {
		t.Errorf("%d lines", len(lines))
	}
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(text)); took > most {
		t.Errorf("%d bytes were allocated for a text of %d bytes, want at most %d", took, len(text), most)
	}
}
