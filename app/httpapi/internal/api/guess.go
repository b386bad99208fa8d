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

// Bounds of failed guesses. No rate of guesses finds a random secret: the
// bounds protect the database from a flood. They must not lock out other
// callers at the same address, which may be a proxy.
const (
	maxGuessers = 4096

	// An address may fail 20 times at once, and then once a second. The same limit
	// holds for each token of an address, identified by its prefix.
	FailuresAtOnce = 20
	failuresEvery  = time.Second
	guessPrefix    = 16 // bytes of a secret that identify it

	// Above that limit, other secrets of the address are still looked up, a few at a
	// time. So a good secret passes beside any number of wrong ones.
	maxLookups = 4
	lookupWait = 5 * time.Second
)

// guesser is an address, or a token prefix at an address.
type guesser struct {
	network netip.Prefix
	prefix  string
}

func guesserOf(addr netip.Addr, secret string) guesser {
	return guesser{network(addr), secret[:min(len(secret), guessPrefix)]}
}

// network is the network of one guesser: an IPv4 address, or an IPv6 /64.
func network(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}

// NetworkOf returns the network that a call comes from.
func NetworkOf(ctx context.Context) netip.Prefix { return network(CallOf(ctx).addr) }

// guesses counts failed guesses, by address and by token prefix at an address.
type guesses struct {
	mu        sync.Mutex
	addresses map[guesser]*rate.Limiter
	tokens    map[guesser]*rate.Limiter
	lookups   chan struct{}
}

func newGuesses() *guesses {
	return &guesses{addresses: map[guesser]*rate.Limiter{}, tokens: map[guesser]*rate.Limiter{}, lookups: make(chan struct{}, maxLookups)}
}

// enter admits the lookup of an unknown secret. The caller calls the returned function
// after the lookup. A token that failed too often is refused without a lookup.
// Other tokens of an address that failed too often wait for one of maxLookups turns.
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

// failed counts a wrong secret. It returns the given error, or the error for
// too many failures.
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

// count counts a failure, and reports whether the limit allows it.
func count(limiters map[guesser]*rate.Limiter, who guesser) bool {
	l := limiters[who]
	if l == nil {
		makeRoom(limiters)
		l = rate.NewLimiter(rate.Every(failuresEvery), FailuresAtOnce)
		limiters[who] = l
	}
	return l.Allow()
}

// makeRoom deletes idle limiters, or any one if none is idle.
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

// Guess runs try, which checks a secret. The number of wrong secrets is limited.
func (a *API) Guess(ctx context.Context, secret string, try func() error) error {
	who := guesserOf(CallOf(ctx).addr, secret)
	leave, err := a.Guard.guesses.enter(ctx, who)
	if err != nil {
		return err
	}
	defer leave()
	if err = try(); core.CodeOf(err) == core.Unauthorized {
		return asTokenProblem(a.Guard.guesses.failed(who, err))
	}
	return err
}
