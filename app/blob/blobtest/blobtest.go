// Package blobtest is the conformance suite of stores of artifacts: each case
// runs on a folder and on a bucket of a real S3 server.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

// MaxSize is the limit that a store under test must be opened with.
const MaxSize = 8 << 20

// Run runs all cases. Open returns an empty store whose links work.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := open(t)
			t.Cleanup(func() {
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
			c.run(&bench{T: t, Store: st, ctx: t.Context(), client: newClient(t)})
		})
	}
}

var cases []struct {
	name string
	run  func(*bench)
}

func add(name string, run func(*bench)) {
	cases = append(cases, struct {
		name string
		run  func(*bench)
	}{name, run})
}

// bench is the environment of a case.
type bench struct {
	*testing.T
	blob.Store
	ctx    context.Context
	client *http.Client
}

// newClient keeps no connection from one case to another.
func newClient(t *testing.T) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// some makes bytes that differ by their name, and their announcement.
func some(name string, size int) ([]byte, blob.Upload) {
	seed := sha256.Sum256([]byte(name))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b, Announce(b)
}

func (b *bench) ok(err error) {
	b.Helper()
	Must(b.T, err)
}

func (b *bench) code(err error, want core.Code) {
	b.Helper()
	WantCode(b.T, err, want)
}

// put keeps bytes without a link.
func (b *bench) put(name string, size int) ([]byte, blob.Upload) {
	b.Helper()
	body, up := some(name, size)
	b.ok(b.Put(b.ctx, up, bytes.NewReader(body)))
	return body, up
}

func (b *bench) linkPut(up blob.Upload) blob.SignedRequest {
	b.Helper()
	to, err := b.SignPut(b.ctx, up, time.Minute)
	b.ok(err)
	return to
}

func (b *bench) linkGet(digest string) blob.SignedRequest {
	b.Helper()
	from, err := b.SignGet(b.ctx, digest, time.Minute)
	b.ok(err)
	return from
}

// do carries out a link, changed a little. Status 0 is a connection that the
// store gave up.
func (b *bench) do(q blob.SignedRequest, body io.Reader, change ...func(*http.Request)) (status int, answer []byte) {
	b.Helper()
	r, err := signed.Request(b.ctx, q, body)
	b.ok(err)
	for _, fn := range change {
		fn(r)
	}
	got, err := b.client.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer got.Body.Close()
	answer, err = io.ReadAll(got.Body)
	b.ok(err)
	return got.StatusCode, answer
}

// refused is an answer that blames the request.
func refused(status int) bool { return status == 0 || status/100 == 4 }

func (b *bench) holds(up blob.Upload, body []byte) {
	b.Helper()
	info, err := b.Stat(b.ctx, up.Digest)
	b.ok(err)
	if info.Digest != up.Digest || info.Size != up.Size || info.Changed.IsZero() || !info.Verified {
		b.Fatalf("stat: %+v", info)
	}
	r, err := b.Open(b.ctx, up.Digest)
	b.ok(err)
	got, err := io.ReadAll(r)
	b.ok(err)
	b.ok(r.Close())
	if !bytes.Equal(got, body) {
		b.Fatalf("the store gives %d bytes, not the %d that it took", len(got), len(body))
	}
	b.ok(blob.Verify(b.ctx, b.Store, up))
}

// empty expects that nothing is left of refused bytes.
func (b *bench) empty() {
	b.Helper()
	all, err := b.List(b.ctx, "", blob.MaxList)
	b.ok(err)
	if len(all) != 0 {
		b.Fatalf("the store holds %+v", all)
	}
}

// badDigests are names that must never reach a path or a key.
func badDigests() []string {
	good := strings.Repeat("ab", 32)
	return []string{
		"", "..", "../../etc/passwd", good[:63], good + "0", strings.ToUpper(good), "g" + good[1:],
		"../" + good[3:], good[:62] + "/a", "sha256:" + good, good[:63] + "\x00", good[:63] + "\n", "%2e%2e%2f" + good[9:],
		strings.Repeat("é", 32),
	}
}

func names(infos []blob.Info) (s string) {
	for _, i := range infos {
		s += fmt.Sprintf("%.8s %d\n", i.Digest, i.Size)
	}
	return s
}
