package program

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Secrets shorter than that are not looked for: a value such as "1" or "yes" is
// no secret, and a log without it could not be read.
const (
	minSecret     = 4
	minSecretLine = 8 // of one with several lines, which programs print line by line
	hidden        = "***"
)

// secretValues are the texts that must not be seen, longest first.
func secretValues(secrets map[string]string) [][]byte {
	var values [][]byte
	add := func(text string, least int) {
		if len(text) >= least && !slices.ContainsFunc(values, func(v []byte) bool { return string(v) == text }) {
			values = append(values, []byte(text))
		}
	}
	for _, value := range secrets {
		add(value, minSecret)
		add(strings.TrimSpace(value), minSecret)
		for line := range strings.Lines(strings.TrimSpace(value)) {
			add(strings.TrimSpace(line), minSecretLine)
		}
	}
	slices.SortFunc(values, func(a, b []byte) int { return len(b) - len(a) })
	return values
}

// masker writes on what it is given, with stars for each secret, also where one
// is split over several writes: the begin of a secret at the end of a write is
// held back until it is known what follows. It never fails.
type masker struct {
	to     io.Writer
	values [][]byte
	held   []byte
}

func (m *masker) Write(p []byte) (int, error) {
	if len(m.values) == 0 {
		_, _ = m.to.Write(p)
		return len(p), nil
	}
	text := p
	if len(m.held) > 0 {
		text = append(m.held, p...)
	}
	m.held = bytes.Clone(m.pass(text, false))
	return len(p), nil
}

// flush writes what was held back, after which nothing comes.
func (m *masker) flush() {
	m.pass(m.held, true)
	m.held = nil
}

// pass writes a text and returns what of its end may be the begin of a secret.
func (m *masker) pass(text []byte, last bool) (rest []byte) {
	for len(text) > 0 {
		at, size := m.find(text)
		clear := text[:at]
		if !last {
			if begun := m.begun(text); begun <= at {
				m.write(text[:begun])
				return text[begun:]
			}
		}
		m.write(clear)
		if size > 0 {
			m.write([]byte(hidden))
		}
		text = text[at+size:]
	}
	return nil
}

func (m *masker) write(p []byte) {
	if len(p) > 0 {
		_, _ = m.to.Write(p)
	}
}

// find is where the first secret is, the longest of those that begin there, or
// the end.
func (m *masker) find(text []byte) (at, size int) {
	at = len(text)
	for _, v := range m.values {
		if i := bytes.Index(text[:min(len(text), at+len(v))], v); i >= 0 && i < at {
			at, size = i, len(v)
		}
	}
	return at, size
}

// begun is the first place from which to the end it could be the begin of a
// secret, or past the end.
func (m *masker) begun(text []byte) int {
	first := len(text) + 1
	for _, v := range m.values {
		for i := max(0, len(text)-len(v)+1); i < len(text) && i < first; i++ {
			if bytes.HasPrefix(v, text[i:]) {
				first = i
				break
			}
		}
	}
	return first
}
