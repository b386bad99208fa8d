// Package fresh updates open pages: it answers with the parts that have changed,
// and of these with the changed pieces only.
//
// A part is an element with an id and data-live. The page names its parts by their
// digests. If [Memory] still has the old text of a part, the answer refers to the
// pieces that stayed; otherwise the part comes whole, for example after a request
// to another node. Texts are kept by reader: a difference to the page of another
// reader would reveal its contents.
package fresh

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	// Asks is the header of a live update: a page requests its own address.
	Asks = "X-Belfry-Live"
	// Knows is the header with the parts that it has: "list=digest states=digest".
	// Without it the page comes as always.
	Knows = "X-Belfry-Parts"
)

// maxKnown bounds how many parts a page may say that it has.
const maxKnown = 64

// update is the change of a part: its whole text, or a list of pieces, each a text or
// two numbers: the first copied piece of the old text, and the number of copied pieces.
type update struct {
	Digest string `json:"digest"`
	HTML   string `json:"html,omitempty"`
	From   string `json:"from,omitempty"` // digest of the text that is copied from
	Course []any  `json:"course,omitempty"`
}

// Answer compares the parts that a reader has with a page as it is now. The reader keeps
// the parts under "same", replaces those under "parts", and forgets all others.
//
// The page of one reader is never compared with that of another: the course would show
// what the two have in common.
func (m *Memory) Answer(reader, known string, page []byte) ([]byte, error) {
	has := map[string]string{}
	for i, entry := range strings.Fields(known) {
		if id, digest, ok := strings.Cut(entry, "="); ok && i < maxKnown {
			has[id] = digest
		}
	}
	answer := struct {
		Parts map[string]update `json:"parts"`
		Same  []string          `json:"same"`
	}{map[string]update{}, []string{}}
	for _, p := range Parts(page) {
		digest := m.keep(reader, p.Text)
		old := has[p.ID]
		if old == digest {
			answer.Same = append(answer.Same, p.ID)
			continue
		}
		u := update{Digest: digest, HTML: p.Text}
		if before, there := m.supersede(reader, old); there {
			if course := courseOf(pieces(before), pieces(p.Text)); isShort(course, len(p.Text)) {
				u = update{Digest: digest, From: old, Course: course}
			}
		}
		answer.Parts[p.ID] = u
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // safe: the content type is JSON
	err := e.Encode(answer)
	return b.Bytes(), err
}

// isShort reports that a course has less to send than the text of so many bytes.
func isShort(course []any, size int) bool {
	n := 0
	for _, step := range course {
		if text, ok := step.(string); ok {
			n += len(text)
		}
		n += 8
	}
	return n < size
}
