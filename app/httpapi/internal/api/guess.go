package api

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/core"
)

// Bounds of failed guesses. Random secrets are out of reach of any rate: the
// bounds keep the database from being flooded, and must not keep out the others
// at the same address, who may all be behind one proxy.
const (
	maxGuessers = 4096

	// An address may fail 20 times at once and once a second from then on, and so
	// may a token of it, known by its beginning.
	FailuresAtOnce = 20
	failuresEvery  = time.Second
	guessPrefix    = 16 // bytes of a secret that tell it from others

	// Beyond that, secrets of the address are still looked up, a few at a time, so
	// that a good one gets through beside any number of wrong ones.
	maxLookups = 4
	lookupWait = 5 * time.Second
)

// guesser is an address, and a token of it or none.
type guesser struct {
	network netip.Prefix
	prefix  string
}

func guesserOf(addr netip.Addr, secret string) guesser {
	return guesser{network(addr), secret[:min(len(secret), guessPrefix)]}
}

// network is what one guesser has: an IPv4 address, or an IPv6 /64.
func network(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}

// NetworkOf is the network that a call comes from.
func NetworkOf(ctx context.Context) netip.Prefix { return network(CallOf(ctx).addr) }

// guesses count what failed, by address and by token of an address.
type guesses struct {
	mu        sync.Mutex
	addresses map[guesser]*rate.Limiter
	tokens    map[guesser]*rate.Limiter
	lookups   chan struct{}
}

func newGuesses() *guesses {
	return &guesses{addresses: map[guesser]*rate.Limiter{}, tokens: map[guesser]*rate.Limiter{}, lookups: make(chan struct{}, maxLookups)}
}

// enter lets a secret be looked up that is not known yet. The function it returns is
// called when that is done. A token that failed too often is refused unseen;
// another one of an address that did waits for its turn.
func (g *guesses) enter(ctx context.Context, who guesser) (leave func(), err error) {
	g.mu.Lock()
	token, address := left(g.tokens[who]), left(g.addresses[guesser{network: who.network}])
	g.mu.Unlock()
	switch {
	case !token:
		return nil, tooManyGuesses()
	case address:
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupWait)
	defer cancel()
	select {
	case g.lookups <- struct{}{}:
		return func() { <-g.lookups }, nil
	case <-ctx.Done():
		return nil, tooManyGuesses()
	}
}

// failed counts a wrong secret, and answers the error that it gets: the given
// one, or that there were too many.
func (g *guesses) failed(who guesser, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	token, address := count(g.tokens, who), count(g.addresses, guesser{network: who.network})
	if !token || !address {
		return tooManyGuesses()
	}
	return err
}

func tooManyGuesses() error {
	e := core.Errorf(core.Unavailable, "too many failed attempts to authenticate from this address").
		WithHint("wait some seconds")
	return newProblem(http.StatusTooManyRequests, e)
}

func left(l *rate.Limiter) bool { return l == nil || l.Tokens() >= 1 }

// count takes one from a limiter, and reports whether there was one.
func count(limiters map[guesser]*rate.Limiter, who guesser) bool {
	l := limiters[who]
	if l == nil {
		makeRoom(limiters)
		l = rate.NewLimiter(rate.Every(failuresEvery), FailuresAtOnce)
		limiters[who] = l
	}
	return l.Allow()
}

// makeRoom forgets those that have been quiet, or any one when none has.
func makeRoom(limiters map[guesser]*rate.Limiter) {
	if len(limiters) < maxGuessers {
		return
	}
	for who, l := range limiters {
		if l.Tokens() >= FailuresAtOnce {
			delete(limiters, who)
		}
	}
	if len(limiters) >= maxGuessers {
		DropOne(limiters)
	}
}

// Guess lets a caller try a secret. How often it may be a wrong one is bounded.
func (a *API) Guess(ctx context.Context, secret string, try func() error) error {
	who := guesserOf(CallOf(ctx).addr, secret)
	leave, err := a.Guard.guesses.enter(ctx, who)
	if err != nil {
		return err
	}
	defer leave()
	if err = try(); core.CodeOf(err) == core.Unauthorized {
		return notLetIn(a.Guard.guesses.failed(who, err))
	}
	return err
}
