package nats_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/transport/nats"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// What the client of NATS refuses to send is left, with all behind it.
func TestTicketsThatCannotBeSentAreLeft(t *testing.T) {
	t.Parallel()
	place, err := nats.Parse("nats://" + keeper(t) + "/S")
	if err != nil {
		t.Fatal(err)
	}
	s, err := nats.Open(place, nats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was kept
	tickets := []job.Ticket{{JobID: 1, Secret: "a"}, {JobID: 2, Secret: strings.Repeat("b", 5000)}, {JobID: 3, Secret: "c"}, {JobID: 4, Secret: "d"}}
	left, err := s.Publish(t.Context(), tickets)
	if core.CodeOf(err) != core.Unavailable || !slices.Equal(left, tickets[1:]) {
		t.Errorf("left %d, %v", len(left), err)
	}
	if left, err = s.Publish(t.Context(), tickets[2:]); err != nil || len(left) != 0 {
		t.Errorf("left %d, %v", len(left), err)
	}
}

// keeper is a server that says of each message that it is kept, and takes no long
// ones.
func keeper(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close() //nolint:errcheck // the client has gone
		_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1000}`+"\r\n")
		in, sid := bufio.NewReader(conn), ""
		for seq := 1; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			word := strings.Fields(line)
			switch word[0] {
			case "PING":
				_, _ = io.WriteString(conn, "PONG\r\n")
			case "SUB":
				sid = word[len(word)-1]
			case "HPUB": // subject, where to answer, bytes of headers, of all
				var size int64
				if _, err := fmt.Sscan(word[4], &size); err != nil {
					return
				}
				_, _ = io.CopyN(io.Discard, in, size+2)
				kept := fmt.Sprintf(`{"stream":"S","seq":%d}`, seq)
				_, _ = fmt.Fprintf(conn, "MSG %s %s %d\r\n%s\r\n", word[2], sid, len(kept), kept)
				seq++
			}
		}
	}()
	return l.Addr().String()
}
