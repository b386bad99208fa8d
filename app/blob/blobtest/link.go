package blobtest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/signed"
)

func init() {
	add("a link takes its bytes, once", func(b *bench) {
		for _, size := range []int{0, 1, 100_000, 2 << 20} {
			body, up := some("program", size)
			to := b.linkPut(up)
			if to.Method != http.MethodPut || !to.Expires.After(time.Now()) {
				b.Fatalf("%+v", to)
			}
			b.code(firstError(b.Stat(b.ctx, up.Digest)), core.NotFound)
			if status, answer := b.do(to, bytes.NewReader(body)); status/100 != 2 {
				b.Fatalf("%d %s", status, answer)
			}
			b.holds(up, body)
			for _, again := range []blob.SignedRequest{to, b.linkPut(up)} {
				if status, _ := b.do(again, bytes.NewReader(body)); status != http.StatusPreconditionFailed && !lost(status, size) {
					b.Fatalf("again: %d", status)
				}
				if err := signed.Send(b.ctx, b.client, again, bytes.NewReader(body)); err != nil && !lost(0, size) {
					b.Fatal(err)
				}
			}
			b.holds(up, body)
		}
	})

	add("a link takes no other bytes, and nothing is left of them", func(b *bench) {
		body, up := some("program", 70_000)
		other, otherUp := some("other", 70_000)
		to := b.linkPut(up)
		digests := strings.NewReplacer(up.Digest, otherUp.Digest)
		for name, try := range map[string]func() int{
			"other bytes of this length": func() int { return status(b.do(to, bytes.NewReader(other))) },
			"shorter":                    func() int { return status(b.do(to, bytes.NewReader(body[:100]), length(100))) },
			"longer":                     func() int { return status(b.do(to, bytes.NewReader(append(body, 'x')), length(70_001))) },
			"nothing":                    func() int { return status(b.do(to, http.NoBody, length(0))) },
			"no length":                  func() int { return status(b.do(to, onlyReader{bytes.NewReader(body)}, length(-1))) },
			"the digest of another": func() int {
				to := to
				to.URL = digests.Replace(to.URL)
				return status(b.do(to, bytes.NewReader(other)))
			},
			"reads with it": func() int {
				to := to
				to.Method = http.MethodGet
				return status(b.do(to, nil, length(0)))
			},
			"deletes with it": func() int {
				to := to
				to.Method = http.MethodDelete
				return status(b.do(to, nil, length(0)))
			},
		} {
			if status := try(); !refused(status) {
				b.Errorf("%s: %d", name, status)
			}
		}
		b.empty()
		if got := status(b.do(to, bytes.NewReader(body))); got/100 != 2 {
			b.Fatalf("afterwards: %d", got)
		}
	})

	add("an announced length that is never sent leaves nothing", func(b *bench) {
		body, up := some("program", 70_000)
		err := signed.Send(b.ctx, b.client, b.linkPut(up), bytes.NewReader(body[:50_000]))
		if err == nil {
			b.Fatal("half of the bytes were taken")
		}
		b.empty()
		_, huge := some("huge", 1)
		huge.Size = MaxSize
		if err := signed.Send(b.ctx, b.client, b.linkPut(huge), strings.NewReader("x")); err == nil {
			b.Fatal("one byte was taken for many")
		}
		b.empty()
	})

	add("each part of a link is signed", func(b *bench) {
		body, up := some("program", 1000)
		to := b.linkPut(up)
		b.tamper(to, func() io.Reader { return bytes.NewReader(body) })
		b.empty()
		for name := range to.Headers {
			if http.CanonicalHeaderKey(name) == "Content-Length" { // its own case
				continue
			}
			for _, change := range []func(*http.Request){
				func(r *http.Request) { r.Header.Del(name) },
				func(r *http.Request) { r.Header.Set(name, "other") },
			} {
				if status := status(b.do(to, bytes.NewReader(body), change)); !refused(status) {
					b.Errorf("header %s: %d", name, status)
				}
			}
		}
		b.empty()
		b.ok(signed.Send(b.ctx, b.client, to, bytes.NewReader(body)))
		b.tamper(b.linkGet(up.Digest), func() io.Reader { return nil })
		from := b.linkGet(up.Digest)
		from.Method = http.MethodPut
		if status := status(b.do(from, bytes.NewReader(body))); !refused(status) {
			b.Errorf("writes with a link to read: %d", status)
		}
		b.holds(up, body)
	})

	add("a link to send nothing is no link to read, nor the other way round", func(b *bench) {
		_, up := some("nothing", 0)
		to, from := b.linkPut(up), b.linkGet(up.Digest)
		from.Method = http.MethodPut
		for _, more := range []string{"", "&size=0"} {
			q := from
			q.URL += more
			if status := status(b.do(q, http.NoBody)); !refused(status) {
				b.Errorf("writes with a link to read: %d", status)
			}
		}
		b.empty()
		b.ok(signed.Send(b.ctx, b.client, to, http.NoBody))
		to.Method = http.MethodGet
		if status := status(b.do(to, nil)); !refused(status) {
			b.Errorf("reads with a link to write: %d", status)
		}
	})

	add("a link ends", func(b *bench) {
		_, up := b.put("program", 10)
		body, other := some("other", 10)
		from, err := b.SignGet(b.ctx, up.Digest, time.Second)
		b.ok(err)
		to, err := b.SignPut(b.ctx, other, time.Second)
		b.ok(err)
		// The clock is the server's, so the only way is to ask until it says so.
		for status(b.do(from, nil)) != http.StatusForbidden {
			b.breathe()
		}
		for status(b.do(to, bytes.NewReader(body))) != http.StatusForbidden {
			b.ok(b.Delete(b.ctx, other.Digest)) // it had not ended yet
			b.breathe()
		}
		b.code(firstError(b.Stat(b.ctx, other.Digest)), core.NotFound)
		err = signed.Send(b.ctx, b.client, to, bytes.NewReader(body))
		b.code(err, core.Forbidden)
		b.silent(err.Error(), to)
	})

	add("many links that bring the same at once leave it once, whole", func(b *bench) {
		body, up := some("program", 300_000)
		var wg sync.WaitGroup
		for range 8 {
			to := b.linkPut(up)
			wg.Go(func() {
				switch status, answer := b.do(to, bytes.NewReader(body)); status {
				case http.StatusOK, http.StatusCreated, http.StatusPreconditionFailed, http.StatusConflict:
				default:
					// A server that refuses before it has read the body may close the connection.
					if status != 0 || !bytes.Contains(answer, []byte("reset by peer")) && !bytes.Contains(answer, []byte("broken pipe")) {
						b.Errorf("%d %s", status, answer)
					}
				}
			})
		}
		wg.Wait()
		b.holds(up, body)
	})

	add("a link gives the artifact, its head and its parts", func(b *bench) {
		body, up := b.put("program", 100_000)
		from := b.linkGet(up.Digest)
		if status, got := b.do(from, nil); status != http.StatusOK || !bytes.Equal(got, body) {
			b.Fatalf("%d, %d bytes", status, len(got))
		}
		for part, want := range map[string][]byte{"0-0": body[:1], "1000-1999": body[1000:2000], "99999-": body[99_999:], "-10": body[99_990:]} {
			status, got := b.do(from, nil, func(r *http.Request) { r.Header.Set("Range", "bytes="+part) })
			if status != http.StatusPartialContent || !bytes.Equal(got, want) {
				b.Errorf("%s: %d, %d bytes", part, status, len(got))
			}
		}
		if got := status(b.do(from, nil, func(r *http.Request) { r.Header.Set("Range", "bytes=100000-") })); got != http.StatusRequestedRangeNotSatisfiable {
			b.Errorf("behind the end: %d", got)
		}
	})

	add("a link to what is not there gives 404", func(b *bench) {
		_, up := some("program", 10)
		if status, answer := b.do(b.linkGet(up.Digest), nil); status != http.StatusNotFound {
			b.Fatalf("%d %s", status, answer)
		}
	})
}

// lost is an answer that a server gave and tore down with the connection, as
// some do while much is being sent. That is no fault of the store.
func lost(status, size int) bool { return status == 0 && size > 1 }

// breathe keeps asking from keeping the server busy.
func (b *bench) breathe() {
	b.Helper()
	select {
	case <-b.ctx.Done():
		b.Fatal("the link does not end")
	case <-time.After(50 * time.Millisecond):
	}
}

// tamper changes each parameter of a link, and leaves each out.
func (b *bench) tamper(q blob.SignedRequest, body func() io.Reader) {
	b.Helper()
	u, err := url.Parse(q.URL)
	b.ok(err)
	for name := range u.Query() {
		if name == "x-id" || name == "X-Amz-Expires" { // says nothing; S3 may judge it before the signature
			continue
		}
		for _, value := range []string{"", "0", "9" + u.Query().Get(name), u.Query().Get(name) + "0"} {
			changed := q
			query := u.Query()
			query.Set(name, value)
			if value == "" {
				query.Del(name)
			}
			to := *u
			to.RawQuery = query.Encode()
			changed.URL = to.String()
			if status := status(b.do(changed, body())); !refused(status) {
				b.Errorf("%s=%s: %d", name, value, status)
			}
		}
	}
}

// silent makes sure that a text repeats nothing of a link that lets anybody in.
func (b *bench) silent(text string, q blob.SignedRequest) {
	b.Helper()
	u, err := url.Parse(q.URL)
	b.ok(err)
	for name, values := range u.Query() {
		if strings.Contains(strings.ToLower(name), "signature") && slices.ContainsFunc(values, func(v string) bool { return strings.Contains(text, v) }) {
			b.Errorf("the text repeats %s: %s", name, text)
		}
	}
}

func status(status int, _ []byte) int { return status }

func firstError(_ blob.Info, err error) error { return err }

// length sends a body of another length than the link says; -1 is in chunks.
func length(n int64) func(*http.Request) {
	return func(r *http.Request) {
		r.ContentLength = n
		if n == 0 {
			r.Body = http.NoBody
		}
	}
}

// onlyReader hides how long a body is.
type onlyReader struct{ io.Reader }
