// Package asset serves bytes that are the same for everybody: rendered pages,
// styles, scripts and icons.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Document is bytes that are served as they are.
type Document struct {
	kind string // content type
	body []byte
	gzip func() []byte // the same packed, when it is first asked for; nil where it would not be worth it
	tag  string        // differs where the bytes do
}

const packFrom = 1 << 10 // bytes

// NewDocument packs a body where that is worth it.
func NewDocument(kind string, body []byte) Document {
	sum := sha256.Sum256(body)
	d := Document{kind: kind, body: body, tag: hex.EncodeToString(sum[:12])}
	if len(body) < packFrom {
		return d
	}
	d.gzip = sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // into memory
		_ = w.Close()
		return b.Bytes()
	})
	return d
}

// form picks plain or packed, and says so.
func (d Document) form(h http.Header, r *http.Request) []byte {
	h.Set("Content-Type", d.kind)
	if d.gzip == nil {
		h.Set("ETag", `"`+d.tag+`"`)
		return d.body
	}
	h.Set("Vary", "Accept-Encoding")
	if !takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("ETag", `"`+d.tag+`"`)
		return d.body
	}
	h.Set("Content-Encoding", "gzip")
	h.Set("ETag", `"`+d.tag+`-gzip"`)
	return d.gzip()
}

// Serve answers GET and HEAD, and with 304 if the client has this version.
func (d Document) Serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.form(w.Header(), r)))
}

// ServeStatus answers with a status that is not about the document.
func (d Document) ServeStatus(w http.ResponseWriter, r *http.Request, status int) {
	body := d.form(w.Header(), r)
	w.Header().Del("ETag")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// takesGzip reads an Accept-Encoding.
func takesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, weighed := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		n, err := strconv.ParseFloat(q, 64)
		return !weighed || err == nil && n > 0
	}
	return false
}
