package httpapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry"
)

// Bounds of what is remembered about tokens and about those who guess them.
const (
	believed    = 10 * time.Second // how long a good token is not asked about again
	maxBelieved = 1024
	maxGuessers = 4096
	maxSecret   = 512 // bytes

	// An address may fail 20 times at once and once a second from then on.
	// Random secrets are out of reach of any rate; this keeps the database and
	// the log from being flooded.
	failuresAtOnce = 20
	failuresEvery  = time.Second
)

const tokenHint = "send the header Authorization: Bearer SECRET; the command line takes --token, BELFRY_TOKEN or a token file"

// guard knows who asks. It hashes every secret before it looks at it, so that
// no comparison takes longer for a secret that is nearly right.
type guard struct {
	auth Authenticator

	mu       sync.Mutex
	good     map[[sha256.Size]byte]belief
	guessers map[netip.Prefix]*rate.Limiter
}

type belief struct {
	token belfry.Token
	until time.Time
}

func newGuard(auth Authenticator) *guard {
	return &guard{auth: auth, good: map[[sha256.Size]byte]belief{}, guessers: map[netip.Prefix]*rate.Limiter{}}
}

// token is the token that a request carries.
func (g *guard) token(ctx context.Context, r *http.Request) (belfry.Token, error) {
	secret, err := bearer(r)
	if err != nil {
		return belfry.Token{}, err
	}
	key := sha256.Sum256([]byte(secret))
	token, known, fresh := g.recall(key)
	if fresh {
		return token, nil
	}
	// Who was right before may ask again however much others at the same
	// address guess, which matters behind a proxy.
	if !known && !g.mayGuess(r.RemoteAddr) {
		return belfry.Token{}, tooManyGuesses()
	}
	token, err = g.auth.Authenticate(ctx, secret)
	if err == nil {
		err = token.Refusal(time.Now()) // whatever the one who found it has looked at
	}
	if err != nil {
		g.forgetOne(key)
		if belfry.CodeOf(err) == belfry.Unauthorized {
			g.failed(r.RemoteAddr)
		}
		return belfry.Token{}, err
	}
	g.believe(key, token)
	return token, nil
}

func tooManyGuesses() error {
	e := belfry.Errorf(belfry.Unavailable, "too many failed attempts to authenticate from this address").
		WithHint("wait some seconds")
	return newProblem(http.StatusTooManyRequests, e)
}

func bearer(r *http.Request) (string, error) { return bearerOf(r, maxSecret) }

func bearerOf(r *http.Request, most int) (string, error) {
	header := r.Header.Get("Authorization")
	scheme, secret, _ := strings.Cut(header, " ")
	secret = strings.TrimSpace(secret)
	switch {
	case header == "":
		return "", belfry.Errorf(belfry.Unauthorized, "no token was given").WithHint("%s", tokenHint)
	case !strings.EqualFold(scheme, "Bearer") || secret == "":
		return "", belfry.Errorf(belfry.Unauthorized, "the Authorization header holds no bearer token").WithHint("%s", tokenHint)
	case len(secret) > most:
		return "", belfry.Errorf(belfry.Unauthorized, "the token is unknown").WithHint("it is longer than any token")
	}
	return secret, nil
}

func (g *guard) recall(key [sha256.Size]byte) (token belfry.Token, known, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b, known := g.good[key]
	now := time.Now()
	return b.token, known, known && now.Before(b.until) && b.token.State(now) == belfry.TokenActive
}

func (g *guard) believe(key [sha256.Size]byte, t belfry.Token) {
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

func (g *guard) mayGuess(remote string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.guessers[network(remote)]
	return l == nil || l.Tokens() >= 1
}

func (g *guard) failed(remote string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from := network(remote)
	l := g.guessers[from]
	if l == nil {
		g.makeRoomLocked()
		l = rate.NewLimiter(rate.Every(failuresEvery), failuresAtOnce)
		g.guessers[from] = l
	}
	l.Allow()
}

// makeRoomLocked forgets addresses that have been quiet, or any one when none has.
func (g *guard) makeRoomLocked() {
	if len(g.guessers) < maxGuessers {
		return
	}
	for from, l := range g.guessers {
		if l.Tokens() >= failuresAtOnce {
			delete(g.guessers, from)
		}
	}
	if len(g.guessers) >= maxGuessers {
		dropOne(g.guessers)
	}
}

func dropOne[K comparable, V any](m map[K]V) {
	for k := range m {
		delete(m, k)
		return
	}
}

// network is what one guesser has: an IPv4 address, or an IPv6 /64.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}

// allow wants a scope of a token, if any.
func allow(t belfry.Token, want belfry.Scope) error {
	if want == "" || belfry.Allows(t.Scopes, want) {
		return nil
	}
	return belfry.Errorf(belfry.Forbidden, "this needs the scope %s; token %q has %s", want, t.Name, scopeText(t.Scopes)).
		WithHint("make a token that may: belfry token create NAME --scope %s", want)
}

func scopeText(scopes []belfry.Scope) string {
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
func everywhere(t belfry.Token, what string) error {
	if t.Namespace == belfry.AnyNamespace {
		return nil
	}
	return belfry.Errorf(belfry.Forbidden, "%s belong to all namespaces, and token %q is for %q", what, t.Name, t.Namespace).
		WithHint("use a token for namespace *")
}

// inNamespace is the namespace that is meant when a token asks for one, or for none.
func inNamespace(t belfry.Token, field, asked string) (string, error) {
	all := t.Namespace == belfry.AnyNamespace
	switch {
	case asked == "" && all:
		return belfry.DefaultNamespace, nil
	case asked == "" || asked == t.Namespace:
		return t.Namespace, nil
	case !all:
		return "", belfry.Errorf(belfry.Forbidden, "token %q is for namespace %q, not for %q", t.Name, t.Namespace, asked).
			WithHint("leave the namespace out, or use a token for it")
	}
	return asked, belfry.CheckName(field, asked)
}

// inOne is inNamespace where all of them cannot be meant.
func inOne(t belfry.Token, field, asked string) (string, error) {
	ns, err := inNamespace(t, field, asked)
	if err == nil && ns == belfry.AnyNamespace {
		return "", belfry.InvalidField(field, ns, "must be one namespace", "names are unique within a namespace only")
	}
	return ns, err
}

// agree is one of two ways to say the same thing, or the fault of both.
func agree(field, outer, inner string) (string, error) {
	if outer != "" && inner != "" && outer != inner {
		return "", belfry.InvalidField(field, inner, fmt.Sprintf("differs from %q in the address", outer), "leave one of them out")
	}
	if outer != "" {
		return outer, nil
	}
	return inner, nil
}
