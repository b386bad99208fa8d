package blobtest

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

// Program is the artifact of most tests.
var Program = []byte("\x7fELF and so on")

// Announce is the announcement of bytes before they are sent.
func Announce(body []byte) blob.Upload {
	sum := sha256.Sum256(body)
	return blob.Upload{Digest: hex.EncodeToString(sum[:]), Size: int64(len(body))}
}

// Must ends the test with an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantCode ends the test unless the error has a code; empty: there is none.
func WantCode(t *testing.T, err error, want core.Code) {
	t.Helper()
	if got := core.CodeOf(err); got != want {
		t.Fatalf("got %q (%v), want %q", got, err, want)
	}
}
