package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/core"
)

// Rate limit of visitors without a token whose request sends a message to another address.
const (
	visitorBurst    = 5
	visitorInterval = 10 * time.Minute
)

// visitors limits the requests of visitors, by address.
type visitors struct {
	mu sync.Mutex
	of map[guesser]*rate.Limiter
}

// AdmitVisitor counts a request that sends a message to another address. It refuses a visitor above the rate limit.
func (a *API) AdmitVisitor(ctx context.Context) error {
	a.visitors.mu.Lock()
	defer a.visitors.mu.Unlock()
	who := guesser{network: network(CallOf(ctx).addr)}
	l := a.visitors.of[who]
	if l == nil {
		if a.visitors.of == nil || len(a.visitors.of) >= maxGuessers {
			kept := map[guesser]*rate.Limiter{}
			for other, l := range a.visitors.of {
				if l.Tokens() < visitorBurst {
					kept[other] = l
				}
			}
			if len(kept) >= maxGuessers {
				DropOne(kept)
			}
			a.visitors.of = kept
		}
		l = rate.NewLimiter(rate.Every(visitorInterval), visitorBurst)
		a.visitors.of[who] = l
	}
	if !l.Allow() {
		return newProblem(http.StatusTooManyRequests, core.Errorf(core.Unavailable, "too many subscriptions were asked for from this address").WithHint("wait some minutes"))
	}
	return nil
}
