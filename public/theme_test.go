package public_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/public"
)

func drawn(wide, high int, noise bool) []byte {
	m := image.NewRGBA(image.Rect(0, 0, wide, high))
	if noise {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range m.Pix {
			m.Pix[i] = byte(r.Uint32())
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func photo() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 60, 20)), nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// chunk returns a chunk of a PNG.
func chunk(name string, data []byte) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), name...)
	b = append(b, data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// scanned returns a JPEG with additional scans of minimal size.
func scanned(more int) []byte {
	p := photo()
	return slices.Concat(p[:len(p)-2], bytes.Repeat([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x55, 0xff, 0}, more), p[len(p)-2:])
}

func TestALogoIsChecked(t *testing.T) {
	good := drawn(200, 50, false)
	for name, test := range map[string]struct {
		logo []byte
		says string // in the error; empty: none
	}{
		"a PNG":              {good, ""},
		"a JPEG":             {photo(), ""},
		"the largest":        {drawn(1000, 1000, false), ""},
		"too wide":           {drawn(1001, 1, false), "1001 × 1 pixels"},
		"too large":          {drawn(120, 120, true), "more than 32 KiB"},
		"an SVG":             {[]byte("<?xml version=\"1.0\"?>\n<SVG onload=\"alert(1)\"/>"), "is an SVG"},
		"a GIF":              {[]byte("GIF89a" + strings.Repeat("x", 40)), "is not a PNG or JPEG"},
		"a page":             {[]byte("<!doctype html><script>alert(1)</script>"), "is not a PNG or JPEG"},
		"a PNG that ends":    {good[:len(good)-30], "is not a whole image"},
		"the head of a PNG":  {good[:20], "is not a whole image"},
		"the head of a JPEG": {photo()[:40], "is not a whole image"},

		"a PNG with a tail":        {append(slices.Clone(good), "<script>"...), "8 bytes follow its end"},
		"a PNG without an end":     {good[:len(good)-12], "breaks off"},
		"a PNG without pixels":     {slices.Concat(good[:33], chunk("IEND", nil)), "has no pixels"},
		"a PNG with two heads":     {slices.Concat(good[:33], good[8:]), "one head"},
		"a PNG with a wrong pixel": {slices.Concat(good[:45], []byte{good[45] ^ 1}, good[46:]), `part "IDAT" is wrong`},
		"a JPEG that ends":         {photo()[:len(photo())-2], "breaks off"},
		"a JPEG with a tail":       {append(photo(), 0, 0), "2 bytes follow its end"},
		"a JPEG of two":            {append(photo(), photo()...), "bytes follow its end"},
		"a JPEG of many scans":     {scanned(63), ""},
		"a JPEG of too many":       {scanned(64), "more than 64 scans"},
		"a JPEG of very many":      {scanned(2000), "more than 64 scans"},
	} {
		t.Run(name, func(t *testing.T) {
			s := public.StatusPage{Name: "main", Logo: base64.StdEncoding.EncodeToString(test.logo)}.WithDefaults()
			err := s.Validate(time.Time{})
			if (err == nil) != (test.says == "") || err != nil && !(strings.Contains(err.Error(), test.says) && strings.Contains(err.Error(), "logo")) {
				t.Fatal(err)
			}
			if l, _ := s.Image(); err == nil && (!bytes.Equal(l.Bytes, test.logo) || l.Width < 1) {
				t.Errorf("%+v", l)
			}
		})
	}
	s := public.StatusPage{Name: "main", Logo: "what?"}.WithDefaults()
	if err := s.Validate(time.Time{}); err == nil || !strings.Contains(err.Error(), "is not in base64") {
		t.Error(err)
	}
	s.Logo = "data:image/png;base64," + base64.StdEncoding.EncodeToString(good[:30]) + "\n" + base64.StdEncoding.EncodeToString(good[30:])
	if s = s.WithDefaults(); s.Logo != base64.StdEncoding.EncodeToString(good) || s.Validate(time.Time{}) != nil {
		t.Error("lines and a data URL are not taken")
	}
}

// camera returns the metadata of a camera: a TIFF with maker, orientation and place.
func camera(order binary.AppendByteOrder, turn uint16) []byte {
	b := []byte("MM\x00*")
	if order.String() == "LittleEndian" {
		b = []byte("II*\x00")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 3)
	entry := func(tag, kind uint16, count, value uint32) {
		b = order.AppendUint32(order.AppendUint32(order.AppendUint16(order.AppendUint16(b, tag), kind), count), value)
	}
	entry(0x010f, 2, 10, 50) // maker
	b = append(order.AppendUint16(order.AppendUint32(order.AppendUint16(order.AppendUint16(b, 0x0112), 3), 1), turn), 0, 0)
	entry(0x8825, 4, 1, 60) // place
	b = order.AppendUint32(b, 0)
	return append(b, "Camera 9\x00\x00\x00\x0043 deg 8' N 24 deg 45' E"...)
}

func segment(marker byte, body string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2)), body...)
}

// Data about where, when and by whom an image was made is not published. Pixels, colours and frames stay.
func TestALogoHasNoMetadata(t *testing.T) {
	p, j := drawn(200, 50, false), photo()
	jfif, icc, adobe := segment(0xe0, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00"), segment(0xe2, "ICC_PROFILE\x00\x01\x01profile"), segment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x01")
	exif := func(turn uint16) []byte {
		return segment(0xe1, "Exif\x00\x00"+string(camera(binary.LittleEndian, turn)))
	}
	for name, test := range map[string]struct{ logo, want []byte }{
		"a PNG": {slices.Concat(p[:33], chunk("gAMA", []byte{0, 0, 0xb1, 0x8f}), chunk("tEXt", []byte("Author\x00Ann")), chunk("eXIf", camera(binary.BigEndian, 1)), chunk("tIME", make([]byte, 7)),
			chunk("iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00<x:xmpmeta/>")), p[33:]), slices.Concat(p[:33], chunk("gAMA", []byte{0, 0, 0xb1, 0x8f}), p[33:])},
		"a JPEG": {slices.Concat(j[:2], jfif, exif(1), segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta/>"), icc, segment(0xe2, "MPF\x00more images"), segment(0xed, "Photoshop 3.0\x008BIM"), adobe,
			segment(0xfe, "made by Ann"), j[2:]), slices.Concat(j[:2], jfif, icc, adobe, j[2:])},
		"a thumbnail":       {slices.Concat(j[:2], segment(0xe0, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x01\x01rgb"), segment(0xe0, "JFXX\x00\x10more"), j[2:]), j},
		"a JPEG in a JPEG":  {slices.Concat(j[:2], []byte{0xff, 0xe1, 0, 10, 0xff, 0xda, 0xff, 0xd9, 0xff, 0xc0, 0, 0}, j[2:]), j},
		"behind its pixels": {slices.Concat(j[:len(j)-2], segment(0xfe, "made by Ann"), j[len(j)-2:]), j},
		"a broken camera":   {slices.Concat(j[:2], segment(0xe1, "Exif\x00\x00II*\x00\xff\xff\xff\xff"), segment(0xe1, "Exif\x00\x00MM\x00*\x00\x00\x00\x08\xff\xff\x01"), j[2:]), j},
		"none":              {p, p},
	} {
		t.Run(name, func(t *testing.T) {
			s := public.StatusPage{Name: "main", Logo: base64.StdEncoding.EncodeToString(test.logo)}.WithDefaults()
			if err := s.Validate(time.Time{}); err != nil {
				t.Fatal(err)
			}
			l, err := s.Image()
			if err != nil || !bytes.Equal(l.Bytes, test.want) {
				t.Fatalf("%v, got %q\nwant %q", err, l.Bytes, test.want)
			}
			if again := s.WithDefaults(); again.Logo != s.Logo {
				t.Error("once more it is another one")
			}
			if _, _, err := image.Decode(bytes.NewReader(l.Bytes)); err != nil && !bytes.Contains(l.Bytes, icc) {
				t.Error(err)
			}
		})
	}
	for name, logo := range map[string][]byte{
		"a JPEG of a camera held sideways": slices.Concat(j[:2], exif(6), j[2:]), "mirrored": slices.Concat(j[:2], exif(2), j[2:]),
		"a PNG of one": slices.Concat(p[:33], chunk("eXIf", camera(binary.BigEndian, 8)), p[33:]),
	} {
		s := public.StatusPage{Name: "main", Logo: base64.StdEncoding.EncodeToString(logo)}.WithDefaults()
		if err := s.Validate(time.Time{}); err == nil || !strings.Contains(err.Error(), "is turned by its metadata") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A truncated image is refused, and an image that Go can decode is accepted.
func TestALogoIsWhole(t *testing.T) {
	check := func(b []byte) error {
		return public.StatusPage{Name: "main", Logo: base64.StdEncoding.EncodeToString(b)}.WithDefaults().Validate(time.Time{})
	}
	for name, whole := range map[string][]byte{"PNG": drawn(30, 20, true), "JPEG": photo(), "scans": scanned(9)} {
		if err := check(whole); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n := 1; n < len(whole); n++ {
			if check(whole[:n]) == nil {
				t.Errorf("%d of %d bytes of a %s are taken", n, len(whole), name)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m := image.NewRGBA(image.Rect(0, 0, 1+r.IntN(40), 1+r.IntN(40)))
		for i := range m.Pix {
			m.Pix[i] = byte(r.Uint32())
		}
		var p, j bytes.Buffer
		if png.Encode(&p, m) != nil || jpeg.Encode(&j, m, &jpeg.Options{Quality: 1 + r.IntN(100)}) != nil {
			t.Fatal("not encoded")
		}
		for _, whole := range [][]byte{p.Bytes(), j.Bytes()} {
			if err := check(whole); err != nil {
				t.Fatal(err)
			}
			broken := slices.Clone(whole)
			for range 1 + r.IntN(8) {
				broken[r.IntN(len(broken))] = byte(r.Uint32())
			}
			_ = check(broken[:1+r.IntN(len(broken))]) // it answers
		}
	})
}

// A small image of many pixels is checked without memory for its pixels.
func TestALogoIsNotDecoded(t *testing.T) {
	s := public.StatusPage{Name: "main", Logo: base64.StdEncoding.EncodeToString(drawn(1000, 1000, false))}.WithDefaults()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.Validate(time.Time{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for an image of a million pixels", got)
	}
}

func TestAnAccentIsChecked(t *testing.T) {
	for colour, says := range map[string]string{
		"": "", "#0b5cad": "", " #0B5CAD ": "", "#a00": "", "#000": "",
		"#ffcc00": "has a contrast of 1.3 in the light theme, and must have 4.5 to be read", "#fff": "the light theme", "red": "is not a colour", "#0b5ca": "is not a colour", "#0b5cadff": "is not a colour",
		"#0b5cad;}body{": "is not a colour", "#-1-1-1": "is not a colour", "url(x)": "is not a colour",
	} {
		s := public.StatusPage{Name: "main", Accent: colour}.WithDefaults()
		if err := s.Validate(time.Time{}); (err == nil) != (says == "") || err != nil && !(strings.Contains(err.Error(), says) && strings.Contains(err.Error(), "accent")) {
			t.Errorf("%q: %v", colour, err)
		}
	}
	s := public.StatusPage{Name: "main", Accent: "#0B5CAD", AccentDark: "#0b5cad"}.WithDefaults()
	if err := s.Validate(time.Time{}); err == nil || !strings.Contains(err.Error(), "the nearest colour that has it is #") || !strings.Contains(err.Error(), "accent_dark") {
		t.Error(err)
	}
	s.AccentDark = ""
	if light, dark := s.Accents(); light != "#0b5cad" || dark != public.Dark.Nearest(light) || dark == light {
		t.Error(light, dark)
	}
}

// The nearest colour is readable, and it is the colour itself if that is readable.
func TestTheNearestColourIsReadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		colour := "#" + rapid.StringMatching(`[0-9a-f]{6}`).Draw(t, "colour")
		for _, theme := range []public.Theme{public.Light, public.Dark} {
			nearest := theme.Nearest(colour)
			if theme.Contrast(nearest) < public.MinContrast {
				t.Fatalf("%s: %s for %s has %f", theme.Name, nearest, colour, theme.Contrast(nearest))
			}
			if (nearest == colour) != (theme.Contrast(colour) >= public.MinContrast) {
				t.Fatalf("%s: %s for %s", theme.Name, nearest, colour)
			}
		}
	})
	if got := public.Light.Contrast("#767676"); got < 4.1 || got > 4.3 { // 4.54 on white, less on the page
		t.Error(got)
	}
}

// The backgrounds of the themes equal those in the style of status pages.
func TestThemesAreThoseOfTheStyle(t *testing.T) {
	text, err := os.ReadFile("../app/ui/status/style.css")
	if err != nil {
		t.Fatal(err)
	}
	roles := regexp.MustCompile(`--(page|card|ink): (#[0-9a-f]{3,6});`).FindAllStringSubmatch(string(text), -1)
	if len(roles) != 6 {
		t.Fatalf("%d roles, want page, card and ink of two themes", len(roles))
	}
	for i, role := range roles {
		theme := public.Light
		if i >= 3 {
			theme = public.Dark
		}
		colour := strings.Replace(role[2], "#fff", "#ffffff", 1)
		if colour != theme.Grounds[0] && colour != theme.Grounds[1] {
			t.Errorf("%s is %s, which the %s theme does not know", role[1], role[2], theme.Name)
		}
	}
}
