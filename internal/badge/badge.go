// Package badge draws a label and a value side by side as an SVG image, for pages of others. The text is escaped and bounded,
// so any name gives a valid image.
package badge

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Badge is a label and a value, such as "uptime 30d | 99.98%".
type Badge struct {
	About  string // for those who hear it: the monitor or the page
	Label  string
	Value  string
	Colour string // behind the value
	Square bool   // its corners are not round
}

// Colours on which white text can be read (a contrast of 4.5 at least).
const (
	Green = "#2a7d34"
	Amber = "#946200"
	Red   = "#b3261e"
	Blue  = "#0b63b0"
	Grey  = "#6b6b6b"
)

// maxText bounds a text on a badge, in runes.
const maxText = 60

// Asked changes the badge as the parameters label and style of an address ask:
// label is another text at the left, style is flat (default) or square.
func (b Badge) Asked(q url.Values) (Badge, error) {
	if label := q.Get("label"); Text(label) != "" {
		b.Label = label
	}
	switch style := q.Get("style"); style {
	case "", "flat":
	case "square":
		b.Square = true
	default:
		return b, core.InvalidField("style", Text(style), "is not a style of a badge", "one of flat, square")
	}
	return b, nil
}

// SVG draws the badge. Texts are fitted to their boxes with textLength, so it
// does not matter much which font the reader has. There is neither script nor
// style in it, so that it can be shown under any policy.
func (b Badge) SVG() []byte {
	label, value := Text(b.Label), Text(b.Value)
	left, right := textWidth(label)+12, textWidth(value)+12
	whole := left + right
	title := label + ": " + value
	if about := Text(b.About); about != label {
		title = about + ", " + title
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s">`, whole, html.EscapeString(title))
	fmt.Fprintf(&out, `<title>%s</title>`, html.EscapeString(title))
	round := 3
	if b.Square {
		round = 0
	}
	fmt.Fprintf(&out, `<clipPath id="r"><rect width="%d" height="20" rx="%d" fill="#fff"/></clipPath>`, whole, round)
	fmt.Fprintf(&out, `<g clip-path="url(#r)"><rect width="%d" height="20" fill="#444"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`,
		left, left, right, html.EscapeString(b.Colour))
	out.WriteString(`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">`)
	for _, part := range []struct {
		text      string
		at, width int
	}{{label, 0, left}, {value, left, right}} {
		fmt.Fprintf(&out, `<text x="%g" y="14" textLength="%d">%s</text>`, float64(part.at)+float64(part.width)/2, part.width-12, html.EscapeString(part.text))
	}
	out.WriteString("</g></svg>\n")
	return out.Bytes()
}

// Text is a text on one line, without what XML does not have, and not too
// long.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff || r == 0xfffd {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxText {
		s = string(runes[:maxText-1]) + "…"
	}
	return s
}

// textWidth is about how wide a text is in Verdana of 11 px.
func textWidth(s string) int {
	tenths := 0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijlI.,:;'|!", r):
			tenths += 35
		case strings.ContainsRune(" frt()[]-/", r):
			tenths += 45
		case strings.ContainsRune("mwMW%", r):
			tenths += 105
		case r >= 'A' && r <= 'Z' || r >= 0x2e80: // the latter are as wide as high
			tenths += 80
		default:
			tenths += 69
		}
	}
	return (tenths + 9) / 10
}
