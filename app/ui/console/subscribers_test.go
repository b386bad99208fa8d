package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

func TestSubscribersAreShownAndRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *config.Config) { c.PublicURL = "http://127.0.0.1" })
	must(s.SaveStatusPage(t.Context(), public.StatusPage{Name: "public"}))(s)
	b := s.at("/status-pages/public/subscribers")
	b.Shows("Visitors cannot subscribe.")
	b.Visit(s.url + "/status-pages/public")
	b.Click("[name='subscribe.webhooks']")
	s.sends(b, "main form button.main", "Status page public is saved.")
	page := must(s.StatusPage(t.Context(), "default", "public"))(s)
	if page.Subscribe == nil || *page.Subscribe != (public.Subscribing{Webhooks: true}) {
		t.Fatalf("%+v", page.Subscribe)
	}
	for _, address := range []string{"https://hooks.example.com/a?b=%3Cc%3E", "https://hooks.example.com/d"} {
		r, err := http.PostForm(s.url+"/status/public/subscribe", url.Values{"kind": {"webhook"}, "address": {address}})
		if err != nil || r.StatusCode != http.StatusAccepted {
			t.Fatal(r, err)
		}
		_ = r.Body.Close()
	}
	b.Visit(s.url + "/status-pages/public/subscribers")
	b.Shows("https://hooks.example.com/d", "pending", "Not confirmed yet")
	picture(b, "subscribers")
	b.Axe()
	reader, _ := s.token("viewer", "default", access.ScopeRead)
	if status, body := s.visitor(reader).get("/status-pages/public/subscribers"); status != http.StatusOK || strings.Contains(body, "hooks.example") || !strings.Contains(body, "Not confirmed yet") {
		t.Errorf("a reader gets %d, with addresses or without counts", status)
	}
	all := must(s.Subscribers(t.Context(), view.SubscriberFilter{Namespace: "default", StatusPage: "public"}))(s).Items
	b.Visit(s.url + "/status-pages/public")
	b.Shows("The state of the whole page", "[![public](http://127.0.0.1/status/public/badge.svg)](http://127.0.0.1/status/public)")
	b.Visit(s.url + "/status-pages/public/subscribers")
	opens(b, "remove-1")
	s.sends(b, "#remove-1 button.danger", "Subscriber 1 is removed.")
	if left := must(s.Subscribers(t.Context(), view.SubscriberFilter{Namespace: "default", StatusPage: "public"}))(s).Items; len(all) != 2 || len(left) != 1 {
		t.Errorf("%+v", left)
	}
}

// Without a public URL nobody can subscribe, and both pages say so.
func TestSubscriptionsWithoutAPublicURL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(s.SaveStatusPage(t.Context(), public.StatusPage{Name: "public", Subscribe: &public.Subscribing{Webhooks: true}}))(s)
	v := s.visitor(s.admin)
	for path, says := range map[string]string{"/status-pages/public": "visitors cannot subscribe until public_url is set", "/status-pages/public/subscribers": "this node has no public URL"} {
		if status, body := v.get(path); status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: %d, and it does not say %q", path, status, says)
		}
	}
}
