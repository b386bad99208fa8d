package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

type tokenAPI interface {
	Tokens(ctx context.Context) ([]access.Token, error)
	CreateToken(ctx context.Context, t access.Token) (access.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
	Namespaces(ctx context.Context) ([]access.Namespace, error)
}

var tokenRoutes = routes{
	"GET /settings/tokens":              tokenList,
	"POST /settings/tokens":             createToken,
	"POST /settings/tokens/{id}/revoke": revokeToken,
}

type tokensData struct {
	Tokens []access.Token
	Made   *access.Token // with its secret, which is shown only now
	Secret string
	Err    error

	Namespaces []access.Namespace // that have limits

	asked access.Token // of the form
	life  string
}

// tokenLives are how long a new token may be valid.
var tokenLives = []string{"90d", "1d", "7d", "30d", "365d", "forever"}

func tokenList(p *page) error {
	d := tokensData{asked: access.Token{Namespace: p.Namespace, Scopes: []access.Scope{access.ScopeRead}}, life: tokenLives[0]}
	return d.show(p)
}

// show reads the list, and shows it with the result of the form.
func (d tokensData) show(p *page) (err error) {
	if d.Tokens, err = p.api.Tokens(p.R.Context()); err != nil {
		return err
	}
	if d.Namespaces, err = p.api.Namespaces(p.R.Context()); err != nil {
		return err
	}
	slices.SortStableFunc(d.Tokens, func(a, b access.Token) int { // those that work first
		return boolOrder(p.tokenWorks(b), p.tokenWorks(a))
	})
	if d.Err != nil {
		return p.Again("tokens", d, d.Err)
	}
	return p.Show("tokens", d)
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func createToken(p *page) error {
	form := p.R.PostForm
	d := tokensData{life: form.Get("life"), asked: access.Token{Name: strings.TrimSpace(form.Get("name")), Namespace: strings.TrimSpace(form.Get("namespace"))}}
	for _, s := range form["scopes"] {
		d.asked.Scopes = append(d.asked.Scopes, access.Scope(s))
	}
	if life, err := core.ParseDuration(d.life); err == nil {
		d.asked.ExpiresAt = p.Now.Add(life.D())
	}
	t, secret, err := p.api.CreateToken(p.R.Context(), d.asked)
	if err != nil {
		d.Err = err
		return d.show(p)
	}
	// Not on another page: the secret would have to wait for it somewhere.
	d = tokensData{Made: &t, Secret: secret, asked: access.Token{Namespace: p.Namespace}, life: tokenLives[0]}
	return d.show(p)
}

func revokeToken(p *page) error {
	id, err := p.PathID("token")
	if err != nil {
		return err
	}
	if err := p.api.RevokeToken(p.R.Context(), id); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "tokens"), "Token %d is revoked: it no longer opens anything.", id)
}

// Fields are those of a new token.
func (d tokensData) Fields() []parts.Field {
	return []parts.Field{
		parts.NewField("name", "Name", "text", d.asked.Name, "Its user or purpose, such as ci. The audit shows it.", d.Err).Need(),
		parts.NewField("namespace", "Namespace", "text", d.asked.Namespace, "Where it is valid; * for everywhere.", d.Err).Need(),
		parts.NewField("life", "Valid for", "select", d.life, "", d.Err).Among(tokenLives...),
	}
}

// scopeChoice is a right that a token may have.
type scopeChoice struct {
	Scope access.Scope
	Words string
	On    bool
}

// Scopes are the rights to choose from.
func (d tokensData) Scopes() []scopeChoice {
	var all []scopeChoice
	for i, words := range []string{"see everything but secrets", "trigger, enqueue, pause, cancel and retry too", "create, edit and delete too, and create tokens", "run jobs: for workers"} {
		s := access.Scopes[i]
		all = append(all, scopeChoice{s, words, slices.Contains(d.asked.Scopes, s)})
	}
	return all
}

func (p *page) tokenWorks(t access.Token) bool { return p.TokenState(t) == access.TokenActive }

// TokenState is the word for a token's chip.
func (p *page) TokenState(t access.Token) access.TokenState { return t.State(p.Now) }

// scopeNames are rights in a row.
func scopeNames(t access.Token) string {
	names := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// RevokeToken asks before a token ends.
func (p *page) RevokeToken(t access.Token) parts.Confirm {
	cmd := p.Command("DELETE", fmt.Sprintf("/v1/tokens/%d", t.ID), "", "token", "revoke", strconv.FormatInt(t.ID, 10))
	c := parts.Confirm{
		ID: fmt.Sprintf("revoke-%d", t.ID), Button: "Revoke", Danger: true, Title: "Revoke the token " + t.Name + "?",
		Text:   "Requests with it are refused from now on. It cannot be undone.",
		Action: p.Link("settings", "tokens", t.ID, "revoke"), Cmd: &cmd,
	}
	if t.ID == p.Token.ID {
		c.Text = "You are signed in with this token: you will be asked to sign in with another one. It cannot be undone."
	}
	return c
}

// CreateTokenCommand is making one, without this page.
func (p *page) CreateTokenCommand(d tokensData) parts.Command {
	name := d.asked.Name
	if name == "" {
		name = "ci"
	}
	body, _ := json.Marshal(map[string]any{"name": name, "scopes": []string{"read"}, "expires_at": p.Now.Add(90 * 24 * time.Hour).UTC().Truncate(24 * time.Hour)}) // plain words
	return p.Command("POST", "/v1/tokens", string(body), "token", "create", name, "--scope", "read", "--expires", "90d")
}
