package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// refusal is one bad input: how it differs from the good one, and the field
// and the words that the answer must have.
type refusal[T any] struct {
	name   string
	change func(*T)
	field  string
	says   string
}

// refuses checks that good passes, and that each row is refused with its one
// field.
func refuses[T any](t *testing.T, good func() T, validate func(T) error, rows []refusal[T]) {
	t.Helper()
	t.Parallel()
	if err := validate(good()); err != nil {
		t.Fatalf("the good one is refused: %v", err)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bad := good()
			row.change(&bad)
			err := validate(bad)
			if row.field == "" {
				if err != nil {
					t.Errorf("it is good and was refused: %v", err)
				}
				return
			}
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.Invalid {
				t.Fatalf("got %v, want an invalid input", err)
			}
			if len(e.Fields) != 1 || e.Fields[0].Field != row.field || !strings.Contains(e.Fields[0].String(), row.says) {
				t.Errorf("got  %v\nwant %s: … %s", e.Fields, row.field, row.says)
			}
		})
	}
}

func TestTokensAreChecked(t *testing.T) {
	now := at("10:00")
	good := func() Token { return Token{Name: "ci", Scopes: []Scope{ScopeRead}}.WithDefaults() }
	refuses(t, good, func(k Token) error { return k.Validate(now) }, []refusal[Token]{
		{"no name", func(k *Token) { k.Name = "" }, "name", "is missing"},
		{"any namespace", func(k *Token) { k.Namespace = core.AnyNamespace }, "", ""},
		{"bad namespace", func(k *Token) { k.Namespace = "a b" }, "namespace", "is not a name"},
		{"no scope", func(k *Token) { k.Scopes = nil }, "scopes", "is missing (one or more of read, operate, admin, worker)"},
		{"unknown scope", func(k *Token) { k.Scopes = []Scope{"root"} }, "scopes", "is not a scope (one or more of"},
		{"expired", func(k *Token) { k.ExpiresAt = now }, "expires_at", "has passed"},
		{"expires later", func(k *Token) { k.ExpiresAt = at("10:01") }, "", ""},
	})
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for have, may := range map[Scope][]Scope{
		ScopeRead:    {ScopeRead},
		ScopeOperate: {ScopeRead, ScopeOperate},
		ScopeAdmin:   {ScopeRead, ScopeOperate, ScopeAdmin},
		ScopeWorker:  {ScopeWorker},
		"":           {},
	} {
		for _, want := range Scopes {
			if got := Allows([]Scope{have}, want); got != slices.Contains(may, want) {
				t.Errorf("%q may do what %s asks for: %t", have, want, got)
			}
		}
	}
	if !Allows([]Scope{ScopeWorker, ScopeRead}, ScopeRead) || Allows(nil, ScopeRead) || Allows([]Scope{ScopeAdmin}, "root") {
		t.Error("several scopes, none, or one that does not exist")
	}
}

func TestActors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if got := ActorOf(ctx); got != "belfry" {
		t.Error(got)
	}
	if got := ActorOf(WithActor(ctx, "ann")); got != "ann" {
		t.Error(got)
	}
	if got := ActorOf(WithActor(ctx, "")); got != "belfry" {
		t.Error(got)
	}
}
