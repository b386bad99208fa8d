package httpapi

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/belfry-run/belfry/core"
)

// askedPage answers persons with a page.
type askedPage struct{ http.Handler }

func (askedPage) Refuse(w http.ResponseWriter, _ *http.Request, status int, err *core.Error) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<p>"+err.Message+": "+err.Hint)
}

// A visitor who asks too often from a form sees a page, and a program the problem of the API.
func TestTooFrequentVisitorsSeeAPage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) {
		o.Subscribe = askedPage{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })}
	})
	ask := func(accept string) (int, http.Header, string) {
		status, head, body := b.raw(t, http.MethodPost, "/status/public/subscribe", "address=ann%40example.com", "Content-Type", "application/x-www-form-urlencoded", "Authorization", "", "Accept", accept)
		return status, head, string(body)
	}
	for range 5 {
		ask("text/html")
	}
	if status, head, body := ask("text/html,*/*;q=0.8"); status != http.StatusTooManyRequests || body != "<p>too many subscriptions were asked for from this address: wait some minutes" || head.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", status, head, body)
	}
	if status, head, body := ask("application/json"); status != http.StatusTooManyRequests || !strings.Contains(head.Get("Content-Type"), "problem+json") {
		t.Errorf("%d %v %s", status, head, body)
	}
	if log := b.logged.text(); strings.Contains(log, "level=WARN") || !strings.Contains(log, `level=DEBUG msg="request over a limit"`) {
		t.Errorf("a stranger fills the log: %s", log)
	}
}

// What makes Belfry send something to another address is counted by the address of the asker. The key of a link is in no log.
func TestVisitorsAskSeldom(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	b := setup(t, func(o *Options) {
		o.Subscribe = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			served.Add(1)
			w.WriteHeader(http.StatusAccepted)
		})
	})
	form := "application/x-www-form-urlencoded"
	for n := range 10 {
		status, _, body := b.raw(t, http.MethodPost, "/status/public/subscribe", "address=ann%40example.com", "Content-Type", form, "Authorization", "")
		want := http.StatusAccepted
		if n >= 5 {
			want = http.StatusTooManyRequests
		}
		if status != want {
			t.Errorf("request %d: %d %s", n, status, body)
		}
	}
	if status, head, body := b.raw(t, http.MethodPost, "/status/public/subscribe", "address=ann%40example.com", "Content-Type", form, "Authorization", "", "Accept", "text/html"); status != http.StatusTooManyRequests || !strings.Contains(head.Get("Content-Type"), "problem+json") {
		t.Errorf("without pages: %d %s", status, body)
	}
	const key = "KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK"
	for _, method := range []string{http.MethodGet, http.MethodPost} { // who leaves is never refused
		if status, _, body := b.raw(t, method, "/subscription/"+key, "", "Content-Type", form, "Authorization", ""); status != http.StatusAccepted {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
	if served.Load() != 7 {
		t.Errorf("%d", served.Load())
	}
	if text := b.logged.text(); strings.Contains(text, key) || strings.Contains(text, "ann") {
		t.Error("a key or an address is in the log")
	}
	if status, _, _ := b.raw(t, http.MethodPost, "/status/public/subscribe", "", "Content-Type", form, "Authorization", "", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("from the page of another site: %d", status)
	}
}
