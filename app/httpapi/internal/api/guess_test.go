package api

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
)

func TestCachesOfTheGuardAreBounded(t *testing.T) {
	t.Parallel()
	g := newGuard(nil, time.Now)
	for i := range maxGuessers + 100 {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		_ = g.guesses.failed(guesserOf(addr, fmt.Sprint("guess-", i)), nil)
	}
	for i := range maxCached + 100 {
		g.remember([32]byte{byte(i), byte(i >> 8)}, access.Token{})
	}
	if a, k := len(g.guesses.addresses), len(g.guesses.tokens); a > maxGuessers || k > maxGuessers || len(g.Good) > maxCached {
		t.Errorf("the guard keeps %d addresses, %d guessed tokens, %d cached tokens; want at most %d, %d, %d", a, k, len(g.Good), maxGuessers, maxGuessers, maxCached)
	}
	same := func(a, b string) bool { return network(parseAddr(a)) == network(parseAddr(b)) }
	if !same("[2001:db8::1]:5", "[2001:db8::2]:6") || same("[2001:db8:0:1::]:5", "[2001:db8::]:5") {
		t.Error("IPv6 guessers are not distinguished by their /64")
	}
	if !same("[::ffff:10.0.0.1]:5", "10.0.0.1:7") || same("10.0.0.1:1", "10.0.0.2:1") {
		t.Error("IPv4 guessers are not distinguished by their address")
	}
}

func TestACachedTokenStillExpires(t *testing.T) {
	t.Parallel()
	g := newGuard(nil, time.Now)
	token := access.Token{Name: "t", ExpiresAt: time.Now().Add(-time.Millisecond)}
	g.remember([32]byte{1}, token)
	if _, known, fresh := g.recall([32]byte{1}); !known || fresh {
		t.Errorf("expired token: known %v, fresh %v; want true, false", known, fresh)
	}
	g.remember([32]byte{1}, access.Token{Name: "t"})
	if _, _, fresh := g.recall([32]byte{1}); !fresh {
		t.Error("a token that never expires is not taken from the cache")
	}
}
