package tokens_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/internal/both"
)

// full is a database without space for a write.
type full struct{ base.DB }

func (full) Write(context.Context, func(base.Tx, base.Moment) error) error {
	return core.Errorf(core.Unavailable, "the disk of the database is full")
}

func TestReadersAreAuthenticatedOnAFullDisk(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		_, secret, err := st.CreateToken(ctx, access.Token{Name: "ops", Scopes: []access.Scope{access.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		session, err := st.OpenWebSession(ctx, access.WebSession{Hash: strings.Repeat("a", 64), Sealed: []byte("x")}, access.WebSessionLimits{})
		if err != nil {
			t.Fatal(err)
		}
		later := store.New(full{st.DB()}, store.Options{Clock: func() time.Time { return time.Now().Add(10 * time.Minute) }})
		if token, err := later.Authenticate(ctx, secret); err != nil || token.Name != "ops" {
			t.Errorf("authenticate: got %+v, %v, want the token ops", token, err)
		}
		if _, err := later.WebSession(ctx, session.Hash, access.WebSessionLimits{}); err != nil {
			t.Errorf("web session: got %v, want no error", err)
		}
	})
}
