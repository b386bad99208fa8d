package app

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// certificateInterval is the interval at which the files of the certificate are checked for changes.
const certificateInterval = 2 * time.Second

// servedCert serves the certificate of two files, and reloads it after they
// change. While the pair is unusable, for example during a replacement, it
// serves the previous certificate.
type servedCert struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu        sync.Mutex
	pair      *tls.Certificate
	seen      [2]fileState
	nextCheck time.Time // time of the next check of the files
	err       error     // why the current files are not served
}

// fileState identifies a version of a file.
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

// openCertificate reads the files, and refuses an unusable pair.
func openCertificate(cert, key string, log *slog.Logger) (*servedCert, error) {
	c := &servedCert{cert: cert, key: key, log: log, now: time.Now}
	if err := c.read(); err != nil {
		return nil, core.InvalidField("tls_cert", cert, "cannot be used: "+err.Error(), "give PEM files of a certificate and its key")
	}
	c.nextCheck = c.now().Add(certificateInterval)
	return c, nil
}

// read loads the files. It takes their states first, so that the next look sees
// a change during the load.
func (c *servedCert) read() error {
	c.seen = [2]fileState{stateOf(c.cert), stateOf(c.key)}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair = &pair
	}
	return err
}

// reloadIfChanged reads the files again if they have changed.
func (c *servedCert) reloadIfChanged() {
	now := c.now()
	if now.Before(c.nextCheck) {
		return
	}
	c.nextCheck = now.Add(certificateInterval)
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
	c.reloadIfChanged()
	return c.pair, nil
}

// check reports whether the current files are served, and when the certificate expires.
func (c *servedCert) check() core.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reloadIfChanged()
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
