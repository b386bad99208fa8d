package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadJSON reads one JSON value as data. It is quicker than the reader of YAML
// and knows every escape, and backups are large.
func ReadJSON(text []byte) (*Tree, *misread) {
	j := &jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1}
	return j.document()
}

// ReadInnerJSON reads JSON that stands as a text in another document, at the
// given place. It is nil when it is not JSON.
func ReadInnerJSON(text string, at Place) *Tree {
	j := &jsonReader{text: []byte(text), dec: json.NewDecoder(strings.NewReader(text)), fixed: &at}
	t, bad := j.document()
	if bad != nil {
		return nil
	}
	return t
}

// jsonReader makes data of tokens, and knows where they stand.
type jsonReader struct {
	text  []byte
	dec   *json.Decoder
	fixed *Place // of all there is

	seen, line, start int // bytes looked at, the line they end in and its beginning
	depth             int
}

func (j *jsonReader) document() (*Tree, *misread) {
	j.dec.UseNumber()
	t, bad := j.value()
	if bad != nil {
		return nil, bad
	}
	at := j.at()
	if _, err := j.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &misread{at, "is more than one JSON value", ""}
	}
	return t, nil
}

// at is where the next token begins.
func (j *jsonReader) at() Place {
	if j.fixed != nil {
		return *j.fixed
	}
	for j.seen < len(j.text) {
		next := j.text[j.seen]
		if int64(j.seen) >= j.dec.InputOffset() && strings.IndexByte(" \t\r\n,:", next) < 0 {
			break
		}
		if j.seen++; next == '\n' {
			j.line, j.start = j.line+1, j.seen
		}
	}
	return Place{j.line, j.seen - j.start + 1}
}

func (j *jsonReader) token() (json.Token, Place, *misread) {
	at := j.at()
	tok, err := j.dec.Token()
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "json: ")
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			message = "it ends in the middle"
		}
		return nil, at, &misread{at, "is not JSON: " + message, ""}
	}
	if s, isText := tok.(string); isText && strings.ContainsRune(s, 0) {
		return nil, at, &misread{at, "has a NUL character, which no text has", ""}
	}
	return tok, at, nil
}

func (j *jsonReader) value() (*Tree, *misread) {
	tok, at, bad := j.token()
	if bad != nil {
		return nil, bad
	}
	t := &Tree{At: at, Kind: Scalar}
	switch v := tok.(type) {
	case nil:
		t.Kind = Nothing
	case bool:
		t.Text = fmt.Sprint(v)
	case json.Number:
		t.Text = v.String()
	case string:
		t.Text = v
	case json.Delim:
		if j.depth++; j.depth > maxDepth {
			return nil, &misread{at, fmt.Sprintf("is nested more than %d levels deep", maxDepth), ""}
		}
		if v == '[' {
			bad = j.list(t)
		} else {
			bad = j.object(t)
		}
		j.depth--
	}
	return t, bad
}

func (j *jsonReader) list(t *Tree) *misread {
	t.Kind = Sequence
	for j.dec.More() {
		item, bad := j.value()
		if bad != nil {
			return bad
		}
		t.List = append(t.List, item)
	}
	_, _, bad := j.token()
	return bad
}

// object reads a mapping. The last of equal keys counts, as in JavaScript.
func (j *jsonReader) object(t *Tree) *misread {
	t.Kind, t.Table = Mapping, map[string]*Tree{}
	for j.dec.More() {
		tok, at, bad := j.token()
		if bad != nil {
			return bad
		}
		key, isText := tok.(string)
		if !isText {
			return &misread{at, "is not the key of an object", ""}
		}
		value, bad := j.value()
		if bad != nil {
			return bad
		}
		if t.Table[key] == nil {
			t.Keys = append(t.Keys, key)
		}
		t.Table[key] = value
	}
	_, _, bad := j.token()
	return bad
}
