package config

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/nearest"
)

// Place is where something stands in a text. Lines and columns count from 1.
type Place struct {
	File         string
	Line, Column int
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Fault is one thing that is wrong, where it stands, and the lines around it.
type Fault struct {
	Place   Place
	Excerpt string
	core.FieldError
}

// maxFaults bounds how many faults of one input are told.
const maxFaults = 20

// FileError is everything that is wrong with what was read from files. In an
// error chain it also is a [core.Error] with code invalid.
type FileError struct {
	What   string // such as "manifest"
	Faults []Fault
	More   int // faults that are not told
}

func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.What + " is not valid")
	for i, f := range e.Faults {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		if f.Place.File != "" {
			b.WriteString(f.Place.String() + ": ")
		}
		b.WriteString(f.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Unwrap makes the code and the fields visible to [core.CodeOf].
func (e *FileError) Unwrap() error {
	be := &core.Error{Code: core.Invalid, Message: e.What + " is not valid"}
	for _, f := range e.Faults {
		fe := f.FieldError
		if f.Place.File != "" {
			fe.Field = strings.TrimSpace(f.Place.String() + " " + fe.Field)
		}
		be.Fields = append(be.Fields, fe)
	}
	return be
}

// faults collects what is wrong with one input.
type faults struct {
	list []Fault
	more int
}

func (fs *faults) add(f Fault) {
	if fs.full() {
		fs.more++
		return
	}
	fs.list = append(fs.list, f)
}

// full reports that one more is counted and not shown. It needs no excerpt, for which the whole file is looked through.
func (fs *faults) full() bool { return len(fs.list) >= maxFaults }

func (fs *faults) err(what string) error {
	if len(fs.list) == 0 {
		return nil
	}
	return &FileError{What: what, Faults: fs.list, More: fs.more}
}

// excerpt is the line of a place with two lines before and one after it, and a
// caret under the column.
func excerpt(text string, at Place) string {
	lines := strings.Split(text, "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	var b strings.Builder
	for n := max(1, at.Line-2); n <= min(len(lines), at.Line+1); n++ {
		line := strings.TrimRight(lines[n-1], " \t\r")
		if n > at.Line && line == "" {
			continue
		}
		mark := " "
		if n == at.Line {
			mark = ">"
		}
		fmt.Fprintf(&b, "%s %4d | %s\n", mark, n, shorten(line))
		if n == at.Line {
			fmt.Fprintf(&b, "       | %s^\n", pad(line, at.Column-1))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// hidden is the secrets of what was read. The lines around a fault go to logs
// of builds, where they do not belong.
type hidden struct{ lines []string }

// leastHidden is the shortest text that is hidden, in bytes. Shorter ones are no
// secrets, and stand in many a word.
const leastHidden = 4

func (h *hidden) add(secret string) {
	if secret == string(core.Redacted) {
		return
	}
	for line := range strings.Lines(secret) { // a key is one of several
		if line = strings.TrimSpace(line); len(line) >= leastHidden {
			h.lines = append(h.lines, line)
		}
	}
}

// mask takes the secrets out of what is shown of faults.
func (h *hidden) mask(faults []Fault) {
	if len(h.lines) == 0 || len(faults) == 0 {
		return
	}
	for i := range faults {
		for _, line := range h.lines {
			faults[i].Excerpt = strings.ReplaceAll(faults[i].Excerpt, line, "***")
		}
	}
}

// pad is as wide as the first n characters of line, tabs kept.
func pad(line string, n int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= min(n, maxShown) {
			break
		}
		if r == '\t' {
			b.WriteRune('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// maxShown bounds a line of an excerpt, in characters.
const maxShown = 160

func shorten(line string) string {
	if r := []rune(line); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return line
}

// Suggest is the known word that was probably meant by an unknown one, or
// empty when none is near.
func Suggest(word string, known []string) string { return nearest.Of(word, known) }
