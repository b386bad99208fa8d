// Package textdiff compares two texts: it finds added and removed lines, and the
// changed words inside lines.
//
// Only the size of the texts bounds the work. Lines that occur once in each text
// are anchors of the comparison. Between anchors, a search of bounded depth finds
// the changes. So the result does not depend on the speed of the machine, and
// texts without common lines cost no more than others. An incomplete result has
// Truncated set; its counts of lines still hold for the whole texts.
package textdiff

import "strings"

// Options of a comparison. The zero value suits pages.
type Options struct {
	// Context is the number of lines shown around a change. Default: 3;
	// negative: none.
	Context int
	// MaxHunks is the most hunks that are kept. Default: 200.
	MaxHunks int
	// MaxBytes is the most text in the hunks. Default: 512 KiB.
	MaxBytes int
	// MaxInput is the largest size of both texts together. The lines of larger
	// texts are only counted. Default: 4 MiB.
	MaxInput int
	// MaxLine is the longest line. Of longer lines, the parts around their changes
	// are kept. Default: 4 KiB.
	MaxLine int
}

func (o Options) withDefaults() Options {
	o.Context = max(0, or(o.Context, 3))
	o.MaxHunks = or(o.MaxHunks, 200)
	o.MaxBytes = or(o.MaxBytes, 512<<10)
	o.MaxInput = or(o.MaxInput, 4<<20)
	o.MaxLine = or(o.MaxLine, 4<<10)
	return o
}

func or(given, fallback int) int {
	if given == 0 {
		return fallback
	}
	return given
}

// Op is the change of a line.
type Op string

// The operations.
const (
	Same    Op = "same"
	Added   Op = "added"
	Removed Op = "removed"
)

// Result is the difference between two texts.
type Result struct {
	Hunks     []Hunk `json:"hunks,omitempty"`
	Added     int    `json:"added" doc:"Lines that came"`
	Removed   int    `json:"removed" doc:"Lines that went; a changed line went and came"`
	Truncated bool   `json:"truncated,omitempty" doc:"The texts are too large or too different to show all"`
}

// Hunk is a place where the texts differ, with the lines around it.
type Hunk struct {
	Before int    `json:"before" doc:"Number of its first line in the text before, from 1"`
	After  int    `json:"after" doc:"Number of its first line in the text after, from 1"`
	Lines  []Line `json:"lines"`
}

// Line is one line of a hunk.
type Line struct {
	Op    Op     `json:"op" enum:"same,added,removed"`
	Text  string `json:"text"`
	Parts []Part `json:"parts,omitempty" doc:"The text in parts, where only some of it changed"`
}

// Part is a piece of a line.
type Part struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed,omitempty"`
}

// Diff compares two texts.
func Diff(before, after string, o Options) Result {
	o = o.withDefaults()
	if before == after {
		return Result{}
	}
	a, b := lines(before), lines(after)
	if len(before)+len(after) > o.MaxInput {
		r := count(a, b)
		r.Truncated = true
		return r
	}
	changes := compare(a, b)
	var r Result
	for _, c := range changes {
		r.Removed += c.aEnd - c.a
		r.Added += c.bEnd - c.b
	}
	build(&r, a, b, changes, o)
	return r
}

// lines splits a text so that joining the lines restores it. Only the empty text has
// no lines.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// count returns the numbers of added and removed lines, independent of their order.
func count(a, b []string) (r Result) {
	times := make(map[string]int, len(a))
	for _, line := range a {
		times[line]++
	}
	r.Removed = len(a)
	for _, line := range b {
		if times[line] > 0 {
			times[line]--
			r.Removed--
		} else {
			r.Added++
		}
	}
	return r
}

// build makes hunks of changes. Changes whose context would touch share one.
func build(r *Result, a, b []string, changes []change, o Options) {
	room := o.MaxBytes
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].a-changes[n-1].aEnd <= 2*o.Context {
			n++
		}
		h, used, short := hunk(a, b, changes[:n], o)
		if len(r.Hunks) >= o.MaxHunks || used > room {
			r.Truncated = true
			return
		}
		room -= used
		r.Truncated = r.Truncated || short
		r.Hunks = append(r.Hunks, h)
		changes = changes[n:]
	}
}

// hunk makes a hunk, and returns its size in bytes and whether lines were shortened.
func hunk(a, b []string, changes []change, o Options) (h Hunk, used int, short bool) {
	at := max(0, changes[0].a-o.Context)
	last := changes[len(changes)-1]
	h.Before, h.After = at+1, changes[0].b-(changes[0].a-at)+1
	add := func(ls ...Line) {
		for _, l := range ls {
			l, cut := l.within(o.MaxLine)
			short = short || cut
			used += 2 * len(l.Text) // once in the line, once in its parts
			h.Lines = append(h.Lines, l)
		}
	}
	for _, c := range changes {
		for ; at < c.a; at++ {
			add(Line{Op: Same, Text: a[at]})
		}
		add(changedLines(a[c.a:c.aEnd], b[c.b:c.bEnd])...)
		at = c.aEnd
	}
	for ; at < min(len(a), last.aEnd+o.Context); at++ {
		add(Line{Op: Same, Text: a[at]})
	}
	return h, used, short
}
