package app

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
)

const health = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

// answer reads the answer to a request for the node's health.
func answer(t *testing.T, r *bufio.Reader) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

func TestConnectionsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.MaxClients = 1
	a := start(t, o)
	dial := func() (net.Conn, *bufio.Reader) {
		conn, err := (&net.Dialer{}).DialContext(within(t), "tcp", strings.TrimPrefix(a.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn, bufio.NewReader(conn)
	}
	first, from := dial()
	if _, err := fmt.Fprint(first, health); err != nil {
		t.Fatal(err)
	}
	answer(t, from)
	// The first has its answer before the server counts it as idle: until then, another one of its address is closed.
	var second net.Conn
	var then *bufio.Reader
	for answered := false; !answered; {
		second, then = dial()
		if _, err := fmt.Fprint(second, health); err != nil {
			continue
		}
		_, err := then.Peek(1)
		answered = err == nil
	}
	answer(t, then)
	if _, err := from.ReadByte(); err == nil {
		t.Error("the connection without a request did not make room")
	}
	// One that sends a request keeps its place, and its address has no other.
	if _, err := fmt.Fprintf(second, "POST /beat/%032d HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", 0); err != nil {
		t.Fatal(err)
	}
	if line, err := then.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the body is not read: %q, %v", line, err)
	}
	third, last := dial()
	if err := third.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := last.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection beyond the limit is not closed: %v", err)
	}
	if _, err := second.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := then.ReadString('\n'); err != nil { // the end of the 100
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(then, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("the connection that was busy is answered %s", resp.Status)
	}
}

func TestASlowBodyIsCutOff(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.BodyTimeout = core.Duration(time.Second) // the least that may be set
	a := start(t, o)
	conn, err := (&net.Dialer{}).DialContext(within(t), "tcp", strings.TrimPrefix(a.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	token, err := ReadToken(a.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", token); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil) // it would never come
	if err != nil {
		return // the connection was closed without an answer, which is fine too
	}
	defer resp.Body.Close()
	if resp.StatusCode < 400 {
		t.Error(resp.Status)
	}
}
