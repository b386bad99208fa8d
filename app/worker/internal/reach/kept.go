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

// renew closes connections that may be too old. One that is in use just then may stay for another hour.
func (k *keptTransport) renew(now time.Time) *http.Transport {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.since) >= keptFor {
		k.CloseIdleConnections()
		k.since = now
	}
	return k.Transport
}
