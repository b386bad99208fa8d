package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// A namespace that calls too often is refused, and nobody else: no other namespace, no worker of its own, no page.
func TestACallRateHoldsForTheTokensOfItsNamespace(t *testing.T) {
	t.Parallel()
	st := openSQLite(t, store.Options{})
	t.Cleanup(func() { _ = st.Close() })
	if _, err := st.SaveNamespace(t.Context(), access.Namespace{Name: "team-a", Quota: access.Quota{CallRate: "2/1h"}}); err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(o *Options) { o.Calls = st })
	b.tokens.set("other", access.Token{ID: 9, Name: "other", Namespace: "team-b", Scopes: access.Scopes})
	ask := func(method, path, secret string) (int, string) {
		t.Helper()
		status, header, body := b.raw(t, method, path, "", "Authorization", "Bearer "+secret)
		if status == http.StatusTooManyRequests && header.Get("Retry-After") != "1800" && header.Get("Retry-After") != "1799" {
			t.Errorf("Retry-After is %q", header.Get("Retry-After"))
		}
		return status, body
	}
	for range 2 {
		if status, body := ask(http.MethodGet, "/v1/tasks", "team"); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
	status, body := ask(http.MethodGet, "/v1/tasks", "team")
	if status != http.StatusTooManyRequests || !strings.Contains(body, `"over_quota"`) || !strings.Contains(body, "call_rate: 2/1h, bursts of 2") || !strings.Contains(body, "--call-rate") {
		t.Errorf("%d %s", status, body)
	}
	for _, secret := range []string{"root", "other"} {
		for range 5 {
			if status, body := ask(http.MethodGet, "/v1/tasks", secret); status != http.StatusOK {
				t.Errorf("%s: %d %s", secret, status, body)
			}
		}
	}
	if status, body := ask(http.MethodDelete, "/v1/sessions/1", "team"); status == http.StatusTooManyRequests {
		t.Errorf("a worker is counted: %s", body)
	}
	if _, err := b.within(t, "team").Tasks(t.Context(), task.Filter{}); err != nil {
		t.Errorf("a page is counted: %v", err)
	}
	use, err := st.QuotaUse(t.Context(), "team-a")
	if err != nil || len(use) != 1 || use[0] != (access.QuotaUse{Quota: access.QuotaCallRate, Limit: 2, Used: 2}) {
		t.Errorf("%+v %v", use, err)
	}
	if _, err := b.as(t, "team").Tasks(t.Context(), task.Filter{}); core.CodeOf(err) != core.OverQuota {
		t.Error(err)
	}
	// Another quota counts from the next call on.
	if _, err := st.SaveNamespace(t.Context(), access.Namespace{Name: "team-a"}); err != nil {
		t.Fatal(err)
	}
	if status, body := ask(http.MethodGet, "/v1/tasks", "team"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}
