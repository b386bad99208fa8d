package api

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
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
			t.Errorf("%s: until %v, %v", name, end, ctx.Err())
		}
		cancel()
	}
}

// nobody knows no token.
type nobody struct{ Authenticator }
