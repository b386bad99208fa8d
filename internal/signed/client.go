package signed

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
)

// Authorities are those of the system and of a PEM file. Without a file they are nil, which are those of the system.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, core.InvalidField("ca_file", file, "cannot be read", err.Error())
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, core.InvalidField("ca_file", file, "holds no certificate", "it must be in PEM form")
	}
	return pool, nil
}

// Transport is that of a client of links.
func Transport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t
}

// Client carries out links. It follows no redirect: a link is for one place.
func Client(through *http.Transport) *http.Client {
	return &http.Client{
		Transport:     exchange.Transport{RoundTripper: through},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
