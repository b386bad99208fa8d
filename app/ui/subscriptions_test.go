package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/app/ui/internal/browser"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
)

const subscriptionKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// visitors keeps what visitors ask for.
type visitors struct {
	asked []string
	state public.SubscriberState
}

func (v *visitors) Subscribe(_ context.Context, namespace, page string, kind public.SubscriberKind, address string) error {
	if page == "none" {
		return core.Errorf(core.NotFound, "no status page %q takes subscriptions", page)
	}
	if _, err := public.ReadAddress(kind, address); err != nil {
		return err
	}
	v.asked = append(v.asked, namespace+"/"+page+" "+string(kind)+" "+address)
	return nil
}

func (v *visitors) set(key string, to public.SubscriberState) (public.Subscription, error) {
	if key != subscriptionKey || v.state == public.Left {
		return public.Subscription{}, core.Errorf(core.NotFound, "this link is not valid, or the subscription has ended").WithHint("subscribe again on the status page")
	}
	if to != "" {
		v.state = to
	}
	return public.Subscription{Namespace: "default", Page: "main", Title: "Acme <b>Cloud</b>", Kind: public.Mail, State: v.state}, nil
}

func (v *visitors) Subscription(_ context.Context, key string) (public.Subscription, error) {
	return v.set(key, "")
}

func (v *visitors) ConfirmSubscription(_ context.Context, key string) (public.Subscription, error) {
	return v.set(key, public.Confirmed)
}

func (v *visitors) Unsubscribe(_ context.Context, key string) (public.Subscription, error) {
	return v.set(key, public.Left)
}

// subscribing serves status pages and subscriptions to them.
func subscribing(t *testing.T, o ui.Options) (*visitors, http.Handler) {
	t.Helper()
	board := fullBoard()
	board.Subscribe = []public.SubscriberKind{public.Mail, public.Webhook}
	o.Board = fixed(board)
	p, err := ui.New(o)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitors{state: public.Pending}
	mux := http.NewServeMux()
	mux.Handle("/", p.Handler())
	s := p.Subscriptions(v, statusOf)
	mux.Handle("POST /status/", s)
	mux.Handle("/subscription/{key}", s)
	return v, mux
}

// post sends a form.
func post(h http.Handler, path string, pairs ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAVisitorSubscribes(t *testing.T) {
	v, h := subscribing(t, ui.Options{PublicURL: "https://status.example"})
	page := get(t, h, "/status/main")
	for _, want := range []string{`action="/status/main/subscribe"`, `type="email"`, `name="kind" value="webhook"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if csp := ask(h, http.MethodGet, "/status/main").header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self'") {
		t.Error(csp)
	}
	for _, test := range []struct {
		path   string
		form   []string
		status int
		asked  string
	}{
		{"/status/main/subscribe", []string{"kind", "mail", "address", "zoe@example.com"}, http.StatusAccepted, "default/main mail zoe@example.com"},
		{"/status/team/main/subscribe", []string{"address", "zoe@example.com"}, http.StatusAccepted, "team/main mail zoe@example.com"},
		{"/status/main/subscribe", []string{"kind", "webhook", "address", "https://example.com/<hook>"}, http.StatusAccepted, "default/main webhook https://example.com/<hook>"},
		{"/status/main/subscribe", []string{"kind", "mail", "address", "<script>alert(1)</script>"}, http.StatusUnprocessableEntity, ""},
		{"/status/main/subscribe", []string{"kind", "mail", "address", strings.Repeat("x", 1<<16)}, http.StatusUnprocessableEntity, ""},
		{"/status/none/subscribe", []string{"address", "zoe@example.com"}, http.StatusNotFound, ""},
		{"/status/main", []string{"address", "zoe@example.com"}, http.StatusMethodNotAllowed, ""},
		{"/status/main.json/subscribe", []string{"address", "zoe@example.com"}, http.StatusMethodNotAllowed, ""},
	} {
		v.asked = nil
		w := post(h, test.path, test.form...)
		if got := strings.Join(v.asked, ";"); w.Code != test.status || got != test.asked {
			t.Errorf("%s %.80q: %d %q", test.path, test.form, w.Code, got)
		}
		if body := w.Body.String(); strings.Contains(body, "zoe@") || strings.Contains(body, "<script>") || strings.Contains(body, "<hook>") {
			t.Errorf("it repeats the address: %s", body)
		}
	}
	_, h = subscribing(t, ui.Options{})
	if w := post(h, "/status/main/subscribe", "address", "zoe@example.com"); w.Code != http.StatusNotFound || strings.Contains(get(t, h, "/status/main"), "Get notified") {
		t.Errorf("without public_url: %d", w.Code)
	}
}

// Who is not let in sees why, and comes back to the page.
func TestAVisitorIsRefusedWithAPage(t *testing.T) {
	p, err := ui.New(ui.Options{PublicURL: "https://status.example", Board: fixed(fullBoard())})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/status/main/subscribe", nil)
	p.Subscriptions(&visitors{}, statusOf).(interface {
		Refuse(w http.ResponseWriter, r *http.Request, status int, err *core.Error)
	}).Refuse(w, r, http.StatusTooManyRequests, core.Errorf(core.Unavailable, "too many <of> them").WithHint("wait some minutes"))
	for _, want := range []string{"<h1", "This did not work", "too many &lt;of&gt; them", "wait some minutes", `href="/status/main"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("it does not say %s: %s", want, w.Body)
		}
	}
	if w.Code != http.StatusTooManyRequests || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// To look changes nothing: programs follow the links of a mail. One POST ends it, as RFC 8058 says.
func TestALinkOfASubscription(t *testing.T) {
	v, h := subscribing(t, ui.Options{PublicURL: "https://status.example"})
	at := "/subscription/" + subscriptionKey
	body := get(t, h, at)
	if v.state != public.Pending || !strings.Contains(body, "Do you want") || !strings.Contains(body, "Acme &lt;b&gt;Cloud") {
		t.Error(v.state, body)
	}
	if w := post(h, at, "action", "confirm"); w.Code != http.StatusOK || v.state != public.Confirmed {
		t.Error(w.Code, v.state)
	}
	if a := ask(h, http.MethodGet, at); v.state != public.Confirmed || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "same-origin" {
		t.Error(v.state, a.header)
	}
	if w := post(h, at, "action", "dance"); w.Code != http.StatusUnprocessableEntity || v.state != public.Confirmed {
		t.Error(w.Code, v.state)
	}
	if w := post(h, at, "List-Unsubscribe", "One-Click"); w.Code != http.StatusOK || v.state != public.Left || !strings.Contains(w.Body.String(), "no longer subscribed") {
		t.Error(w.Code, v.state)
	}
	for _, path := range []string{at, "/subscription/short", "/subscription/" + strings.Repeat("B", 43)} {
		if w := post(h, path, "action", "confirm"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// RFC 8058 lets mail programs post a form in both encodings, and prefers multipart.
func TestOneClickInAMultipartForm(t *testing.T) {
	v, h := subscribing(t, ui.Options{PublicURL: "https://status.example"})
	at := "/subscription/" + subscriptionKey
	send := func(body string) int {
		r := httptest.NewRequest(http.MethodPost, at, strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	part := "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x"
	for _, body := range []string{"", part, part + strings.Repeat("-", 1<<16)} {
		if code := send(body); code != http.StatusUnprocessableEntity || v.state != public.Pending {
			t.Errorf("%.80q: %d %s", body, code, v.state)
		}
	}
	if code := send(part + "--\r\n"); code != http.StatusOK || v.state != public.Left {
		t.Error(code, v.state)
	}
}

func TestSubscriptionsInABrowser(t *testing.T) {
	v, h := subscribing(t, ui.Options{PublicURL: "https://status.example"})
	site := httptest.NewServer(h)
	defer site.Close()
	b := browser.Open(t)
	for _, as := range []struct {
		scheme string
		width  int
	}{{"light", 1200}, {"dark", 1200}, {"light", 360}} {
		b.Emulate(as.scheme, as.width)
		b.Visit(site.URL + "/status/main")
		shot(b, fmt.Sprint("status-main-", as.scheme, as.width))
		b.Axe()
		b.Type("#mail", "zoe@example.com")
		b.Follow("form.subscribe button")
		b.Shows("Check your mail")
		shot(b, fmt.Sprint("status-asked-", as.scheme, as.width))
		b.Axe()
		v.state = public.Pending
		b.Visit(site.URL + "/subscription/" + subscriptionKey)
		shot(b, fmt.Sprint("status-confirm-", as.scheme, as.width))
		b.Axe()
		b.Follow("button[value=confirm]")
		b.Shows("You are subscribed")
		b.Follow("button[value=unsubscribe]")
		b.Shows("no longer subscribed")
	}
}

func shot(b *browser.Tab, name string) {
	if dir := os.Getenv("BELFRY_SCREENSHOTS"); dir != "" {
		b.Screenshot(filepath.Join(dir, name+".png"))
	}
}
