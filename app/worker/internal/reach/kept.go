package reach

import (
	"net/http"
	"sync"
	"time"
)

// keptFor is how long a transport keeps connections. A kept connection shows the certificate and the address of its begin: without
// an end, a check that is due every few seconds would never see the certificate that replaces this one.
const keptFor = time.Hour

// keptTransport is a transport with the time since which it keeps connections.
type keptTransport struct {
	*http.Transport
	mu    sync.Mutex
	since time.Time
}

// renew returns the transport, or a new one in its place if its connections may be too old. The old one closes those that
// are in use just then when they are given back.
func (k *keptTransport) renew(now time.Time) *http.Transport {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.since) >= keptFor {
		old := k.Transport
		k.Transport, k.since = old.Clone(), now
		old.CloseIdleConnections()
	}
	return k.Transport
}

// end closes the connections that no request uses.
func (k *keptTransport) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.CloseIdleConnections()
}
