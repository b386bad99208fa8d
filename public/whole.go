package public

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// maxScans is how many scans a JPEG may have. Encoders make about ten of a progressive one, and each costs whoever shows it as
// much as the whole image.
const maxScans = 64

const errBreaksOff = brokenImage("it breaks off")

type brokenImage string

func (b brokenImage) Error() string { return string(b) }

// wholePNG walks the chunks of a PNG to its end, and decodes none: what they hold may be a thousand times as large.
func wholePNG(all []byte) error {
	const signature, around = 8, 12 // around: a chunk's length, type and checksum
	hasData, rest := false, all[min(signature, len(all)):]
	for first := true; ; first = false {
		if len(rest) < around {
			return errBreaksOff
		}
		size := uint64(binary.BigEndian.Uint32(rest))
		if size > uint64(len(rest)-around) {
			return errBreaksOff
		}
		n := int(size) //nolint:gosec // less than the length
		name := string(rest[4:8])
		if crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return brokenImage(fmt.Sprintf("the checksum of its part %q is wrong", name))
		}
		rest = rest[around+n:]
		switch {
		case first != (name == "IHDR"):
			return brokenImage("it does not have one head, at its begin")
		case name == "IDAT":
			hasData = true
		case name == "IEND" && !hasData:
			return brokenImage("it has no pixels")
		case name == "IEND":
			return endsAt(rest)
		}
	}
}

// wholeJPEG walks the segments of a JPEG to its end, and decodes none: a progressive one of 32 KiB may take seconds.
func wholeJPEG(all []byte) error {
	const (
		start, end, scan = 0xd8, 0xd9, 0xda
		fill             = 0xff
	)
	rest := all[min(2, len(all)):]
	frames, scans := 0, 0
	for {
		if len(rest) < 2 {
			return errBreaksOff
		}
		if rest[0] != fill {
			return brokenImage("there is something between its parts")
		}
		marker := rest[1]
		if marker == fill {
			rest = rest[1:]
			continue
		}
		rest = rest[2:]
		switch {
		case marker == end && scans == 0:
			return brokenImage("it has no pixels")
		case marker == end:
			return endsAt(rest)
		case marker == start || marker == 0:
			return brokenImage("there is something between its parts")
		case marker == 0x01 || isRestart(marker): // they have no length
			continue
		case isFrame(marker):
			frames++
		case marker == scan:
			scans++
		}
		switch {
		case frames > 1 || scans > 0 && frames == 0:
			return brokenImage("it does not have one head, before its pixels")
		case scans > maxScans:
			return brokenImage(fmt.Sprintf("it has more than %d scans", maxScans))
		case len(rest) < 2:
			return errBreaksOff
		}
		n := int(binary.BigEndian.Uint16(rest))
		if n < 2 || n > len(rest) {
			return errBreaksOff
		}
		if rest = rest[n:]; marker == scan {
			rest = afterScan(rest)
		}
	}
}

// afterScan is what follows the pixels of a scan, in which a byte of ones is followed by a zero or is a restart.
func afterScan(rest []byte) []byte {
	for i := 0; i+1 < len(rest); i++ {
		if rest[i] == 0xff && rest[i+1] != 0 && !isRestart(rest[i+1]) {
			return rest[i:]
		}
	}
	return nil
}

func isRestart(marker byte) bool { return marker >= 0xd0 && marker <= 0xd7 }

// isFrame reports a start of frame: 0xc4, 0xc8 and 0xcc among them are others.
func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

func endsAt(rest []byte) error {
	if len(rest) > 0 {
		return brokenImage(fmt.Sprintf("%d bytes follow its end", len(rest)))
	}
	return nil
}
