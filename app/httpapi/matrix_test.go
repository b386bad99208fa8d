package httpapi

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/store"
)

// ofNoNamespace are the operations that take no namespace, and what a token of
// one namespace with all scopes is answered. A new route either takes a
// namespace or stands here, with a reason to.
var ofNoNamespace = map[string]int{
	// Of the installation: they want a token for all namespaces.
	"queue-save": 403, "queue-limits": 403, "queue-delete": 403, "queue-pause": 403, "queue-resume": 403, "worker-drain": 403, "database-show": 403,
	"namespace-save": 403, "namespace-show": 403, "namespace-quota": 403, "namespace-limits": 403, // of the namespace 1
	"secret-rotate": 403, "join-token-create": 403, "join-token-revoke": 403,
	// Of the token: they answer what is its own.
	"token-whoami": 200, "token-list": 200, "token-create": 201, "token-revoke": 404, "join-token-list": 200, "worker-list": 200, "namespace-list": 200,
	// Of everybody.
	"queue-list": 200, "queue-show": 200, "health-show": 200, "window-preview": 422,
	// Of the token that opened the session, which this one did not.
	"session-open": 201, "session-claim": 403, "session-renew": 403, "session-finish": 403, "session-logs": 403, "session-output": 403, "session-steps": 403, "session-step": 403, "session-link": 403, "session-progress": 403, "session-close": 403,
	// They want a right of another kind: that of an attempt, or a join token.
	"attempt-beat": 401, "attempt-logs": 401, "attempt-finish": 401, "attempt-artifact": 401, "attempt-output": 401, "attempt-steps": 401, "attempt-step": 401, "attempt-link": 401, "attempt-progress": 401, "join-machine": 401,
}

var placeholder = regexp.MustCompile(`\{[a-z_0-9]+\}`)

// asked is a request of an operation, with 1 for what is in braces.
func asked(path string, op *huma.Operation) (address, body, kind string) {
	if op.RequestBody != nil {
		body, kind = "{}", "application/json"
		if op.RequestBody.Content[wire.IcsType] != nil {
			body, kind = "x", wire.IcsType
		}
	}
	path = strings.ReplaceAll(path, "{sha256}", strings.Repeat("ab", 32))
	return placeholder.ReplaceAllString(path, "1"), body, kind
}

func TestEveryRouteRefusesCallersWithoutARight(t *testing.T) {
	t.Parallel()
	st := openSQLite(t, store.Options{})
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	b := setup(t, func(o *Options) { o.Attempts = st })
	b.when("Join", func(context.Context, []any) (any, error) { return nil, core.Errorf(core.Unauthorized, "unknown") })
	b.tokens.sessions = map[string]int64{"1": 99}
	lower := map[access.Scope]access.Scope{
		access.ScopeRead: "none", access.ScopeOperate: access.ScopeRead, access.ScopeAdmin: access.ScopeOperate, access.ScopeWorker: access.ScopeAdmin,
	}
	for i, scope := range append(slices.Clone(access.Scopes), "none") {
		b.tokens.set("only-"+string(scope), access.Token{ID: int64(50 + i), Name: string(scope), Namespace: "team-a", Scopes: []access.Scope{scope}})
	}
	listed := map[string]bool{}
	doc := b.server.api.Huma.OpenAPI()
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range api.OperationsOf(doc.Paths[path]) {
			address, body, kind := asked(path, op)
			ask := func(query, secret string) (int, string) {
				status, _, text := b.raw(t, method, address+query, body, "Authorization", strings.TrimSpace("Bearer "+secret), "Content-Type", kind)
				return status, text
			}
			if status, _, text := b.raw(t, method, address, body, "Authorization", "", "Content-Type", kind); status != http.StatusUnauthorized {
				t.Errorf("%s without a token: %d %.200s", op.OperationID, status, text)
			}
			if status, text := ask("", "nobody-"+op.OperationID); status != 401 && status != 429 {
				t.Errorf("%s with an unknown token: %d %.200s", op.OperationID, status, text)
			}
			for _, need := range op.Security {
				for _, scope := range need["token"] {
					if status, text := ask("", "only-"+string(lower[access.Scope(scope)])); status != http.StatusForbidden {
						t.Errorf("%s wants the scope %s, and a token with %s is answered %d %.200s", op.OperationID, scope, lower[access.Scope(scope)], status, text)
					}
				}
			}
			want, global := ofNoNamespace[op.OperationID]
			query := ""
			if slices.Contains(api.ParameterNames(op), "namespace") {
				query, want = "?namespace=team-b", http.StatusForbidden
				if global {
					t.Errorf("%s takes a namespace and is listed as taking none", op.OperationID)
				}
			} else if !global {
				t.Errorf("%s takes no namespace: say in ofNoNamespace what a token of one is answered", op.OperationID)
				continue
			}
			listed[op.OperationID] = true
			// So many wrong tokens came from here by now that 429 says the same as 401.
			if status, text := ask(query, "team"); status != want && (want != 401 || status != 429) {
				t.Errorf("%s%s with a token of team-a: %d %.200s, want %d", op.OperationID, query, status, text, want)
			}
		}
	}
	for id := range ofNoNamespace {
		if !listed[id] {
			t.Errorf("%s is listed and is no operation", id)
		}
	}
}
