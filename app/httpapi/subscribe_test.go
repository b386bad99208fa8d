package httpapi

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

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
