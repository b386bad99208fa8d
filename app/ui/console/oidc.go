package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/signin"
	"github.com/belfry-run/belfry/core"
)

// Tokens makes the tokens of people who sign in through a provider, and ends
// them with their sessions.
type Tokens interface {
	IssueToken(ctx context.Context, t access.Token) (access.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
}

// trip is the state in the browser while a person is at the provider. It is in a
// cookie of its own, because the person is not signed in yet; only the browser
// itself could misuse it.
type trip struct {
	signin.Flow
	Next      string `json:"next,omitempty"`      // where to go then
	Namespace string `json:"namespace,omitempty"` // that was chosen
}

const (
	tripAge = 10 * 60 // seconds that a person may be away
	maxNext = 1 << 10 // bytes of where to go then; cookies are small
)

func (c *Console) tripCookie(r *http.Request) string { return c.cookieName(r) + "-sign-in" }

func (t trip) cookie() string {
	text, _ := json.Marshal(t) // nothing in it cannot be
	return base64.RawURLEncoding.EncodeToString(text)
}

func (c *Console) trip(r *http.Request) (t trip) {
	if cookie, err := r.Cookie(c.tripCookie(r)); err == nil {
		if text, err := base64.RawURLEncoding.DecodeString(cookie.Value); err == nil {
			_ = json.Unmarshal(text, &t) // a cookie that cannot be read gives an empty trip, which is refused
		}
	}
	return t
}

// callback is where the provider sends people back to. The provider knows it
// beforehand and accepts no other.
func (c *Console) callback(r *http.Request) (string, error) {
	if c.site.Origin == "" && !frame.IsLoopback(r.Host) {
		return "", core.Errorf(core.Conflict, "this node does not know its own address").WithHint("an operator sets public_url")
	}
	return c.site.Base(r) + "/sign-in/oidc/callback", nil
}

// leave sends a person to the provider. It answers a link and not a form: our
// policy lets forms go nowhere else, by way of a redirect either.
func (c *Console) leave(w http.ResponseWriter, r *http.Request) {
	p := c.newPage(w, r)
	t := trip{Next: frame.LocalPath(r.FormValue("next")), Namespace: r.FormValue("to")}
	if len(t.Next) > maxNext {
		t.Next = "/"
	}
	back, err := c.callback(r)
	var address string
	if err == nil {
		address, t.Flow, err = c.opt.Provider.Begin(r.Context(), back)
	}
	if err != nil {
		p.refused(t, err)
		return
	}
	c.site.SetCookie(w, r, c.tripCookie(r), t.cookie(), tripAge)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// arrive signs in a person who returns from the provider.
func (c *Console) arrive(w http.ResponseWriter, r *http.Request) {
	p := c.newPage(w, r)
	t := c.trip(r)
	c.site.SetCookie(w, r, c.tripCookie(r), "", -1) // an answer counts once
	back, err := c.callback(r)
	var who signin.Person
	if err == nil {
		who, err = c.opt.Provider.Finish(r.Context(), c.opt.Network(r.Context()), t.Flow, back, r.URL.Query())
	}
	var grant access.Grant
	if err == nil {
		chosen := slices.IndexFunc(who.Grants, func(g access.Grant) bool { return g.Namespace == t.Namespace })
		switch {
		case chosen >= 0:
			grant = who.Grants[chosen]
		case len(who.Grants) == 1:
			grant = who.Grants[0]
		default:
			p.signInPage(signInData{Next: t.Next, Choices: who.Grants})
			return
		}
		err = p.admit(who.Name, grant)
	}
	if err != nil {
		p.refused(t, err)
		return
	}
	c.log.Info("signed in through the provider", "name", who.Name, "grant", grant.String())
	http.Redirect(w, r, c.site.Prefix+frame.LocalPath(t.Next), http.StatusSeeOther)
}

func (p *page) refused(t trip, err error) {
	p.Site.Log.Log(p.R.Context(), p.c.refusalLevel(), "sign-in through the provider refused", "error", err, "cause", signin.Cause(err))
	p.Status = p.Site.Status(err)
	p.signInPage(signInData{Next: t.Next, Err: err})
}

// refusalLevel is how loud the log is about a refusal. Visitors need no right to be refused, and could fill the log.
func (c *Console) refusalLevel() slog.Level {
	if c.refusals.Allow() {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// admit opens a session for a person, with a token of their name that ends with
// it: so rights, limits and the audit are those of any other token.
func (p *page) admit(name string, g access.Grant) error {
	ctx := access.WithActor(p.R.Context(), access.PersonActor(name))
	t, secret, err := p.c.opt.Tokens.IssueToken(ctx, access.Token{
		Name: name, Namespace: g.Namespace, Scopes: []access.Scope{g.Scope}, ExpiresAt: p.c.opt.Now().Add(p.c.opt.Limits.Life.D()),
	})
	if err != nil {
		return err
	}
	if err := p.open(access.PersonActor(name), sealed{Secret: secret, Own: t.ID}); err != nil {
		_ = p.c.opt.Tokens.RevokeToken(ctx, t.ID) // it is not in use, and ends by itself
		return err
	}
	return nil
}

// SignInLink is where the provider begins, with where to go then, for a
// namespace that was chosen.
func (p *page) SignInLink(next, namespace string) string {
	return p.With(p.Site.Prefix+"/sign-in/oidc", "next", next, "to", namespace)
}

// Provider is the host of the provider to sign in through, or empty.
func (p *page) Provider() string {
	if p.c.opt.Provider == nil {
		return ""
	}
	return p.c.opt.Provider.Host()
}
