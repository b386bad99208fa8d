package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// percent writes a ratio with as many decimals as matter: more, the nearer it
// is to all. It never rounds up, so 100% means all of the time.
func percent(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || ratio <= 0:
		return "0%"
	case ratio >= 1:
		return "100%"
	case ratio < 0.001:
		return "< 0.1%"
	}
	decimals := 1
	if ratio >= 0.99 {
		decimals = 2
	}
	if ratio >= 0.999 {
		decimals = 3
	}
	scale := math.Pow10(decimals)
	// A whole number but for the last bits of a float stays one; a value
	// under 1 by however little does not become 100.
	floored := min(math.Floor(ratio*100*scale+1e-7), 100*scale-1) / scale
	text := strconv.FormatFloat(floored, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

// moment is a time for a time element.
type moment struct{ time.Time }

// Until is the text of a time that follows in the same sentence.
func (m moment) Until(end moment) string {
	if m.Date() == end.Date() {
		return end.UTC().Format("15:04 UTC")
	}
	return end.Text()
}

func (m moment) Attr() string { return m.UTC().Format(time.RFC3339) }
func (m moment) Text() string { return m.UTC().Format("2 Jan 2006, 15:04 UTC") }
func (m moment) Day() string  { return m.UTC().Format("2 Jan 2006") }
func (m moment) Date() string { return m.UTC().Format(time.DateOnly) }
