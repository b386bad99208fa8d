package app

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// certificateLook is how often the files of the certificate are looked at.
const certificateLook = 2 * time.Second

// servedCert serves the certificate of two files, and another one once they
// have changed. A pair that cannot be used, such as one that is being replaced,
// leaves the one before in service.
type servedCert struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]fileState
	lookAt time.Time // when to look again
	err    error     // why the files that are there are not served
}

// fileState tells versions of a file apart.
type fileState struct {
	changed time.Time
	size    int64
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{info.ModTime(), info.Size()}
}

// openCertificate reads the files, and refuses a pair that cannot be used.
func openCertificate(cert, key string, log *slog.Logger) (*servedCert, error) {
	c := &servedCert{cert: cert, key: key, log: log, now: time.Now}
	if err := c.read(); err != nil {
		return nil, core.InvalidField("tls_cert", cert, "cannot be used: "+err.Error(), "give PEM files of a certificate and its key")
	}
	c.lookAt = c.now().Add(certificateLook)
	return c, nil
}

// read takes the files as they are. Their states are taken first: a change
// that comes while they are read is seen at the next look.
func (c *servedCert) read() error {
	c.seen = [2]fileState{stateOf(c.cert), stateOf(c.key)}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair = &pair
	}
	return err
}

// look reads the files again if they have changed.
func (c *servedCert) look() {
	now := c.now()
	if now.Before(c.lookAt) {
		return
	}
	c.lookAt = now.Add(certificateLook)
	if c.seen == [2]fileState{stateOf(c.cert), stateOf(c.key)} {
		return
	}
	if c.err = c.read(); c.err != nil {
		c.log.Error("cannot load the TLS certificate, serving the one before", "tls_cert", c.cert, "tls_key", c.key, "error", c.err)
		return
	}
	c.log.Info("loaded the TLS certificate", "tls_cert", c.cert, "expires", c.pair.Leaf.NotAfter)
}

// get is [tls.Config.GetCertificate].
func (c *servedCert) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.pair, nil
}

// check says whether the files are served, and how long they are good.
func (c *servedCert) check() core.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	out := core.Check{Name: "certificate"}
	switch {
	case c.err != nil:
		out.Detail, out.Fix = "the files on disk cannot be used, and the certificate before them is served", "replace tls_cert and tls_key by a pair that belongs together"
	case c.now().After(c.pair.Leaf.NotAfter):
		out.Detail, out.Fix = "expired at "+core.Stamp(c.pair.Leaf.NotAfter), "renew tls_cert and tls_key; no restart is needed"
	default:
		out.OK = true
	}
	return out
}
