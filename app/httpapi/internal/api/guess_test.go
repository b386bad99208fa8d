package api

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
)

func TestWhatTheGuardRemembersIsBounded(t *testing.T) {
	t.Parallel()
	g := newGuard(nil)
	for i := range maxGuessers + 100 {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		_ = g.guesses.failed(guesserOf(addr, fmt.Sprint("guess-", i)), nil)
	}
	for i := range maxBelieved + 100 {
		g.believe([32]byte{byte(i), byte(i >> 8)}, access.Token{})
	}
	if a, k := len(g.guesses.addresses), len(g.guesses.tokens); a > maxGuessers || k > maxGuessers || len(g.Good) > maxBelieved {
		t.Errorf("%d addresses, %d guessed tokens, %d tokens", a, k, len(g.Good))
	}
	same := func(a, b string) bool { return network(parseAddr(a)) == network(parseAddr(b)) }
	if !same("[2001:db8::1]:5", "[2001:db8::2]:6") || same("[2001:db8:0:1::]:5", "[2001:db8::]:5") {
		t.Error("an IPv6 guesser is not its /64")
	}
	if !same("[::ffff:10.0.0.1]:5", "10.0.0.1:7") || same("10.0.0.1:1", "10.0.0.2:1") {
		t.Error("an IPv4 guesser is not its address")
	}
}

func TestABelievedTokenStillExpires(t *testing.T) {
	t.Parallel()
	g := newGuard(nil)
	token := access.Token{Name: "t", ExpiresAt: time.Now().Add(-time.Millisecond)}
	g.believe([32]byte{1}, token)
	if _, known, fresh := g.recall([32]byte{1}); !known || fresh {
		t.Errorf("known %v, fresh %v", known, fresh)
	}
	g.believe([32]byte{1}, access.Token{Name: "t"})
	if _, _, fresh := g.recall([32]byte{1}); !fresh {
		t.Error("a token without an end is not believed")
	}
}
