package notify_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/internal/hostile"
)

// hostileBudget is the deadline of a try at a hostile peer, and hostileBound what
// it may take at most, however busy the machine is.
const (
	hostileBudget = 1500 * time.Millisecond
	hostileBound  = 10 * time.Second
)

// answered are peers whose status alone says that they took the message: what
// comes behind it changes nothing.
func answered(p hostile.Peer) bool {
	switch p.Name {
	case "a body byte by byte", "a body that never comes", "a body without end or length", "chunks without end", "a chunk's extension without end",
		"trailers without end", "a body over its length", "a compressed body without end", "a body without end, fast":
		return true
	}
	return false
}

// TestHostilePeers sends through each kind of channel to each peer that it can
// talk to: the try ends in time, says what was wrong, and lets go of its socket.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, 12) // most of what is tried waits
	try := func(p hostile.Peer, of func(address string) map[string]alert.Channel) {
		for name := range of("127.0.0.1:1") {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				sender := newSender(t) // of its own: one remembers what was taken
				what := name + ", " + p.Name
				s := hostile.Serve(t, p)
				ctx, cancel := context.WithTimeout(t.Context(), hostileBudget)
				defer cancel()
				began := time.Now()
				err := sender.Send(ctx, of(s.Address)[name], messages[0].Message)
				if took := time.Since(began); took > hostileBound {
					t.Errorf("%s: it took %s, with a deadline of %s", what, took, hostileBudget)
				}
				if taken := answered(p) && name != "telegram"; err != nil != !taken {
					t.Errorf("%s: %v", what, err)
				}
				if err != nil {
					checkSecrets(t, what, err)
				}
				sender.Close() // connections that are kept for the next message
				s.Closed(t, what)
			})
		}
	}
	for _, p := range hostile.HTTP {
		try(p, func(address string) map[string]alert.Channel { return httpChannels("http://" + address) })
	}
	try(hostile.TCP[0], func(address string) map[string]alert.Channel { return httpChannels("https://" + address) })
	try(hostile.TCP[4], func(address string) map[string]alert.Channel { return httpChannels("https://" + address) })
	for _, p := range hostile.SMTP {
		try(p, mailChannels)
	}
	for _, p := range hostile.TCP {
		try(p, mailChannels)
	}
}

// mailChannels are the ways of mail, to the server at address.
func mailChannels(address string) map[string]alert.Channel {
	host, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	all := map[string]alert.Channel{}
	for _, way := range []string{"none", "starttls", "implicit"} {
		all["mail, "+way] = alert.Channel{Namespace: "default", Name: "mail", Email: &alert.EmailChannel{
			Host: host, Port: port, From: "belfry@example.com", To: []string{"ops@example.com"}, TLS: way,
		}}
	}
	return all
}

func TestHostilePeersSwitchingProtocols(t *testing.T) {
	t.Parallel()
	s := hostile.Serve(t, hostile.HTTP[1])
	err := newSender(t).Send(patient(t), httpChannels("http://" + s.Address)["webhook"], messages[0].Message)
	checkFault(t, "webhook", err, false, "it switched protocols (101 Switching Protocols) without being asked to")
	s.Closed(t, "webhook")
}
