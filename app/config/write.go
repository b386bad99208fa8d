package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// WriteYAML writes v as YAML, with the names and the order of its JSON.
//
// [Decode] reads the output as the same value: a text is written without quotes
// only if no reader can take it for another type.
func WriteYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	y := yamlWriter{in: json.NewDecoder(bytes.NewReader(text))}
	y.in.UseNumber()
	if err := y.value(0, false); err != nil {
		return err
	}
	_, err = w.Write(y.out.Bytes())
	return err
}

// yamlWriter turns a stream of JSON tokens into YAML.
type yamlWriter struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value writes the next value. depth is its indentation in steps of two;
// inline reports whether it is on the line of its key or dash.
func (y *yamlWriter) value(depth int, inline bool) error {
	t, err := y.in.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if !y.in.More() {
			y.lead(inline, map[json.Delim]string{'{': "{}\n", '[': "[]\n"}[t])
			_, err := y.in.Token()
			return err
		}
		if t == '{' {
			return y.object(depth, inline)
		}
		return y.list(depth, inline)
	case string:
		y.lead(inline, quote(t, depth))
	case nil:
		y.lead(inline, "null\n")
	default:
		y.lead(inline, fmt.Sprint(t)+"\n")
	}
	return nil
}

func (y *yamlWriter) lead(inline bool, text string) {
	if inline {
		y.out.WriteByte(' ')
	}
	y.out.WriteString(text)
}

// object writes keys and values. After a dash, the first key is on the same
// line; after a key, it begins a new line.
func (y *yamlWriter) object(depth int, inline bool) error {
	afterDash := inline && bytes.HasSuffix(y.out.Bytes(), []byte("-"))
	switch {
	case afterDash:
		y.out.WriteByte(' ')
	case inline:
		y.out.WriteByte('\n')
	}
	for first := true; y.in.More(); first = false {
		key, err := y.in.Token()
		if err != nil {
			return err
		}
		if !first || !afterDash {
			y.indent(depth)
		}
		y.out.WriteString(strings.TrimSuffix(quoteLine(key.(string)), "\n") + ":")
		if err := y.value(depth+1, true); err != nil {
			return err
		}
	}
	_, err := y.in.Token()
	return err
}

func (y *yamlWriter) list(depth int, inline bool) error {
	if inline {
		y.out.WriteByte('\n')
	}
	for y.in.More() {
		y.indent(depth)
		y.out.WriteByte('-')
		if err := y.value(depth+1, true); err != nil {
			return err
		}
	}
	_, err := y.in.Token()
	return err
}

func (y *yamlWriter) indent(depth int) { y.out.WriteString(strings.Repeat("  ", depth)) }

// quote returns a text as a value, with the end of its line.
func quote(s string, depth int) string {
	if strings.Contains(s, "\n") && literal(s) {
		return block(s, depth)
	}
	return quoteLine(s)
}

// quoteLine returns a text on one line: plain, or as JSON, which is valid YAML.
func quoteLine(s string) string {
	if plain(s) {
		return s + "\n"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string cannot fail
	return b.String()
}

// plainRule matches a text that begins with a letter or a slash and has no
// character that can end a plain scalar.
var plainRule = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9 _./,;+=()@$*"'?&|<>!~%^-]*(:[A-Za-z0-9_/.,;+=()@$?&%~-]+)*$`)

// words are the plain scalars that a version of YAML reads as another type than text.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan"}

func plain(s string) bool {
	return plainRule.MatchString(s) && !strings.HasSuffix(s, " ") && !slices.Contains(words, strings.ToLower(s))
}

// literal reports whether a text of several lines can be written as a literal
// block.
func literal(s string) bool {
	if s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") {
			return false // parsers differ in which characters end a line
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r)
	})
}

// block returns a text as a literal block. The indicator states how many line
// breaks at its end belong to it.
func block(s string, depth int) string {
	var b strings.Builder
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		b.WriteString("|-\n")
	case 1:
		b.WriteString("|\n")
	default:
		b.WriteString("|+\n")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			b.WriteString(strings.Repeat("  ", max(depth, 1)) + line)
		}
		b.WriteByte('\n')
	}
	if n := len(s) - len(body); n > 1 {
		b.WriteString(strings.Repeat("\n", n-1))
	}
	return b.String()
}
