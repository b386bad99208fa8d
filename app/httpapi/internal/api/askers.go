package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/core"
)

// How often a visitor without a token may have something sent to another address.
const (
	asksAtOnce = 5
	askEvery   = 10 * time.Minute
)

// askers count what visitors asked for, by address.
type askers struct {
	mu sync.Mutex
	of map[guesser]*rate.Limiter
}

// Asks counts that a visitor asks for something that is sent to another address, and refuses it if that is too often.
func (a *API) Asks(ctx context.Context) error {
	a.askers.mu.Lock()
	defer a.askers.mu.Unlock()
	who := guesser{network: network(CallOf(ctx).addr)}
	l := a.askers.of[who]
	if l == nil {
		if a.askers.of == nil || len(a.askers.of) >= maxGuessers {
			kept := map[guesser]*rate.Limiter{}
			for other, l := range a.askers.of {
				if l.Tokens() < asksAtOnce {
					kept[other] = l
				}
			}
			if len(kept) >= maxGuessers {
				DropOne(kept)
			}
			a.askers.of = kept
		}
		l = rate.NewLimiter(rate.Every(askEvery), asksAtOnce)
		a.askers.of[who] = l
	}
	if !l.Allow() {
		return newProblem(http.StatusTooManyRequests, core.Errorf(core.Unavailable, "too many subscriptions were asked for from this address").WithHint("wait some minutes"))
	}
	return nil
}
