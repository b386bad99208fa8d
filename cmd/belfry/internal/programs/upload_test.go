package programs

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/task"
)

func TestUploadToAServerOfAPrivateAuthority(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(srv.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	link := task.SignedRequest{Method: http.MethodPut, URL: "/put", Headers: map[string]string{"Content-Length": "5"}}
	for trusted, want := range map[string]core.Code{ca: "", "": core.Unavailable, ca + "x": core.Invalid} {
		s := &cli.Conn{Where: srv.URL, CAFile: trusted, Now: time.Now()}
		if err := send(t.Context(), cli.New(nil, io.Discard, io.Discard, nil), s, "default", link, &executable{path: "program", file: file, size: 5}); core.CodeOf(err) != want {
			t.Errorf("with %q: %v", trusted, err)
		}
	}
}

// TestUploadToAStoreThatStalls ends by itself.
func TestUploadToAStoreThatStalls(t *testing.T) {
	t.Parallel()
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	store := hostile.Serve(t, hostile.HTTP[0])
	s := &cli.Conn{Where: "http://" + store.Address, Now: time.Now(), Transfer: 300 * time.Millisecond}
	c := cli.New(nil, io.Discard, io.Discard, nil)
	link := task.SignedRequest{Method: http.MethodPut, URL: "/put", Headers: map[string]string{"Content-Length": "5"}}
	err = send(t.Context(), c, s, "default", link, &executable{path: "program", file: file, size: 5})
	if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "in time") {
		t.Error(err)
	}
	store.Closed(t, "upload")
}
