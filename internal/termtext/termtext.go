// Package termtext makes the text of strangers fit for a terminal. Logs, errors
// and names may hold escape sequences that set the title, move the cursor, fill
// the clipboard or ask the terminal to answer into the shell's input.
package termtext

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Writer passes on printable text, line feeds, tabs, and the sequences that set
// colours (SGR). It drops all other control characters and sequences, shows
// characters that change the direction of text as <U+202E>, and writes a carriage
// return that no line feed follows as a line feed, so that no text covers what
// stands before it. Sequences and characters may be cut between two writes.
type Writer struct {
	W io.Writer

	state state
	held  []byte // of a sequence or a character that has begun
	cr    bool   // the last was a carriage return
}

type state int

const (
	plain   state = iota
	escape        // after ESC
	control       // after ESC [
	text          // after ESC ] and others that take a text, to its end
	textEsc       // and an ESC in it, whose backslash would end it
	oneMore       // after ESC ( and others that take one character
	maxHeld = 64  // bytes of a sequence; colours need no more
)

const esc = 0x1b

// Write always takes all of p.
func (w *Writer) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+16)
	for _, b := range p {
		out = w.put(out, b)
	}
	if len(out) > 0 {
		if _, err := w.W.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (w *Writer) put(out []byte, b byte) []byte {
	switch {
	case w.state == plain:
		return w.plain(out, b)
	case b == '\n': // whatever has begun ends with its line
		w.state, w.held = plain, w.held[:0]
		return w.plain(out, b)
	}
	switch w.state {
	case escape:
		switch b {
		case '[':
			w.state, w.held = control, append(w.held[:0], esc, '[')
		case ']', 'P', 'X', '^', '_', 'k':
			w.state = text
		case '(', ')', '*', '+', '-', '.', '/', '#', '%', ' ':
			w.state = oneMore
		case esc:
		default:
			w.state = plain
		}
	case control:
		switch {
		case b >= '0' && b <= ';' && len(w.held) < maxHeld:
			w.held = append(w.held, b)
			return out
		case b == 'm' && len(w.held) < maxHeld:
			out = append(append(out, w.held...), b)
			w.state = plain
		case b >= 0x20 && b < 0x40: // a parameter that no colour has
			w.held = append(w.held[:0], make([]byte, maxHeld)...)
			return out
		case b == esc:
			w.state = escape
		default:
			w.state = plain
		}
		w.held = w.held[:0]
	case text:
		switch b {
		case esc:
			w.state = textEsc
		case 0x07:
			w.state = plain
		}
	case textEsc:
		w.state = text
		if b == '\\' {
			w.state = plain
		}
	case oneMore:
		w.state = plain
	}
	return out
}

// plain is put outside of a sequence.
func (w *Writer) plain(out []byte, b byte) []byte {
	if w.cr {
		w.cr = false
		if b != '\n' {
			out = append(out, '\n')
		}
	}
	if b < utf8.RuneSelf && len(w.held) > 0 { // a character that was not finished
		out = utf8.AppendRune(out, utf8.RuneError)
		w.held = w.held[:0]
	}
	switch {
	case b == esc:
		w.state = escape
	case b == '\r':
		w.cr = true
	case b == '\n' || b == '\t' || b >= ' ' && b < 0x7f:
		out = append(out, b)
	case b >= utf8.RuneSelf:
		w.held = append(w.held, b)
		if !utf8.FullRune(w.held) {
			return out
		}
		r, n := utf8.DecodeRune(w.held)
		rest := string(w.held[n:])
		w.held = w.held[:0]
		out = show(out, r)
		for i := range len(rest) {
			out = w.plain(out, rest[i])
		}
	}
	return out
}

func show(out []byte, r rune) []byte {
	switch {
	case r >= 0x80 && r < 0xa0: // controls, which some terminals obey
		return out
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029:
		return fmt.Appendf(out, "<U+%04X>", r)
	}
	return utf8.AppendRune(out, r)
}
