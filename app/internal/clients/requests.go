package clients

import (
	"net/http"
	"net/netip"
)

// Handler limits the requests of HTTP/2, where a connection carries many at once. All connections together may have as many
// requests in progress as there are places, and an address half as many; further requests are reset. So the cost of a
// connection does not depend on its number of requests.
func (l *Listener) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			h.ServeHTTP(w, r)
			return
		}
		from, proxy := l.peerOf(r.RemoteAddr)
		if !l.begin(from, proxy) {
			panic(http.ErrAbortHandler) // an answer could wait for the client; a reset does not
		}
		defer l.finish(from)
		h.ServeHTTP(w, r)
		// Otherwise net/http sends a small answer after the handler, which then waits for the client's window uncounted.
		_ = http.NewResponseController(w).Flush()
	})
}

// begin counts a request of an address, or refuses it.
func (l *Listener) begin(from netip.Prefix, proxy bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.most || !proxy && l.requests[from] >= max(1, l.most/2) {
		return false
	}
	l.running++
	l.requests[from]++
	return true
}

func (l *Listener) finish(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.requests[from]--; l.requests[from] == 0 {
		delete(l.requests, from)
	}
}
