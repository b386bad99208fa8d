package public

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// maxScans is the most scans of a JPEG. Encoders use about ten in a progressive image, and each scan costs a viewer as much
// as the whole image.
const maxScans = 64

const (
	errBreaksOff = brokenImage("it breaks off")
	errTurned    = brokenImage("its metadata turns it")
)

type brokenImage string

func (b brokenImage) Error() string { return string(b) }

// shownPNG are the chunks of a PNG that affect its display: pixels, colours and frames. The others say where, when and by
// whom the image was made.
var shownPNG = []string{"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "acTL", "fcTL", "fdAT"}

// barePNG returns a PNG without its metadata. It reads all chunks and decompresses none: their content may be a thousand times
// as large.
func barePNG(all []byte) (bare []byte, err error) {
	const signature, around = 8, 12 // around: bytes of a chunk's length, type and checksum
	hasData, rest := false, all[min(signature, len(all)):]
	bare = append(bare, all[:len(all)-len(rest)]...)
	for first := true; ; first = false {
		if len(rest) < around {
			return nil, errBreaksOff
		}
		size := uint64(binary.BigEndian.Uint32(rest))
		if size > uint64(len(rest)-around) {
			return nil, errBreaksOff
		}
		n := int(size) //nolint:gosec // less than the length
		name := string(rest[4:8])
		if crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return nil, brokenImage(fmt.Sprintf("the checksum of its part %q is wrong", name))
		}
		switch {
		case slices.Contains(shownPNG, name):
			bare = append(bare, rest[:around+n]...)
		case name == "eXIf" && isTurned(rest[8:8+n]):
			return nil, errTurned
		}
		rest = rest[around+n:]
		switch {
		case first != (name == "IHDR"):
			return nil, brokenImage("it does not have one head, at its begin")
		case name == "IDAT":
			hasData = true
		case name == "IEND" && !hasData:
			return nil, brokenImage("it has no pixels")
		case name == "IEND":
			return bare, endsAt(rest)
		}
	}
}

// bareJPEG returns a JPEG without its metadata. It reads all segments and decodes none: a progressive image of 32 KiB may take
// seconds.
func bareJPEG(all []byte) (bare []byte, err error) {
	const (
		start, end, scan = 0xd8, 0xd9, 0xda
		fill             = 0xff
	)
	rest := all[min(2, len(all)):]
	bare = append(bare, all[:len(all)-len(rest)]...)
	frames, scans := 0, 0
	for {
		if len(rest) < 2 {
			return nil, errBreaksOff
		}
		if rest[0] != fill {
			return nil, brokenImage("there is something between its parts")
		}
		marker, part := rest[1], rest
		if marker == fill {
			rest = rest[1:]
			continue
		}
		rest = rest[2:]
		switch {
		case marker == end && scans == 0:
			return nil, brokenImage("it has no pixels")
		case marker == end:
			return append(bare, part[:2]...), endsAt(rest)
		case marker == start || marker == 0:
			return nil, brokenImage("there is something between its parts")
		case marker == 0x01 || isRestart(marker): // markers without a length
			bare = append(bare, part[:2]...)
			continue
		case isFrame(marker):
			frames++
		case marker == scan:
			scans++
		}
		switch {
		case frames > 1 || scans > 0 && frames == 0:
			return nil, brokenImage("it does not have one head, before its pixels")
		case scans > maxScans:
			return nil, brokenImage(fmt.Sprintf("it has more than %d scans", maxScans))
		case len(rest) < 2:
			return nil, errBreaksOff
		}
		n := int(binary.BigEndian.Uint16(rest))
		if n < 2 || n > len(rest) {
			return nil, errBreaksOff
		}
		if tiff, is := bytes.CutPrefix(rest[2:n], []byte("Exif\x00\x00")); is && marker == 0xe1 && isTurned(tiff) {
			return nil, errTurned
		}
		kept := isShownJPEG(marker, rest[2:n])
		if rest = rest[n:]; marker == scan {
			rest = afterScan(rest)
		}
		if kept {
			bare = append(bare, part[:len(part)-len(rest)]...)
		}
	}
}

// isShownJPEG reports whether a segment affects the display. Application segments may contain places, names and thumbnails;
// only the colour profile and the colour transform among them do.
func isShownJPEG(marker byte, body []byte) bool {
	switch {
	case marker == 0xe2:
		return bytes.HasPrefix(body, []byte("ICC_PROFILE\x00"))
	case marker == 0xee:
		return bytes.HasPrefix(body, []byte("Adobe")) && len(body) == 12
	case marker == 0xe0:
		return bytes.HasPrefix(body, []byte("JFIF\x00")) && len(body) == 14 // a longer segment has a thumbnail
	}
	return (marker < 0xe0 || marker > 0xef) && marker != 0xfe
}

// isTurned reports whether the metadata of a camera, a TIFF, requires that the image is rotated or mirrored for display.
func isTurned(tiff []byte) bool {
	if len(tiff) < 8 {
		return false
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	const entry, orientation = 12, 0x0112
	at := order.Uint32(tiff[4:])
	if uint64(at)+2 > uint64(len(tiff)) {
		return false
	}
	list := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(list) < entry {
			return false
		}
		if order.Uint16(list) == orientation {
			turn := order.Uint16(list[8:])
			return turn >= 2 && turn <= 8
		}
		list = list[entry:]
	}
	return false
}

// afterScan returns the bytes after the pixels of a scan. Within the pixels, a byte 0xff is followed by a zero or begins a
// restart marker.
func afterScan(rest []byte) []byte {
	for i := 0; i+1 < len(rest); i++ {
		if rest[i] == 0xff && rest[i+1] != 0 && !isRestart(rest[i+1]) {
			return rest[i:]
		}
	}
	return nil
}

func isRestart(marker byte) bool { return marker >= 0xd0 && marker <= 0xd7 }

// isFrame reports whether a marker starts a frame. In the range of these markers, 0xc4, 0xc8 and 0xcc have other meanings.
func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

func endsAt(rest []byte) error {
	if len(rest) > 0 {
		return brokenImage(fmt.Sprintf("%d bytes follow its end", len(rest)))
	}
	return nil
}
