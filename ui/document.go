package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// document is bytes that are served as they are.
type document struct {
	kind string // content type
	body []byte
	gzip []byte // the same packed; nil where it would not be worth it
	tag  string // differs where the bytes do
}

const packFrom = 1 << 10 // bytes

func newDocument(kind string, body []byte) document {
	sum := sha256.Sum256(body)
	d := document{kind: kind, body: body, tag: hex.EncodeToString(sum[:12])}
	if len(body) < packFrom {
		return d
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	d.gzip = b.Bytes()
	return d
}

// form picks plain or packed, and says so.
func (d document) form(h http.Header, r *http.Request) []byte {
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
	return d.gzip
}

// serve answers GET and HEAD, and with 304 who has it.
func (d document) serve(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.form(w.Header(), r)))
}

// serveStatus answers with a status that is not about the document.
func (d document) serveStatus(w http.ResponseWriter, r *http.Request, status int) {
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

// problem is an error for machines, in the words of the API.
func problem(status int) document {
	code, title := "unavailable", "Not available now"
	if status == http.StatusNotFound {
		code, title = "not_found", "Not found"
	}
	body, _ := json.Marshal(struct { // plain words and numbers
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
	}{title, status, code})
	return newDocument("application/problem+json", body)
}
