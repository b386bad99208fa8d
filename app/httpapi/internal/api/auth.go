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

// Bounds of what is remembered about tokens.
const (
	believed    = 10 * time.Second // how long a good token is not asked about again
	maxBelieved = 1024
	maxSecret   = 512 // bytes
)

// guard knows who asks. It hashes every secret before it looks at it, so that
// no comparison takes longer for a secret that is nearly right.
type guard struct {
	auth Authenticator

	guesses *guesses

	Mu   sync.Mutex
	Good map[[sha256.Size]byte]belief
}

type belief struct {
	token access.Token
	Until time.Time
}

func newGuard(auth Authenticator) *guard {
	return &guard{auth: auth, Good: map[[sha256.Size]byte]belief{}, guesses: newGuesses()}
}

// token is the token that a request carries.
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
		err = token.Refusal(time.Now()) // whatever the one who found it has looked at
	}
	if err != nil {
		// A caller that leaves before the answer says nothing of its token.
		if ctx.Err() == nil {
			g.forgetOne(key)
		}
		if core.CodeOf(err) == core.Unauthorized {
			err = g.guesses.failed(who, err)
		}
		return access.Token{}, err
	}
	g.believe(key, token)
	return token, nil
}

// stillGood reports that the token of a request that was let in has not been revoked since. An answer that cannot be had counts as
// good, and a token that is not is no guess.
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
		err = token.Refusal(time.Now())
	}
	switch {
	case err == nil:
		g.believe(key, token)
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
	now := time.Now()
	return b.token, known, known && now.Before(b.Until) && b.token.State(now) == access.TokenActive
}

func (g *guard) believe(key [sha256.Size]byte, t access.Token) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if _, known := g.Good[key]; !known && len(g.Good) >= maxBelieved {
		DropOne(g.Good)
	}
	g.Good[key] = belief{token: t, Until: time.Now().Add(believed)}
}

func (g *guard) forgetOne(key [sha256.Size]byte) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	delete(g.Good, key)
}

// Forget makes every token be asked about again.
func (g *guard) Forget() {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	clear(g.Good)
}

// DropOne makes room in a map.
func DropOne[K comparable, V any](m map[K]V) {
	for k := range m {
		delete(m, k)
		return
	}
}

// Allow wants a scope of a token, if any.
func Allow(t access.Token, want access.Scope) error {
	if want == "" || access.Allows(t.Scopes, want) {
		return nil
	}
	return core.Errorf(core.Forbidden, "this needs the scope %s; token %q has %s", want, t.Name, ScopeText(t.Scopes)).
		WithHint("make a token that may: belfry token create NAME --scope %s", want)
}

// ScopeText lists scopes in a sentence.
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

// Everywhere wants a token that is good for all namespaces, for what belongs
// to none of them.
func Everywhere(t access.Token, what string) error {
	if t.Namespace == core.AnyNamespace {
		return nil
	}
	return core.Errorf(core.Forbidden, "%s belong to all namespaces, and token %q is for %q", what, t.Name, t.Namespace).
		WithHint("use a token for namespace *")
}

// InNamespace is the namespace that is meant when a token asks for one, or for none.
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

// InOne is inNamespace where all of them cannot be meant.
func InOne(t access.Token, field, asked string) (string, error) {
	ns, err := InNamespace(t, field, asked)
	if err == nil && ns == core.AnyNamespace {
		return "", core.InvalidField(field, ns, "must be one namespace", "names are unique within a namespace only")
	}
	return ns, err
}

// Agree is one of two ways to say the same thing, or the fault of both.
func Agree(field, outer, inner string) (string, error) {
	if outer != "" && inner != "" && outer != inner {
		return "", core.InvalidField(field, inner, fmt.Sprintf("differs from %q, which the request says as well", outer), "leave one of them out")
	}
	if outer != "" {
		return outer, nil
	}
	return inner, nil
}

// authorizeJoin lets a request in that carries something like a join token.
// Whether it is one is found out in the transaction that counts its use.
func (a *API) authorizeJoin(ctx context.Context, r *http.Request, _ access.Scope) (context.Context, error) {
	secret, err := bearer(r)
	if err != nil {
		return ctx, notLetIn(err)
	}
	CallOf(ctx).Join = secret
	return ctx, nil
}

// Authenticator knows tokens by their secrets, and sessions by their tokens.
type Authenticator interface {
	// Authenticate answers the token of a secret, or an Unauthorized error
	// that says whether it is unknown, expired or revoked.
	Authenticate(ctx context.Context, secret string) (access.Token, error)
	// SessionOwner answers the ID of the token that opened a worker's session,
	// whether it has ended or not; 0 for a node's own. A session that does not
	// exist is NotFound.
	SessionOwner(ctx context.Context, session string) (token int64, err error)
}
