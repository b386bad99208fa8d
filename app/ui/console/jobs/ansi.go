package jobs

import (
	"strconv"
	"strings"
)

// inked is a piece of a line of a log in one style. Class comes from a closed list,
// never from the output of a program.
type inked struct {
	Class string
	Text  string
}

// ink is how text looks from here on, as escape sequences said.
type ink struct {
	colour, ground          int // 0: none; 1 to 8
	bold, italic, underline bool
}

var colours = [...]string{"", "ink-black", "ink-red", "ink-green", "ink-yellow", "ink-blue", "ink-magenta", "ink-cyan", "ink-white"}

func (k ink) class() string {
	var on []string
	if c := colours[k.colour]; c != "" {
		on = append(on, c)
	}
	if k.ground > 0 {
		on = append(on, strings.Replace(colours[k.ground], "ink-", "ground-", 1))
	}
	for _, look := range []struct {
		is   bool
		name string
	}{{k.bold, "ink-bold"}, {k.italic, "ink-italic"}, {k.underline, "ink-underline"}} {
		if look.is {
			on = append(on, look.name)
		}
	}
	return strings.Join(on, " ")
}

// paint cuts a line into pieces of one style each, and keeps the style for the next
// line. Other escape sequences are dropped: a log moves no cursor and sets no
// title. Text on a background always gets a colour with enough contrast.
func (k *ink) paint(line string) (out []inked) {
	if !strings.Contains(line, "\x1b") {
		return k.put(out, line)
	}
	for {
		at := strings.IndexByte(line, '\x1b')
		if at < 0 {
			return k.put(out, line)
		}
		out = k.put(out, line[:at])
		body, final, size := escape(line[at:])
		if final == 'm' {
			k.set(body)
		}
		line = line[at+size:]
	}
}

func (k *ink) put(out []inked, text string) []inked {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return out
	}
	class := k.class()
	if n := len(out); n > 0 && out[n-1].Class == class {
		out[n-1].Text += text
		return out
	}
	return append(out, inked{class, text})
}

// escape reads the sequence that a text begins with: of a CSI its parameters
// and its last byte. One that does not end takes the rest.
func escape(text string) (body string, final byte, size int) {
	if len(text) < 2 {
		return "", 0, len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[2:i], c, i + 1
			} else if c < 0x20 || c > 0x3f {
				return "", 0, i // no sequence after all
			}
		}
		return "", 0, len(text)
	case ']', 'P', '_', '^', 'X': // up to BEL or ESC \
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return "", 0, i + 1
			}
			if text[i] == 0x1b {
				return "", 0, min(i+2, len(text))
			}
		}
		return "", 0, len(text)
	case '(', ')', '#', '%':
		return "", 0, min(3, len(text))
	}
	if text[1] < 0x20 || text[1] > 0x7e {
		return "", 0, 1
	}
	return "", 0, 2
}

// set takes the parameters of a sequence that ends in m.
func (k *ink) set(body string) {
	codes := strings.FieldsFunc(body, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*k = ink{}
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		switch {
		case err != nil:
			return
		case n == 0:
			*k = ink{}
		case n == 1:
			k.bold = true
		case n == 3:
			k.italic = true
		case n == 4:
			k.underline = true
		case n == 22:
			k.bold = false
		case n == 23:
			k.italic = false
		case n == 24:
			k.underline = false
		case n >= 30 && n <= 37:
			k.colour = n - 29
		case n >= 90 && n <= 97:
			k.colour = n - 89
		case n >= 40 && n <= 47:
			k.ground = n - 39
		case n >= 100 && n <= 107:
			k.ground = n - 99
		case n == 49:
			k.ground = 0
		case n == 39:
			k.colour = 0
		case n == 38, n == 48:
			colour, used := wideColour(codes[i+1:])
			if n == 38 {
				k.colour = colour
			} else {
				k.ground = colour
			}
			i += used
		}
	}
}

// wideColour is the nearest of the eight to one of 256, or of red, green and
// blue.
func wideColour(codes []string) (colour, used int) {
	number := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return min(max(n, 0), 255)
	}
	switch {
	case len(codes) == 0:
		return 0, 0
	case codes[0] == "5":
		n := number(1)
		switch {
		case n < 16:
			return n%8 + 1, 2
		case n >= 232: // greys
			return 0, 2
		}
		n -= 16
		return nearestColour(n/36*51, n/6%6*51, n%6*51), 2
	case codes[0] == "2":
		return nearestColour(number(1), number(2), number(3)), 4
	}
	return 0, 1
}

func nearestColour(r, g, b int) int {
	most := max(r, g, b)
	if most-min(r, g, b) < 40 { // no colour to speak of
		return 0
	}
	colour := 1
	for i, v := range []int{r, g, b} {
		if v*2 > most {
			colour += 1 << i
		}
	}
	return colour
}
