package parts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
)

// Pretty is JSON with a line for each value.
func Pretty(raw json.RawMessage) string {
	return plainjson.Indent(raw)
}

// FirstLine is the first line of a text that says something.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// firstLineShort is that of an error, cut for a table.
func firstLineShort(text string) string { return Short(160, FirstLine(text)) }

// capital is a word with a capital.
func capital(word any) string { return SentenceCase(fmt.Sprint(word)) }

// YesNo is one of two words.
func YesNo(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// SentenceCase is a word with a capital.
func SentenceCase(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Plural is a number of things.
func Plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return NumberText(n) + " " + several
}

// JSONText is plain data as JSON.
func JSONText(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		return "{}" // it is not plain
	}
	return string(text)
}

// NumberText writes a whole number with thin spaces between thousands.
func NumberText[T ~int | ~int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}

// CountText writes a number that was counted up to core.CountLimit.
func CountText(n int) string {
	if n > core.CountLimit {
		return "over " + NumberText(core.CountLimit)
	}
	return NumberText(n)
}

// PercentText writes a ratio, and never rounds up to all.
func PercentText(ratio float64) string {
	switch {
	case ratio >= 1:
		return "100 %"
	case ratio > 0.999:
		return "99.9 %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(ratio*100, 'f', 1, 64), ".0") + " %"
}

// LatencyText writes a short length of time with three digits.
func LatencyText[D ~int64](length D) string {
	d := time.Duration(length)
	if d >= time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return core.SpanText(d)
}

// Words writes a code for people, with spaces.
func Words(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

// Short cuts a text for a table.
func Short(n int, text string) string {
	cut, was := core.CleanText(text, n)
	if was && len(text) > n {
		return cut + "…"
	}
	return cut
}

// Assignments are names with their values, in the order of the names.
func Assignments(values map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, name+"="+values[name])
	}
	return all
}

// Lines splits a text into its lines.
func Lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			all = append(all, line)
		}
	}
	return all
}
