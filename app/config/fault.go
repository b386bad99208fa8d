package config

import (
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/nearest"
)

// Place is a position in a text. Lines and columns count from 1.
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

// Fault is a fault with its place and the lines around it.
type Fault struct {
	Place   Place
	Excerpt string
	core.FieldError
}

// maxFaults limits how many faults of one input are reported.
const maxFaults = 20

// FileError holds all faults of an input. In an error chain it is also a
// [core.Error] with code invalid.
type FileError struct {
	What   string // such as "manifest"
	Faults []Fault
	More   int // number of faults that are not listed
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

// faults collects the faults of one input.
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

// full reports whether further faults are only counted. They need no excerpt, which would cost a search of the whole file.
func (fs *faults) full() bool { return len(fs.list) >= maxFaults }

func (fs *faults) err(what string) error {
	if len(fs.list) == 0 {
		return nil
	}
	return &FileError{What: what, Faults: fs.list, More: fs.more}
}

// excerpt returns the line of a place with two lines before and one after, and a
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

// hidden collects the secrets of an input. They must not appear in the lines
// around a fault, which end up in logs of builds.
type hidden struct{ lines []string }

// leastHidden is the minimum length of hidden texts, in bytes. Shorter ones are
// not secrets, and are parts of many words.
const leastHidden = 4

func (h *hidden) add(secret string) {
	if secret == string(core.Redacted) {
		return
	}
	for line := range strings.Lines(secret) { // a private key has several lines
		if line = strings.TrimSpace(line); len(line) >= leastHidden {
			h.lines = append(h.lines, line)
		}
	}
}

// mask hides the secrets in the texts of faults.
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

// pad returns blanks as wide as the first n characters of line; it keeps tabs.
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

// maxShown limits a line of an excerpt, in characters.
const maxShown = 160

func shorten(line string) string {
	if r := []rune(line); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return line
}

// Suggest returns the known word that is most similar to an unknown one, or ""
// if none is near.
func Suggest(word string, known []string) string { return nearest.Of(word, known) }
