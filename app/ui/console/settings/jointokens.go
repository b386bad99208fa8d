package settings

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

type joinTokenAPI interface {
	JoinTokens(ctx context.Context) ([]access.JoinToken, error)
	CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error)
	RevokeJoinToken(ctx context.Context, id int64) error
}

var joinTokenRoutes = routes{
	"GET /settings/join-tokens":              joinTokenList,
	"POST /settings/join-tokens":             createJoinToken,
	"POST /settings/join-tokens/{id}/revoke": revokeJoinToken,
}

type joinTokensData struct {
	Tokens []access.JoinToken
	Made   *access.JoinToken // with its secret, which is shown only now
	Secret string
	Err    error

	name, namespace, uses, life, labels string // of the form
}

// joinLives are how long machines may join with a new one.
var joinLives = []string{"1h", "15m", "8h", "1d", "7d", "30d"}

func newJoinTokensData(p *page) joinTokensData {
	return joinTokensData{namespace: p.Namespace, uses: "1", life: joinLives[0]}
}

func joinTokenList(p *page) error { return newJoinTokensData(p).show(p) }

// show reads the list, and shows it with the result of the form.
func (d joinTokensData) show(p *page) (err error) {
	if d.Tokens, err = p.api.JoinTokens(p.R.Context()); err != nil {
		return err
	}
	slices.SortStableFunc(d.Tokens, func(a, b access.JoinToken) int { // those that work first
		return boolOrder(b.Refusal(p.Now) == nil, a.Refusal(p.Now) == nil)
	})
	if d.Err != nil {
		return p.Again("join-tokens", d, d.Err)
	}
	return p.Show("join-tokens", d)
}

func createJoinToken(p *page) error {
	form := p.R.PostForm
	at := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	d := joinTokensData{name: at("name"), namespace: at("namespace"), uses: at("uses"), life: form.Get("life"), labels: form.Get("labels")}
	t, err := d.token(p.Now)
	if err == nil {
		t, d.Secret, err = p.api.CreateJoinToken(p.R.Context(), t)
	} else {
		err = forms.Both(err, t.WithDefaults(p.Now).Validate(p.Now))
	}
	if err != nil {
		d.Err = err
		return d.show(p)
	}
	// Not on another page: the secret would have to wait for it somewhere.
	made := newJoinTokensData(p)
	made.Made, made.Secret = &t, d.Secret
	return made.show(p)
}

// token is what the form asks for.
func (d joinTokensData) token(now time.Time) (t access.JoinToken, err error) {
	var faults core.Problems
	t = access.JoinToken{Name: d.name, Namespace: d.namespace}
	if d.uses != "" {
		if t.Uses, err = strconv.Atoi(d.uses); err != nil {
			faults.Add("uses", d.uses, "is not a whole number", "")
		}
	}
	if life, err := core.ParseDuration(d.life); err == nil {
		t.ExpiresAt = now.Add(life.D())
	}
	for _, line := range parts.Lines(d.labels) {
		name, value, is := strings.Cut(line, "=")
		if !is {
			faults.Add("labels", line, "is not a label", "one a line: name=value")
			continue
		}
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		t.Labels[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return t, faults.Err("invalid input")
}

func revokeJoinToken(p *page) error {
	id, err := p.PathID("join token")
	if err != nil {
		return err
	}
	if err := p.api.RevokeJoinToken(p.R.Context(), id); err != nil {
		return err
	}
	return p.Done(p.Link("settings", "join-tokens"), "Join token %d is revoked: no machine can join with it.", id)
}

// Fields are those of a new join token.
func (d joinTokensData) Fields() []parts.Field {
	return []parts.Field{
		parts.NewField("name", "Name", "text", d.name, "The purpose of the machines, such as builders. The audit shows it.", d.Err).Need(),
		parts.NewField("namespace", "Namespace", "text", d.namespace, "Whose jobs the workers run; * for all.", d.Err).Need(),
		parts.NewField("uses", "Machines that may join with it", "number", d.uses, "", d.Err).Need(),
		parts.NewField("life", "They may join for", "select", d.life, "What they got stays good afterwards.", d.Err).Among(joinLives...),
		parts.NewField("labels", "Labels of their workers", "area", d.labels, "One a line: name=value. They count before a worker's own.", d.Err),
	}
}

// JoinTokenState is the word for a join token's chip.
func (p *page) JoinTokenState(t access.JoinToken) access.TokenState { return t.State(p.Now) }

// RevokeJoinToken asks before a join token ends.
func (p *page) RevokeJoinToken(t access.JoinToken) parts.Confirm {
	id, text := strconv.FormatInt(t.ID, 10), "No machine can join with it."
	if t.Used > 0 {
		text += fmt.Sprintf(" What %s got by it stays good: revoke those tokens too if they are not to work.", parts.Plural(t.Used, "machine", "machines"))
	}
	cmd := p.Command("DELETE", "/v1/join-tokens/"+id, "", "token", "join", "revoke", id)
	return parts.Confirm{
		ID: "revoke-" + id, Button: "Revoke", Danger: true, Title: "Revoke the join token " + t.Name + "?",
		Text: text, Action: p.Link("settings", "join-tokens", t.ID, "revoke"), Cmd: &cmd,
	}
}

// CreateJoinTokenCommand is making one, without this page.
func (p *page) CreateJoinTokenCommand() parts.Command {
	body := parts.JSONText(map[string]any{"name": "builders", "uses": 10})
	return p.Command("POST", "/v1/join-tokens", body, "token", "join", "create", "builders", "--uses", "10", "--expires", "1h")
}

// JoinCommand is how a machine joins.
func (p *page) JoinCommand() string {
	return "belfry worker --server " + parts.Quote(p.Site.Base(p.R)) + " --join @join.token"
}
