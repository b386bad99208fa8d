package nats

import (
	"context"
	"net"
	"sync"
	"time"
)

// openWait is how long the first try to connect may take. The client makes it while it is opened and the others beside.
const openWait = 2 * time.Second

// closeWait is how long the client may take to say goodbye.
const closeWait = time.Second

// dialer makes connections that end with its context. The client holds its lock while it shakes hands, with a server that
// may say nothing, and nothing else ends that before its time.
type dialer struct {
	mu  sync.Mutex
	ctx context.Context
}

// Dial implements the custom dialer of the client.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	conn, err := (&net.Dialer{Timeout: shortWait}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &tied{conn, context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// use is the context of the connections to come.
func (d *dialer) use(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = ctx
}

// tied is a connection that ends with a context.
type tied struct {
	net.Conn
	untie func() bool
}

func (t *tied) Close() error {
	t.untie()
	return t.Conn.Close()
}
