package search

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAPieceOfLogComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "word"), rapid.IntRange(0, 300).Draw(t, "times"))
		kept, err := hex.DecodeString(packLog(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) > len(text)+1 {
			t.Fatalf("%d bytes are stored as %d, want at most one more", len(text), len(kept))
		}
		got, err := unpackLog(kept)
		if err != nil || got != text {
			t.Fatalf("unpacked piece: got %q, %v, want %q", got, err, text)
		}
	})
	for _, bad := range [][]byte{nil, {7, 'a'}, {logDeflate, 0xff}} {
		if _, err := unpackLog(bad); err == nil {
			t.Errorf("unpack %v: got no error", bad)
		}
	}
}

func TestOrdinaryLogsAreCompressed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 600 {
		b.WriteString("2026-11-23T20:00:00Z level=INFO msg=\"copied a file\" bytes=1048576 name=photo-" + strings.Repeat("x", i%7) + "\n")
	}
	if kept := len(packLog(b.String())) / 2; kept*8 > b.Len() {
		t.Errorf("%d bytes of an ordinary log are stored as %d, want at most an eighth", b.Len(), kept)
	}
}
