package reach

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"
)

// trust is a pool of authorities, parsed once from a task's PEM.
type trust struct{ pool *x509.CertPool }

// Trusted returns the pool of a PEM. Without a PEM it is the pool of the options;
// nil means the system's.
func (n *Net) Trusted(ca string) (*x509.CertPool, error) {
	if ca == "" {
		return n.roots, nil
	}
	t, err := n.trusts.Get(ca, func() (*trust, error) {
		pool, err := ParseCA(ca)
		return &trust{pool}, err
	})
	if err != nil {
		return nil, err
	}
	return t.pool, nil
}

// ParseCA reads the authorities of a PEM.
func ParseCA(text string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	rest, found := []byte(text), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		pool.AddCert(c)
		found++
	}
	if found == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	return pool, nil
}

// ParsePair reads a certificate and its key.
func ParsePair(cert, key string) (tls.Certificate, error) {
	return tls.X509KeyPair([]byte(cert), []byte(key))
}

// chainEnd returns the earliest expiry of a chain. Of several verified chains it
// uses the one that is valid longest. The root is left out, because it is in the
// store of this machine and the target cannot renew it. Without a verified chain,
// all presented certificates count.
func chainEnd(cs *tls.ConnectionState) time.Time {
	if cs == nil {
		return time.Time{}
	}
	var best time.Time
	for _, chain := range cs.VerifiedChains {
		if end := firstEnd(withoutRoot(chain)); end.After(best) {
			best = end
		}
	}
	if best.IsZero() {
		best = firstEnd(cs.PeerCertificates)
	}
	return best
}

func withoutRoot(chain []*x509.Certificate) []*x509.Certificate {
	if len(chain) > 1 {
		return chain[:len(chain)-1]
	}
	return chain
}

func firstEnd(chain []*x509.Certificate) (end time.Time) {
	for _, c := range chain {
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// Saw records the facts of a handshake.
func (c *Check) Saw(cs *tls.ConnectionState) {
	if cs == nil || len(cs.PeerCertificates) == 0 {
		return
	}
	c.Facts.CertEnd = chainEnd(cs).UTC()
	c.Facts.Issuer = cs.PeerCertificates[0].Issuer.String()
	c.Facts.TLS = tls.VersionName(cs.Version)
}

// SawRefused records the expiry of a certificate that was not accepted.
func (c *Check) SawRefused(err error) {
	var refused *tls.CertificateVerificationError
	if errors.As(err, &refused) {
		c.Saw(&tls.ConnectionState{PeerCertificates: refused.UnverifiedCertificates})
	}
}
