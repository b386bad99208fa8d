package blob_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/core"
)

// A bucket behind a private authority is used if AWS_CA_BUNDLE names it, for questions and for bytes. Otherwise each error names
// the certificate and the way out, also where the time of the caller ends between two tries.
func TestABucketWithAPrivateAuthority(t *testing.T) {
	credentials(t, accessKey, secretKey)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "sha256") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	address := "s3://artifacts?endpoint=" + server.URL
	put := func(st blob.Store) error {
		return st.Put(t.Context(), announce(program), bytes.NewReader([]byte(program)))
	}

	authority := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", authority)
	trusting := openBucket(t, address)
	must(t, trusting.Check(t.Context()))
	must(t, put(trusting))

	t.Setenv("AWS_CA_BUNDLE", "")
	st := openBucket(t, address)
	soon := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // which may end in the pause between two tries
		defer cancel()
		return st.Check(ctx)
	}
	for doing, err := range map[string]error{"check": st.Check(t.Context()), "check soon": soon(), "put": put(st)} {
		if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
			t.Errorf("%s: %v", doing, err)
		}
	}
}
