package public

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Limits of logos.
const (
	MaxLogo     = 32 << 10 // bytes
	MaxLogoSide = 1000     // pixels
	LogoHeight  = 56       // largest displayed height, in CSS pixels
)

// LogoKept is the placeholder of a logo in lists, for which a logo is too large. A page that is saved with it keeps its logo.
const LogoKept = "kept"

// Logo is the image of a status page.
type Logo struct {
	Type          string // image/png or image/jpeg
	Bytes         []byte
	Width, Height int // pixels
}

// String describes the logo for people.
func (l Logo) String() string {
	name := strings.ToUpper(strings.TrimPrefix(l.Type, "image/"))
	return fmt.Sprintf("%s, %d × %d pixels, %s", name, l.Width, l.Height, core.SizeText(int64(len(l.Bytes))))
}

// Image returns the logo of the page. Without a logo it has no bytes.
func (s StatusPage) Image() (Logo, error) {
	if s.Logo == "" {
		return Logo{}, nil
	}
	tooLarge := logoFault("has more than "+core.SizeText(MaxLogo), fmt.Sprintf("make the image smaller: it is shown %d pixels high at most", LogoHeight))
	if len(s.Logo) > base64.StdEncoding.EncodedLen(MaxLogo) {
		return Logo{}, tooLarge
	}
	if s.Logo == LogoKept {
		return Logo{}, logoFault("cannot be kept: there is none", "write the bytes of the image, or leave it out")
	}
	all, err := base64.StdEncoding.DecodeString(s.Logo)
	if len(all) > MaxLogo {
		return Logo{}, tooLarge
	}
	if err != nil {
		return Logo{}, logoFault("is not in base64", "write the bytes of the image: base64 -w0 logo.png")
	}
	l := Logo{Bytes: all}
	var config image.Config
	switch {
	case bytes.HasPrefix(all, []byte("\x89PNG\r\n\x1a\n")):
		l.Type = "image/png"
		config, err = png.DecodeConfig(bytes.NewReader(all))
	case bytes.HasPrefix(all, []byte("\xff\xd8\xff")):
		l.Type = "image/jpeg"
		config, err = jpeg.DecodeConfig(bytes.NewReader(all))
	case isSVG(all):
		return Logo{}, logoFault("is an SVG, which can have scripts in it", "export it as a PNG")
	default:
		return Logo{}, logoFault("is not a PNG or JPEG image", "convert it to a PNG")
	}
	if err != nil {
		return Logo{}, logoFault("is not a whole image: "+err.Error(), "export it again")
	}
	if l.Width, l.Height = config.Width, config.Height; l.Width > MaxLogoSide || l.Height > MaxLogoSide || l.Width < 1 || l.Height < 1 {
		return Logo{}, logoFault(fmt.Sprintf("has %d × %d pixels, and may have at most %d a side", l.Width, l.Height, MaxLogoSide), "make the image smaller")
	}
	return l, nil
}

// bare returns the image without its metadata, or an error if it is refused. It decodes no pixels, because it is called
// within transactions.
func (l Logo) bare() (bare []byte, err error) {
	switch l.Type {
	case "image/png":
		bare, err = barePNG(l.Bytes)
	case "image/jpeg":
		bare, err = bareJPEG(l.Bytes)
	}
	switch {
	case errors.Is(err, errTurned):
		return nil, logoFault("is turned by its metadata, which is not kept", "turn the image itself: open it and export it again")
	case err != nil:
		return nil, logoFault("is not a whole image: "+err.Error(), "export it again")
	}
	return bare, nil
}

// check refuses a truncated image.
func (l Logo) check() error {
	_, err := l.bare()
	return err
}

func isSVG(all []byte) bool {
	head := bytes.ToLower(all[:min(len(all), 1024)])
	return bytes.Contains(head, []byte("<svg"))
}

func logoFault(says, hint string) error { return core.InvalidField("logo", "", says, hint) }

// logoText returns the stored form of a logo in base64: without line ends, without the prefix of a data URL, and without
// metadata of the image. It returns invalid texts unchanged, for Validate.
func logoText(text string) string {
	if before, after, found := strings.Cut(text, ";base64,"); found && strings.HasPrefix(before, "data:") {
		text = after
	}
	text = strings.Join(strings.Fields(text), "")
	l, err := StatusPage{Logo: text}.Image()
	if err != nil || text == "" {
		return text
	}
	bare, err := l.bare()
	if err != nil || len(bare) == len(l.Bytes) {
		return text
	}
	return base64.StdEncoding.EncodeToString(bare)
}

// Theme is the light or dark theme of a status page: the backgrounds of its accent colour.
type Theme struct {
	Name    string
	Grounds []string // backgrounds of text in the accent, and the text colour on buttons in the accent
	toward  rgb      // colour towards which an accent is changed to be readable
}

// The two themes of a status page, with the colours of its style.
var (
	Light = Theme{Name: "light", Grounds: []string{"#f5f6f8", "#ffffff"}}
	Dark  = Theme{Name: "dark", Grounds: []string{"#0f1317", "#181d23"}, toward: rgb{255, 255, 255}}
)

// MinContrast is the least contrast of text in the accent to each background, by WCAG 2.2 AA.
const MinContrast = 4.5

type rgb [3]uint8

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// parseColour parses #rrggbb and #rgb.
func parseColour(text string) (c rgb, ok bool) {
	digits, found := strings.CutPrefix(text, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if !found || len(digits) != 6 || err != nil {
		return c, false
	}
	return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}, true //nolint:gosec // the bytes of six digits
}

// colourText returns the stored form of a colour, or an invalid text unchanged.
func colourText(text string) string {
	if c, ok := parseColour(strings.ToLower(strings.TrimSpace(text))); ok {
		return c.String()
	}
	return strings.TrimSpace(text)
}

// luminance returns the relative luminance of WCAG 2.2.
func (c rgb) luminance() (l float64) {
	for i, weight := range []float64{.2126, .7152, .0722} {
		v := float64(c[i]) / 255
		if v <= .04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

// Contrast returns the least contrast of a colour to the backgrounds of the theme, 1 to 21, or 0 for an invalid colour.
func (t Theme) Contrast(colour string) float64 {
	c, ok := parseColour(colour)
	if !ok {
		return 0
	}
	return t.contrast(c)
}

func (t Theme) contrast(c rgb) float64 {
	least, l := 21.0, c.luminance()+.05
	for _, ground := range t.Grounds {
		g, _ := parseColour(ground)
		under := g.luminance() + .05
		least = min(least, max(l/under, under/l))
	}
	return least
}

// Nearest returns the colour if it has [MinContrast], and otherwise the nearest colour with that contrast towards black, or, in
// the dark theme, towards white. It returns "" for an invalid colour.
func (t Theme) Nearest(colour string) string {
	c, ok := parseColour(colour)
	if !ok {
		return ""
	}
	for step := range 256 {
		var mixed rgb
		for i := range c {
			mixed[i] = uint8((int(c[i])*(255-step) + int(t.toward[i])*step) / 255) //nolint:gosec // between two bytes
		}
		if t.contrast(mixed) >= MinContrast {
			return mixed.String()
		}
	}
	return t.toward.String()
}

func (t Theme) check(p *core.Problems, field, colour string) {
	if colour == "" {
		return
	}
	if _, ok := parseColour(colour); !ok {
		shown, _ := core.CleanText(core.OneLine(colour), 40)
		p.Add(field, shown, "is not a colour", "write one such as #0b5cad")
		return
	}
	if got := t.Contrast(colour); got < MinContrast {
		p.Add(field, colour, fmt.Sprintf("has a contrast of %.1f in the %s theme, and must have %.1f to be read", math.Floor(got*10)/10, t.Name, MinContrast),
			"the nearest colour that has it is "+t.Nearest(colour))
	}
}

// Accents returns the accents of both themes; "" means that of the style.
func (s StatusPage) Accents() (light, dark string) {
	return s.Accent, core.Or(s.AccentDark, Dark.Nearest(s.Accent))
}
