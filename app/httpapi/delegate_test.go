package httpapi

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
)

// An admin of one namespace makes, lists and revokes tokens of it, and none
// that may more than its own.
func TestAdminOfANamespaceManagesItsTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	b.tokens.set("boss", access.Token{ID: 20, Name: "boss", Namespace: "team-a", Scopes: []access.Scope{access.ScopeAdmin}})
	b.tokens.set("short", access.Token{ID: 21, Name: "short", Namespace: "team-a", Scopes: []access.Scope{access.ScopeAdmin}, ExpiresAt: ends})
	b.tokens.set("operator", access.Token{ID: 22, Name: "operator", Namespace: "team-a", Scopes: []access.Scope{access.ScopeOperate}})
	b.when("Tokens", func(context.Context, []any) (any, error) {
		return []access.Token{{ID: 20, Namespace: "team-a"}, {ID: 5, Namespace: "team-a"}, {ID: 6, Namespace: "team-b"}, {ID: 7, Namespace: "*"}}, nil
	})
	for _, c := range []struct {
		by, body string
		status   int
	}{
		{"boss", `{"name":"t","scopes":["read"]}`, 201},
		{"boss", `{"name":"t","scopes":["operate","admin"],"namespace":"team-a"}`, 201},
		{"boss", `{"name":"t","scopes":["worker"]}`, 403}, // admin does not include worker
		{"boss", `{"name":"t","scopes":["read"],"namespace":"team-b"}`, 403},
		{"boss", `{"name":"t","scopes":["read"],"namespace":"*"}`, 403},
		{"team", `{"name":"t","scopes":["worker"]}`, 201},
		{"operator", `{"name":"t","scopes":["read"]}`, 403},
		{"short", `{"name":"t","scopes":["read"],"expires_at":"` + ends.Add(time.Minute).Format(time.RFC3339) + `"}`, 422},
		{"short", `{"name":"t","scopes":["read"]}`, 201},
		{"root", `{"name":"t","scopes":["worker"],"namespace":"team-b"}`, 201},
	} {
		status, _, body := b.raw(t, "POST", "/v1/tokens", c.body, "Authorization", "Bearer "+c.by)
		if status != c.status {
			t.Errorf("%s makes %s: %d %s", c.by, c.body, status, body)
		}
		if made, is := b.last()[1].(access.Token); status == 201 && c.by != "root" && (!is || made.Namespace != "team-a") {
			t.Errorf("%s made %+v", c.by, b.last())
		}
	}
	if _, _, err := b.as(t, "short").CreateToken(t.Context(), access.Token{Name: "t", Scopes: []access.Scope{access.ScopeRead}}); err != nil || !b.last()[1].(access.Token).ExpiresAt.Equal(ends) {
		t.Errorf("a token of one that ends does not end with it: %+v, %v", b.last(), err)
	}
	for id, want := range map[int64]int{5: 204, 20: 204, 6: 404, 7: 404, 99: 404} {
		if status, _, body := b.raw(t, "DELETE", fmt.Sprint("/v1/tokens/", id), "", "Authorization", "Bearer boss"); status != want {
			t.Errorf("revoke %d: %d %s", id, status, body)
		}
	}
	if list, err := b.as(t, "boss").Tokens(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("it sees %+v, %v", list, err)
	}
	for _, path := range []string{"/v1/join-tokens", "/v1/join-tokens/1"} {
		method := map[bool]string{true: "POST", false: "DELETE"}[path == "/v1/join-tokens"]
		body := map[string]string{"POST": `{"name":"j","namespace":"team-b"}`}[method]
		if status, _, _ := b.raw(t, method, path, body, "Authorization", "Bearer boss"); status != 403 {
			t.Errorf("%s %s: %d", method, path, status)
		}
	}
}
