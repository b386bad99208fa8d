package program

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Minimum lengths of masked secrets: a value such as "1" or "yes" is not secret,
// and masking it would make a log unreadable.
const (
	minSecret     = 4
	minSecretLine = 8 // for each line of a secret with several lines
	hidden        = "***"
)

// secretValues returns the texts to mask, the longest first.
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

// masker forwards its input with stars for each secret, also for secrets that
// are split over several writes: a possible begin of a secret at the end of a
// write is held back until the next write. It never fails.
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

// flush writes the held back text at the end of the input.
func (m *masker) flush() {
	m.pass(m.held, true)
	m.held = nil
}

// pass writes a text, and returns the part of its end that may begin a secret.
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

// find returns the place and size of the first secret, the longest at that
// place; without one, the end of the text.
func (m *masker) find(text []byte) (at, size int) {
	at = len(text)
	for _, v := range m.values {
		if i := bytes.Index(text[:min(len(text), at+len(v))], v); i >= 0 && i < at {
			at, size = i, len(v)
		}
	}
	return at, size
}

// begun returns the first place whose rest could be the begin of a secret, or
// the end of the text.
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
