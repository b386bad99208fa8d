package textdiff

import (
	"fmt"
	"strings"
)

// Unified returns the result for messages in the format of diff -u: at most so many
// hunks, and a line about missing ones. Zero or less means all hunks.
func (r Result) Unified(maxHunks int) string {
	shown := r.Hunks
	if maxHunks > 0 && len(shown) > maxHunks {
		shown = shown[:maxHunks]
	}
	var b strings.Builder
	added, removed := 0, 0
	for _, h := range shown {
		before, after := h.count()
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.Before, before), span(h.After, after))
		for _, l := range h.Lines {
			b.WriteString(sign(l.Op) + l.Text + "\n")
			switch l.Op {
			case Added:
				added++
			case Removed:
				removed++
			}
		}
	}
	if added != r.Added || removed != r.Removed {
		fmt.Fprintf(&b, "… %s%d lines added, %d removed\n", more(len(shown)), r.Added-added, r.Removed-removed)
	}
	return b.String()
}

func more(shown int) string {
	if shown == 0 {
		return ""
	}
	return "and more: "
}

func sign(op Op) string {
	switch op {
	case Added:
		return "+"
	case Removed:
		return "-"
	}
	return " "
}

func (h Hunk) count() (before, after int) {
	for _, l := range h.Lines {
		if l.Op != Added {
			before++
		}
		if l.Op != Removed {
			after++
		}
	}
	return before, after
}

// span writes a range of lines as diff -u does: an empty range has the number of the line before.
func span(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}
