package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
)

// Limits of a namespace are saved from their form, and two people do not overwrite each other.
func TestLimitsOfANamespaceAreEdited(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := s.Context()
	must(s.SaveNamespace(ctx, access.Namespace{Name: "team", Queues: []string{"default"}, Quota: access.Quota{Waiting: 10, ArtifactBytes: 3 << 30}, Limits: []flow.Limit{{Running: 4}}}))(s)
	v := s.visitor(s.admin)
	const edit = "/settings/limits/edit?namespace=team"
	_, page := v.get(edit)
	form := formAt(t, page, "namespace=team", "namespace=fresh")
	status, _ := v.post(edit, with(with(with(with(form, "quota.waiting", "20"), "quota.artifact_bytes", "512MiB"), "quota.log_bytes", "2 GiB"), "limits", "running=4\nname=each,key=input.customer,rate=5/1s")...)
	n := must(s.Namespace(ctx, "team"))(s)
	if status != http.StatusOK || n.Quota != (access.Quota{Waiting: 20, ArtifactBytes: 512 << 20, LogBytes: 2 << 30}) || len(n.Limits) != 2 || len(n.Queues) != 1 {
		t.Fatalf("%d: %+v", status, n)
	}
	if status, page = v.post(edit, with(form, "quota.waiting", "30")...); status != http.StatusConflict || !strings.Contains(page, "20") || must(s.Namespace(ctx, "team"))(s).Quota.Waiting != 20 {
		t.Errorf("what another has changed is overwritten: %d", status)
	}
	_, page = v.get(edit)
	form = formAt(t, page, "namespace=team", "namespace=fresh")
	for field, bad := range map[string][2]string{
		"quota.waiting": {"many", "is not a whole number"}, "quota.artifact_bytes": {"3 parsecs", "is not a size"}, "quota.log_bytes": {"-1", "is not a size"}, "quota.enqueue_rate": {"fast", "100/1m"}, "quota.enqueue_burst": {"5", "needs a rate"}, "quota.call_rate": {"often", "100/1m"}, "limits": {"x", "x"},
		"queues": {"none-such", "none-such"}, "max_priority": {"5000", "is outside"}, "quota.monitors": {"-1", "is outside"},
	} {
		if status, page := v.post(edit, with(form, field, bad[0])...); status != http.StatusUnprocessableEntity && status != http.StatusNotFound || !strings.Contains(page, bad[1]) {
			t.Errorf("%s: %d", field, status)
		}
	}
	var none []string
	for i := 0; i < len(form); i += 2 {
		none = append(none, form[i], map[bool]string{true: form[i+1]}[form[i] == "version" || form[i] == "do"])
	}
	if status, page := v.post(edit, none...); status != http.StatusOK || must(s.Namespace(ctx, "team"))(s).Limited() {
		t.Errorf("no limits: %d %s", status, page)
	}
	// Who had opened it before sees the clash, and who saves a third version meanwhile is not overwritten.
	status, page = v.post(edit, with(form, "quota.waiting", "50")...)
	again := formAt(t, page, "namespace=team", "namespace=fresh")
	if status != http.StatusConflict {
		t.Errorf("after all limits were taken away: %d", status)
	}
	must(s.SaveNamespace(ctx, access.Namespace{Name: "team", Quota: access.Quota{Waiting: 60}}))(s)
	if status, _ := v.post(edit, again...); status != http.StatusConflict || must(s.Namespace(ctx, "team"))(s).Quota.Waiting != 60 {
		t.Errorf("what a third has saved is overwritten: %d", status)
	}
	// What was never saved is saved once.
	_, page = v.get("/settings/limits/edit?namespace=fresh")
	form = formAt(t, page, "namespace=team", "namespace=fresh")
	if status, _ := v.post("/settings/limits/edit?namespace=fresh", with(form, "quota.monitors", "3")...); status != http.StatusOK || must(s.Namespace(ctx, "fresh"))(s).Quota.Monitors != 3 {
		t.Errorf("a new one: %d", status)
	}
	if status, _ := v.post("/settings/limits/edit?namespace=fresh", with(form, "quota.monitors", "4")...); status != http.StatusConflict {
		t.Errorf("a new one, twice: %d", status)
	}
	own, _ := s.token("team", "team", access.ScopeAdmin)
	if status, _ := s.visitor(own).get("/settings/limits/edit"); status != http.StatusForbidden {
		t.Errorf("an admin of one namespace: %d", status)
	}
	if _, page := s.visitor(own).get("/settings/limits"); strings.Contains(page, "limits/edit") {
		t.Error("an admin of one namespace is offered the form")
	}
}

func TestTokenIsShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/tokens")
	b.Type("#f-name", "not a name")
	s.refused(b, "form[action='/settings/tokens'] button.main", 422, "not a name", "New token")

	b.Visit(s.url + "/settings/tokens")
	put(b, "#f-name", "ci")
	b.Click("input[value=operate]")
	s.sends(b, "form[action='/settings/tokens'] button.main", "Token ci is created", "shown only once")
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
	i := slices.IndexFunc(all, func(t access.Token) bool { return t.Name == "ci" })
	if i < 0 || !slices.Equal(all[i].Scopes, []access.Scope{access.ScopeRead, access.ScopeOperate}) || all[i].ExpiresAt.Before(time.Now().Add(89*24*time.Hour)) {
		t.Fatalf("%+v", all)
	}
	id := numberText(all[i].ID)
	opens(b, "revoke-"+id)
	b.Shows("Revoke the token ci?", "cannot be undone")
	s.sends(b, "#revoke-"+id+" button.danger", "is revoked: it no longer opens anything")
}

func TestSecretIsSetAndForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/secrets")
	b.Type("#f-name", "db")
	b.Type("#f-value", " hush-hush\n")
	s.sends(b, "form[action='/settings/secrets'] button.main", "Saved secret db.", "no task")
	if strings.Contains(b.Text("body"), "hush-hush") {
		t.Error("the value is shown")
	}
	picture(b, "secret-set")
	b.Layout()
	opens(b, "delete-0")
	s.sends(b, "#delete-0 button.danger", "Secret db is deleted.", "There is no secret yet.")

	b.Type("#f-name", "no good name")
	b.Type("#f-value", "hush-hush")
	b.Follow("form[action='/settings/secrets'] button.main")
	b.Quiet(s.url, 422)
	if strings.Contains(b.Text("body"), "hush-hush") {
		t.Error("a refused value is shown")
	}
}

func TestJoinTokenIsShownOnceUsedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.at("/settings/join-tokens")
	b.Shows("There is no join token.", "belfry token join create builders")
	b.Type("#f-name", "builders")
	b.Type("#f-labels", "pool build")
	s.refused(b, "form[action='/settings/join-tokens'] button.main", 422, "is not a label", "one a line")
	if name := value(b, "#f-name"); name != "builders" {
		t.Errorf("the form says %q", name)
	}
	put(b, "#f-labels", "pool=build\ndisk=fast")
	put(b, "#f-uses", "2")
	s.sends(b, "form[action='/settings/join-tokens'] button.main", "Join token builders is created", "shown only once", "belfry worker --server "+s.url+" --join @join.token", "0 of 2", "disk=fast pool=build")
	picture(b, "join-token-made")
	b.Layout()
	b.Axe()
	secret := strings.TrimSpace(b.Text("#secret"))
	joined, _, err := s.Join(t.Context(), secret, "machine-1")
	if err != nil || joined.Labels["pool"] != "build" || !slices.Equal(joined.Scopes, []access.Scope{access.ScopeWorker}) {
		t.Fatalf("%+v %v", joined, err)
	}
	b.Visit(s.url + "/settings/join-tokens")
	b.Shows("1 of 2", "active")
	if strings.Contains(b.Text("body"), secret) {
		t.Error("the secret is shown again")
	}
	id := numberText(must(s.JoinTokens(t.Context()))(s)[0].ID)
	opens(b, "revoke-"+id)
	b.Shows("Revoke the join token builders?", "1 machine got by it stays good")
	says(b, "#revoke-"+id, "belfry token join revoke "+id, "/v1/join-tokens/"+id)
	s.sends(b, "#revoke-"+id+" button.danger", "no machine can join with it", "revoked")
	if _, _, err := s.Join(t.Context(), secret, "machine-2"); core.CodeOf(err) != core.Unauthorized {
		t.Errorf("a machine joins: %v", err)
	}
	b.Visit(s.url + "/audit?noun=join_token&namespace=*")
	b.Shows("create join token", "revoke join token")
}

// Who administers one namespace sees its join tokens and makes none, and asks
// the database nothing.
func TestSettingsOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	secret, _ := s.token("team", "default", access.ScopeAdmin)
	v := s.visitor(secret)
	if status, body := v.get("/settings/join-tokens"); status != 200 || !strings.Contains(body, "builders") || strings.Contains(body, "Make it") || strings.Contains(body, "Revoke") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := v.get("/settings/database"); status != 403 || strings.Contains(body, `href="/settings/database"`) {
		t.Errorf("the database: %d", status)
	}
	_, body := s.visitor(s.admin).get("/settings")
	for _, tab := range settingsTabs {
		if !strings.Contains(body, `href="`+tab+`"`) {
			t.Errorf("nothing leads to %s", tab)
		}
		if _, there := s.visitor(s.admin).get(tab); !strings.Contains(there, `aria-label="Settings"`) || !strings.Contains(there, `<a href="`+tab+`" aria-current="page">`) {
			t.Errorf("%s does not lead to the other settings", tab)
		}
	}
}

var settingsTabs = []string{
	"/settings", "/settings/database", "/settings/tokens", "/settings/join-tokens", "/settings/secrets",
	"/alert-rules", "/settings/channels", "/settings/hooks", "/settings/windows", "/calendars",
}
