package programs

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/task"
)

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
