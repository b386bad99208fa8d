package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

// writePair writes a certificate with a serial number, and its key.
func writePair(t *testing.T, cert, key string, serial int64, at time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: at.Add(-time.Hour), NotAfter: at.Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsReadAgainWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := openCertificate(cert, key, slog.New(slog.DiscardHandler)); core.CodeOf(err) != core.Invalid {
		t.Fatalf("without files: %v", err)
	}
	writePair(t, cert, key, 1, now)
	var logged strings.Builder
	c, err := openCertificate(cert, key, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return now }
	served := func() int64 {
		t.Helper()
		pair, err := c.get(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	writePair(t, cert, key, 2, now.Add(time.Second))
	if got := served(); got != 1 {
		t.Errorf("looked again too soon: certificate %d", got)
	}
	now = now.Add(2 * certificateInterval)
	if got := served(); got != 2 || !c.check().OK {
		t.Errorf("certificate %d, %+v", got, c.check())
	}
	if err := os.WriteFile(key, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * certificateInterval)
	if got := served(); got != 2 || c.check().OK || !strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("with a broken key: certificate %d, %+v, %s", got, c.check(), logged.String())
	}
	writePair(t, cert, key, 3, now)
	now = now.Add(2 * certificateInterval)
	if got := served(); got != 3 || !c.check().OK {
		t.Errorf("mended: certificate %d, %+v", got, c.check())
	}
	now = now.Add(48 * time.Hour)
	if check := c.check(); check.OK || !strings.Contains(check.Detail, "expired") {
		t.Errorf("after its end: %+v", check)
	}
}
