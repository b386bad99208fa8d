package blob_test

import (
	"bytes"
	"context"
	"encoding/pem"
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
	refused := make(refusals, 1)
	server.Config.ErrorLog = log.New(refused, "", 0)
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
		ctx := overtime{t.Context(), make(chan struct{})}
		go func() {
			<-refused
			time.AfterFunc(time.Second, func() { close(ctx.over) }) // most likely in a pause between two tries
		}()
		return st.Check(ctx)
	}
	for doing, err := range map[string]error{"check soon": soon(), "check": st.Check(t.Context()), "put": put(st)} {
		if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
			t.Errorf("%s: %v", doing, err)
		}
	}
}

// refusals receives a value when the server logs that a client has refused its certificate.
type refusals chan struct{}

func (r refusals) Write(line []byte) (int, error) {
	select {
	case r <- struct{}{}:
	default:
	}
	return len(line), nil
}

// overtime is a context whose time is over when a channel is closed.
type overtime struct {
	context.Context
	over chan struct{}
}

func (o overtime) Done() <-chan struct{} { return o.over }

func (o overtime) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
