package reach

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
)

// maxEncodings limits the nested encodings of a body. One is usual, and two are a mistake of a proxy. Each can turn one byte
// into a thousand. The limit on bytes does not help for a body that decodes to nothing: with three encodings, a single read
// could keep a CPU busy for minutes.
const maxEncodings = 2

// encodings returns the remaining encodings of a body: net/http decodes gzip if it asked for it, and removes the header.
func encodings(h http.Header) (list []string) {
	for name := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			list = append(list, strings.TrimPrefix(name, "x-"))
		}
	}
	return list
}

// decoded decodes encodings of a body that were not asked for. It leaves unknown encodings in place, and returns their names.
func decoded(body io.Reader, h http.Header) (_ io.Reader, unknown string) {
	list := encodings(h)
	for _, name := range list {
		if name != "gzip" && name != "deflate" || len(list) > maxEncodings {
			return body, strings.Join(list, ", ")
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		body = &unpacking{from: bufio.NewReader(body), name: list[i]}
	}
	return body, ""
}

// unpacking decodes a body. An empty body stays empty: it may be that of a HEAD.
type unpacking struct {
	from *bufio.Reader
	name string
	to   io.Reader
}

func (u *unpacking) Read(b []byte) (int, error) {
	if u.to == nil {
		start, err := u.from.Peek(2)
		if len(start) == 0 {
			return 0, err
		}
		if u.to, err = u.open(start); err != nil {
			return 0, err
		}
	}
	return u.to.Read(b)
}

// open finds out whether deflate has the frame of zlib, as the standard says, or not.
func (u *unpacking) open(start []byte) (io.Reader, error) {
	switch {
	case u.name == "gzip":
		return gzip.NewReader(u.from)
	case len(start) == 2 && start[0]&0x0f == 8 && (uint(start[0])<<8|uint(start[1]))%31 == 0:
		return zlib.NewReader(u.from)
	}
	return flate.NewReader(u.from), nil
}
