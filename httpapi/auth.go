package httpapi

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

	mu   sync.Mutex
	good map[[sha256.Size]byte]belief
}

type belief struct {
	token access.Token
	until time.Time
}

func newGuard(auth Authenticator) *guard {
	return &guard{auth: auth, good: map[[sha256.Size]byte]belief{}, guesses: newGuesses()}
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
	who := guesserOf(callOf(ctx).addr, secret)
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

func bearer(r *http.Request) (string, error) { return bearerOf(r, maxSecret) }

func bearerOf(r *http.Request, most int) (string, error) {
	header := r.Header.Get("Authorization")
	scheme, secret, _ := strings.Cut(header, " ")
	secret = strings.TrimSpace(secret)
	switch {
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
	g.mu.Lock()
	defer g.mu.Unlock()
	b, known := g.good[key]
	now := time.Now()
	return b.token, known, known && now.Before(b.until) && b.token.State(now) == access.TokenActive
}

func (g *guard) believe(key [sha256.Size]byte, t access.Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.good[key]; !known && len(g.good) >= maxBelieved {
		dropOne(g.good)
	}
	g.good[key] = belief{token: t, until: time.Now().Add(believed)}
}

func (g *guard) forgetOne(key [sha256.Size]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.good, key)
}

// forget makes every token be asked about again.
func (g *guard) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.good)
}

func dropOne[K comparable, V any](m map[K]V) {
	for k := range m {
		delete(m, k)
		return
	}
}

// allow wants a scope of a token, if any.
func allow(t access.Token, want access.Scope) error {
	if want == "" || access.Allows(t.Scopes, want) {
		return nil
	}
	return core.Errorf(core.Forbidden, "this needs the scope %s; token %q has %s", want, t.Name, scopeText(t.Scopes)).
		WithHint("make a token that may: belfry token create NAME --scope %s", want)
}

func scopeText(scopes []access.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// everywhere wants a token that is good for all namespaces, for what belongs
// to none of them.
func everywhere(t access.Token, what string) error {
	if t.Namespace == core.AnyNamespace {
		return nil
	}
	return core.Errorf(core.Forbidden, "%s belong to all namespaces, and token %q is for %q", what, t.Name, t.Namespace).
		WithHint("use a token for namespace *")
}

// inNamespace is the namespace that is meant when a token asks for one, or for none.
func inNamespace(t access.Token, field, asked string) (string, error) {
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

// inOne is inNamespace where all of them cannot be meant.
func inOne(t access.Token, field, asked string) (string, error) {
	ns, err := inNamespace(t, field, asked)
	if err == nil && ns == core.AnyNamespace {
		return "", core.InvalidField(field, ns, "must be one namespace", "names are unique within a namespace only")
	}
	return ns, err
}

// agree is one of two ways to say the same thing, or the fault of both.
func agree(field, outer, inner string) (string, error) {
	if outer != "" && inner != "" && outer != inner {
		return "", core.InvalidField(field, inner, fmt.Sprintf("differs from %q in the address", outer), "leave one of them out")
	}
	if outer != "" {
		return outer, nil
	}
	return inner, nil
}
