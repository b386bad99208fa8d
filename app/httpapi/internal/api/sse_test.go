package api

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

func TestAStreamEndsWithItsTokenAndInAnyCase(t *testing.T) {
	t.Parallel()
	a, err := New(Options{Auth: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		expires time.Time
		over    bool
		most    time.Duration
	}{
		"token that expired": {time.Now().Add(-time.Second), true, 0},
		"token about to":     {time.Now().Add(time.Minute), false, time.Minute},
		"token that lasts":   {time.Time{}, false, streamLife},
	} {
		ctx := context.WithValue(t.Context(), callKey{}, &Call{Token: access.Token{ExpiresAt: c.expires}})
		ctx, cancel := a.WhileGood(ctx)
		end, bounded := ctx.Deadline()
		if !bounded || time.Until(end) > c.most || (ctx.Err() != nil) != c.over {
			t.Errorf("%s: context ends at %v, error %v", name, end, ctx.Err())
		}
		cancel()
	}
}

func TestAStreamEndsSoonAfterItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answer atomic.Pointer[error]
		set := func(err error) { answer.Store(&err) }
		set(nil)
		a, err := New(Options{Auth: answers{is: func() error { return *answer.Load() }}})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", nil)
		r.Header.Set("Authorization", "Bearer secret")
		ctx := context.WithValue(t.Context(), callKey{}, &Call{r: r})
		ctx, cancel := a.WhileGood(ctx)
		defer cancel()
		time.Sleep(time.Minute)
		set(errors.New("the database does not answer"))
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Fatal("a stream ended while its token was good, or could not be checked")
		}
		set(core.Errorf(core.Unauthorized, "the token was revoked"))
		time.Sleep(21 * time.Second)
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("a stream of a revoked token goes on: %v", ctx.Err())
		}
		synctest.Wait()
	})
}

// answers gives the same error for each token.
type answers struct {
	Authenticator
	is func() error
}

func (a answers) Authenticate(context.Context, string) (access.Token, error) {
	return access.Token{}, a.is()
}

// nobody knows no token.
type nobody struct{ Authenticator }
