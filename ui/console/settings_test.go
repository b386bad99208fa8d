package console_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
)

func TestTokenIsShownOnceAndRevoked(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	b.Visit(s.url + "/settings/tokens")
	b.Type("#f-name", "not a name")
	b.Follow("form[action='/settings/tokens'] button.main")
	b.Quiet(s.url, 422)
	b.Shows("not a name", "New token")

	b.Visit(s.url + "/settings/tokens")
	b.Type("#f-name", "ci")
	b.Click("input[value=operate]")
	b.Follow("form[action='/settings/tokens'] button.main")
	b.Quiet(s.url)
	b.Shows("Token ci is made", "shown this once")
	picture(b, "token-made")
	b.Layout()
	b.Axe()
	secret := strings.TrimSpace(b.Text("#secret"))
	if _, body := s.visitor(secret).get("/queues"); !strings.Contains(body, "<h1>Queues</h1>") {
		t.Errorf("the secret opens nothing: %s", body)
	}
	b.Visit(s.url + "/settings/tokens")
	if said := b.Text("body"); strings.Contains(said, secret) {
		t.Error("the secret is shown again")
	}
	all := must(s.Tokens(t.Context()))(s)
	i := slices.IndexFunc(all, func(t belfry.Token) bool { return t.Name == "ci" })
	if i < 0 || !slices.Equal(all[i].Scopes, []belfry.Scope{belfry.ScopeRead, belfry.ScopeOperate}) || all[i].ExpiresAt.Before(time.Now().Add(89*24*time.Hour)) {
		t.Fatalf("%+v", all)
	}
	id := numberText(all[i].ID)
	b.Click("button[popovertarget=revoke-" + id + "]")
	b.Until(`document.getElementById('revoke-` + id + `').matches(':popover-open')`)
	b.Shows("Revoke the token ci?", "cannot be undone")
	b.Follow("#revoke-" + id + " button.danger")
	b.Quiet(s.url)
	b.Shows("is revoked: it opens nothing any more")
}

func TestSecretIsSetAndForgotten(t *testing.T) {
	s := newSite(t)
	b := s.tab(s.admin)
	b.Visit(s.url + "/settings/secrets")
	b.Type("#f-name", "db")
	b.Type("#f-value", " hush-hush\n")
	b.Follow("form[action='/settings/secrets'] button.main")
	b.Quiet(s.url)
	b.Shows("Secret db is kept.", "no task")
	if strings.Contains(b.Text("body"), "hush-hush") {
		t.Error("the value is shown")
	}
	picture(b, "secret-set")
	b.Layout()
	b.Click("button[popovertarget=delete-0]")
	b.Until(`document.getElementById('delete-0').matches(':popover-open')`)
	b.Follow("#delete-0 button.danger")
	b.Quiet(s.url)
	b.Shows("Secret db is forgotten.", "No secret is kept.")

	b.Type("#f-name", "no good name")
	b.Type("#f-value", "hush-hush")
	b.Follow("form[action='/settings/secrets'] button.main")
	b.Quiet(s.url, 422)
	if strings.Contains(b.Text("body"), "hush-hush") {
		t.Error("a refused value is shown")
	}
}
