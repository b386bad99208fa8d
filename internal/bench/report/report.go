//go:build linux

// Package report holds the figures of a measurement: quantiles of durations, the spread over rounds, units, and the table
// that shows them.
package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Unit is the format of a figure. It uses the last of its steps that the median reaches.
type Unit []step

type step struct {
	from, per float64
	suffix    string
}

// The units. Time is in nanoseconds.
var (
	Plain   = Unit{{0, 1, ""}}
	Rate    = Unit{{0, 1, "/s"}}
	Percent = Unit{{0, 0.01, " %"}}
	Bytes   = Unit{{0, 1, " B"}, {10 << 10, 1 << 10, " KiB"}, {10 << 20, 1 << 20, " MiB"}, {10 << 30, 1 << 30, " GiB"}}
	Time    = Unit{{0, 1e3, " us"}, {1e6, 1e6, " ms"}, {1e9, 1e9, " s"}}
)

func (u Unit) stepFor(v float64) step {
	s := u[0]
	for _, next := range u[1:] {
		if v >= next.from {
			s = next
		}
	}
	return s
}

// Text returns a median with its unit, and the spread if there were several rounds.
func (u Unit) Text(s Spread) string {
	median, spread := u.parts(s)
	return median + spread
}

func (u Unit) parts(s Spread) (median, spread string) {
	at := u.stepFor(s.Median)
	if s.Rounds > 1 {
		spread = " (" + digits(s.Least/at.per) + "-" + digits(s.Most/at.per) + ")"
	}
	return digits(s.Median/at.per) + at.suffix, spread
}

// digits writes three significant digits, or all before the point.
func digits(v float64) string {
	switch {
	case v >= 99.95 || v <= -99.95:
		return Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.0995 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Thousands puts commas into a number.
func Thousands(n string) string {
	sign, n := n[:len(n)-len(strings.TrimLeft(n, "-"))], strings.TrimLeft(n, "-")
	for i := len(n) - 3; i > 0; i -= 3 {
		n = n[:i] + "," + n[i:]
	}
	return sign + n
}

// Report is a table that grows: a row for each measure, a column for each database.
type Report struct {
	columns []string
	rows    []*row
	last    int // the row that was changed last: a new row comes after it
}

type row struct {
	name  string
	unit  Unit
	cells map[string]*cell
}

// cell has the figures of the rounds. A compared figure has a base for each.
type cell struct{ values, bases []float64 }

// Add adds the figure of one round.
func (r *Report) Add(column, name string, unit Unit, v float64) {
	c := r.cell(column, name, unit)
	c.values = append(c.values, v)
}

// Compare adds a figure of one round and its base.
func (r *Report) Compare(column, name string, unit Unit, v, base float64) {
	c := r.cell(column, name, unit)
	c.values, c.bases = append(c.values, v), append(c.bases, base)
}

func (r *Report) cell(column, name string, unit Unit) *cell {
	if !slices.Contains(r.columns, column) {
		r.columns = append(r.columns, column)
	}
	i := slices.IndexFunc(r.rows, func(l *row) bool { return l.name == name })
	if i < 0 {
		i = min(r.last+1, len(r.rows))
		r.rows = slices.Insert(r.rows, i, &row{name, unit, map[string]*cell{}})
	}
	r.last = i
	c := r.rows[i].cells[column]
	if c == nil {
		c = &cell{}
		r.rows[i].cells[column] = c
	}
	return c
}

func (c *cell) text(u Unit) string {
	if c == nil {
		return ""
	}
	if len(c.bases) == 0 {
		return u.Text(SpreadOf(c.values))
	}
	ratios := make([]float64, 0, len(c.values))
	for i, v := range c.values {
		if c.bases[i] != 0 {
			ratios = append(ratios, v/c.bases[i])
		}
	}
	if len(ratios) == 0 {
		return "no base"
	}
	ratio, spread := Plain.parts(SpreadOf(ratios))
	value, _ := u.parts(SpreadOf(c.values))
	base, _ := u.parts(SpreadOf(c.bases))
	return "**" + ratio + "**" + spread + ": " + value + " to " + base
}

// Markdown writes the table.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| measure | %s |\n|---|%s\n", strings.Join(r.columns, " | "), strings.Repeat("--:|", len(r.columns)))
	for _, line := range r.rows {
		b.WriteString("| " + line.name)
		for _, column := range r.columns {
			b.WriteString(" | " + line.cells[column].text(line.unit))
		}
		b.WriteString(" |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
