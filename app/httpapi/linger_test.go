package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A client that sends all of its body before it looks for an answer hears why it was refused.
func TestAClientThatSendsMuchHearsWhyItIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const size = 32 << 20 // more than sockets hold
	for _, path := range []string{"/v1/jobs", "/artifacts/default/x"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // of a test
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer wrong\r\nContent-Length: %d\r\n\r\n", path, conn.RemoteAddr(), size)
		if _, err := conn.Write(bytes.Repeat([]byte("x"), size)); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode/100 != 4 || !answer.Close {
			t.Errorf("%s: %+v, %v", path, answer, err)
		}
	}
}
