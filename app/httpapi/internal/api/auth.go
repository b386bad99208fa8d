package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

// Bounds of the cache of tokens.
const (
	cachedFor = 10 * time.Second // a cached token is not looked up again
	maxCached = 1024             // tokens
	maxSecret = 512              // bytes
)

// guard authenticates callers. It hashes a secret before any comparison, so
// that no comparison takes longer for a secret that is nearly right.
type guard struct {
	auth Authenticator
	now  func() time.Time // of the clock that decides

	guesses *guesses

	Mu   sync.Mutex
	Good map[[sha256.Size]byte]cachedToken
}

type cachedToken struct {
	token access.Token
	Until time.Time
}

func newGuard(auth Authenticator, now func() time.Time) *guard {
	return &guard{auth: auth, now: now, Good: map[[sha256.Size]byte]cachedToken{}, guesses: newGuesses()}
}

// token authenticates the token of a request.
func (g *guard) token(ctx context.Context, r *http.Request) (access.Token, error) {
	secret, err := bearer(r)
	if err != nil {
		return access.Token{}, err
	}
	key := sha256.Sum256([]byte(secret))
	token, known, fresh := g.recall(key)
	if fresh {
		return token, nil
	}
	who := guesserOf(CallOf(ctx).addr, secret)
	if !known { // a token that was good before needs no turn
		leave, err := g.guesses.enter(ctx, who)
		if err != nil {
			return access.Token{}, err
		}
		defer leave()
	}
	token, err = g.auth.Authenticate(ctx, secret)
	if err == nil {
		err = token.Refusal(g.now()) // the Authenticator may not check the state
	}
	if err != nil {
		// If the caller has disconnected, the error does not tell whether the token is good.
		if ctx.Err() == nil {
			g.forgetOne(key)
		}
		if core.CodeOf(err) == core.Unauthorized {
			err = g.guesses.failed(who, err)
		}
		return access.Token{}, err
	}
	g.remember(key, token)
	return token, nil
}

// stillGood reports whether the token of an admitted request is still valid. If the lookup fails, the token counts as valid.
// A revoked token is not counted as a failed guess.
func (g *guard) stillGood(ctx context.Context, r *http.Request) bool {
	secret, err := bearer(r)
	if err != nil {
		return false
	}
	key := sha256.Sum256([]byte(secret))
	if _, _, fresh := g.recall(key); fresh {
		return true
	}
	token, err := g.auth.Authenticate(ctx, secret)
	if err == nil {
		err = token.Refusal(g.now())
	}
	switch {
	case err == nil:
		g.remember(key, token)
	case ctx.Err() == nil && core.CodeOf(err) == core.Unauthorized:
		g.forgetOne(key)
		return false
	}
	return true
}

func bearer(r *http.Request) (string, error) { return bearerOf(r, maxSecret) }

func bearerOf(r *http.Request, most int) (string, error) {
	header := r.Header.Get("Authorization")
	scheme, secret, _ := strings.Cut(header, " ")
	secret = strings.TrimSpace(secret)
	switch {
	case len(r.Header.Values("Authorization")) > 1:
		return "", core.Errorf(core.Unauthorized, "the Authorization header is given twice").WithHint("give one token")
	case header == "":
		return "", core.Errorf(core.Unauthorized, "no token was given").WithHint("%s", wire.TokenHint)
	case !strings.EqualFold(scheme, "Bearer") || secret == "":
		return "", core.Errorf(core.Unauthorized, "the Authorization header holds no bearer token").WithHint("%s", wire.TokenHint)
	case len(secret) > most:
		return "", core.Errorf(core.Unauthorized, "the token is unknown").WithHint("it is longer than any token")
	}
	return secret, nil
}

func (g *guard) recall(key [sha256.Size]byte) (token access.Token, known, fresh bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	b, known := g.Good[key]
	return b.token, known, known && time.Now().Before(b.Until) && b.token.State(g.now()) == access.TokenActive
}

func (g *guard) remember(key [sha256.Size]byte, t access.Token) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, known := g.Good[key]; !known && len(g.Good) >= maxCached {
		DropOne(g.Good)
	}
	g.Good[key] = cachedToken{token: t, Until: time.Now().Add(cachedFor)}
}

func (g *guard) forgetOne(key [sha256.Size]byte) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Good, key)
}

// Forget empties the cache of tokens.
func (g *guard) Forget() {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	clear(g.Good)
}

// DropOne deletes one entry of a map, to make room.
func DropOne[K comparable, V any](m map[K]V) {
	for k := range m {
		delete(m, k)
		return
	}
}

// Allow refuses a token without the scope. An empty scope allows any token.
func Allow(t access.Token, want access.Scope) error {
	if want == "" || access.Allows(t.Scopes, want) {
		return nil
	}
	return core.Errorf(core.Forbidden, "this needs the scope %s; token %q has %s", want, t.Name, ScopeText(t.Scopes)).
		WithHint("make a token that may: belfry token create NAME --scope %s", want)
}

// ScopeText lists scopes for a sentence.
func ScopeText(scopes []access.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// Everywhere refuses a token that is not valid for all namespaces. It guards
// resources that belong to no namespace; what names them.
func Everywhere(t access.Token, what string) error {
	if t.Namespace == core.AnyNamespace {
		return nil
	}
	return core.Errorf(core.Forbidden, "%s belong to all namespaces, and token %q is for %q", what, t.Name, t.Namespace).
		WithHint("use a token for namespace *")
}

// InNamespace returns the namespace of a request: the asked one if the token allows it, or else the default of the token.
func InNamespace(t access.Token, field, asked string) (string, error) {
	all := t.Namespace == core.AnyNamespace
	switch {
	case asked == "" && all:
		return core.DefaultNamespace, nil
	case asked == "" || asked == t.Namespace:
		return t.Namespace, nil
	case !all:
		return "", core.Errorf(core.Forbidden, "token %q is for namespace %q, not for %q", t.Name, t.Namespace, asked).
			WithHint("leave the namespace out, or use a token for it")
	}
	return asked, core.ValidName(field, asked)
}

// InOne is [InNamespace] for requests that must name one namespace; it refuses "*".
func InOne(t access.Token, field, asked string) (string, error) {
	ns, err := InNamespace(t, field, asked)
	if err == nil && ns == core.AnyNamespace {
		return "", core.InvalidField(field, ns, "must be one namespace", "names are unique within a namespace only")
	}
	return ns, err
}

// Agree returns a value that a request may give in two places. Different values are an error.
func Agree(field, outer, inner string) (string, error) {
	if outer != "" && inner != "" && outer != inner {
		return "", core.InvalidField(field, inner, fmt.Sprintf("differs from %q, which the request says as well", outer), "leave one of them out")
	}
	if outer != "" {
		return outer, nil
	}
	return inner, nil
}

// oneKey refuses a header Idempotency-Key without a key or with several: which of them holds would be a guess.
func oneKey(keys []string) error {
	switch {
	case len(keys) > 1:
		return core.InvalidField("Idempotency-Key", wire.Shorten(strings.Join(keys, ", ")), "must be one header", "send it once")
	case len(keys) == 1 && strings.TrimSpace(keys[0]) == "":
		return core.InvalidField("Idempotency-Key", "", "must not be empty", "send a key, or leave the header out")
	}
	return nil
}

// authorizeJoin admits a request with any bearer token. The transaction that
// counts the use of a join token checks it.
func (a *API) authorizeJoin(ctx context.Context, r *http.Request, _ access.Scope) (context.Context, error) {
	secret, err := bearer(r)
	if err != nil {
		return ctx, asTokenProblem(err)
	}
	CallOf(ctx).Join = secret
	return ctx, nil
}

// Authenticator looks up tokens by their secrets, and the tokens of sessions.
type Authenticator interface {
	// Authenticate returns the token of a secret, or an Unauthorized error
	// that says whether the token is unknown, expired or revoked.
	Authenticate(ctx context.Context, secret string) (access.Token, error)
	// SessionOwner returns the ID of the token that opened a worker's session,
	// running or ended; 0 for the session of a node. An unknown session is
	// NotFound.
	SessionOwner(ctx context.Context, session string) (token int64, err error)
}
