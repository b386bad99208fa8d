package notify_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
)

// TestEventsOfHooks: the body goes as it is, signed, under a key of its own; what a receiver repeats of the secrets is
// not shown, and 410 is told from other refusals.
func TestEventsOfHooks(t *testing.T) {
	t.Parallel()
	h := hook.Hook{Namespace: "default", Name: "billing", Secret: "0123456789abcdef-" + marker, ID: 7}
	m := hook.Message(h, []hook.Event{{ID: 1, Type: "job.failed", Namespace: "default", Job: &hook.Job{ID: 5, Error: "<a>"}}})
	r := newReceiver(t, nil)
	h.URL = core.Secret(r.URL + "/in/" + marker)
	s := newSender(t)
	if err := s.Send(patient(t), h.Channel(), m); err != nil {
		t.Fatal(err)
	}
	got := r.take()[0]
	if string(got.body) != string(m.Body) || got.header.Get(notify.HeaderEvent) != "job.failed" || got.header.Get(notify.HeaderDelivery) != m.Key {
		t.Errorf("got %v %s", got.header, got.body)
	}
	if err := notify.Verify(string(h.Secret), got.header.Get(notify.HeaderSignature), got.body, time.Now(), 0); err != nil {
		t.Error(err)
	}
	for code, gone := range map[int]bool{http.StatusGone: true, http.StatusNotFound: false, http.StatusInternalServerError: false, http.StatusFound: false} {
		r := newReceiver(t, status(code))
		h.URL = core.Secret(r.URL + "/in/" + marker)
		err := s.Send(patient(t), h.Channel(), m)
		if err == nil || notify.Gone(err) != gone {
			t.Errorf("%d: %v, gone %v", code, err, notify.Gone(err))
		}
		if err != nil && strings.Contains(err.Error(), marker) {
			t.Errorf("%d tells a secret: %v", code, err)
		}
	}
}
