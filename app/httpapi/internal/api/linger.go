package api

import (
	"io"
	"net/http"
	"time"
)

// How much of a body is taken that was not read, and for how long: it holds a place among the connections. Less than the least
// is taken by net/http itself.
const (
	lingerLeast = 256 << 10
	lingerMost  = 64 << 20
	lingerFor   = 10 * time.Second
)

// sent is the body of a request. It records whether it was read to its end.
type sent struct {
	io.ReadCloser
	over bool
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.over = s.over || err != nil
	return n, err
}

// linger reads the rest of a body that was refused, or of which only the beginning counts. Without it, a client that reads
// the answer only after it has sent the whole body would get a connection reset: net/http reads 256 KB more, and closes the
// connection half a second later.
// A client that sent Expect waits for the answer, and sends no body after a refusal.
func (s *sent) linger(w *http.ResponseController, r *http.Request) {
	if small := r.ContentLength >= 0 && r.ContentLength < lingerLeast; s == nil || s.over || small || r.ProtoMajor != 1 || r.Header.Get("Expect") != "" {
		return
	}
	if w.Flush() == nil && w.SetReadDeadline(time.Now().Add(lingerFor)) == nil {
		_, _ = io.CopyN(io.Discard, s, lingerMost)
	}
}
