package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/belfry-run/belfry/app/blob"
	"github.com/belfry-run/belfry/internal/signed"
)

// A client sends a program by a link, the server confirms it, and a worker
// fetches it by another link. Neither knows a credential.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "artifacts-")
	defer os.RemoveAll(dir)
	server := httptest.NewUnstartedServer(nil)
	st, err := blob.Open(ctx, "folder:"+dir, blob.Options{URL: "http://" + server.Listener.Addr().String() + "/artifacts"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	server.Config.Handler = st.(http.Handler)
	server.Start()
	defer server.Close()

	bytesOf := []byte("#!/bin/sh\necho hello\n")
	sum := sha256.Sum256(bytesOf)
	up := blob.Upload{Digest: hex.EncodeToString(sum[:]), Size: int64(len(bytesOf))}

	to, _ := st.SignPut(ctx, up, 15*time.Minute)
	fmt.Println("sent:", signed.Send(ctx, http.DefaultClient, to, bytes.NewReader(bytesOf)))
	fmt.Println("sent again:", signed.Send(ctx, http.DefaultClient, to, bytes.NewReader(bytesOf)))
	fmt.Println("confirmed:", blob.Verify(ctx, st, up))

	from, _ := st.SignGet(ctx, up.Digest, 5*time.Minute)
	request, _ := signed.Request(ctx, from, nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	got, _ := io.ReadAll(answer.Body)
	fmt.Printf("fetched: %q\n", got)
	// Output:
	// sent: <nil>
	// sent again: <nil>
	// confirmed: <nil>
	// fetched: "#!/bin/sh\necho hello\n"
}
