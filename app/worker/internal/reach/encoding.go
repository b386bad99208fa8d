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

// maxEncodings bounds how often a body is packed in another. One is usual, and two are a mistake of a proxy. Each can make a
// thousand bytes of one, and of a body that unpacks to nothing no bound on what is read takes notice: three could keep a
// processor busy for minutes with what was read at once.
const maxEncodings = 2

// encodings are those of a body that still has some: net/http undoes gzip where it has asked for it, and removes the header.
func encodings(h http.Header) (list []string) {
	for name := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			list = append(list, strings.TrimPrefix(name, "x-"))
		}
	}
	return list
}

// decoded undoes the encodings of a body that were not asked for. Those it cannot undo it leaves as they are, and names them.
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

// unpacking reads a packed body. An empty one is empty: it is that of a HEAD, perhaps.
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

// open finds out how deflate is meant: with the frame of zlib, as it should be, or without.
func (u *unpacking) open(start []byte) (io.Reader, error) {
	switch {
	case u.name == "gzip":
		return gzip.NewReader(u.from)
	case len(start) == 2 && start[0]&0x0f == 8 && (uint(start[0])<<8|uint(start[1]))%31 == 0:
		return zlib.NewReader(u.from)
	}
	return flate.NewReader(u.from), nil
}
