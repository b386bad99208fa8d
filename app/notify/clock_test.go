package notify_test

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
)

// A node whose own clock is wrong signs and dates by the clock that decides, and judges certificates by it: else receivers
// would refuse what seems to be signed hours ago.
func TestMessagesAreSignedByTheClockThatDecides(t *testing.T) {
	t.Parallel()
	allow, err := guard.ParseAllow([]string{"loopback"})
	if err != nil {
		t.Fatal(err)
	}
	decided := time.Date(2099, 5, 6, 7, 8, 9, 0, time.UTC)
	s := notify.New(notify.Options{Guard: guard.Options{Allow: allow}, Now: func() time.Time { return decided }})
	t.Cleanup(s.Close)
	r := newReceiver(t, nil)
	c := httpChannels(r.URL)["webhook"]
	c.Webhook.Secret = "a secret of the receiver"
	if err := s.Send(patient(t), c, messages[0].Message); err != nil {
		t.Fatal(err)
	}
	got := r.take()[0]
	if err := notify.Verify(string(c.Webhook.Secret), got.header.Get(notify.HeaderSignature), got.body, decided, 0); err != nil {
		t.Errorf("%s: %v", got.header.Get(notify.HeaderSignature), err)
	}

	m := newMailServer(t, mailSetup{noTLS: true})
	if err := s.Send(patient(t), m.channel("none", "on-call@example.com"), messages[0].Message); err != nil {
		t.Fatal(err)
	}
	if mail := m.take()[0]; !strings.Contains(mail.data, "Date: Wed, 06 May 2099 07:08:09 +0000\r\n") {
		t.Errorf("the mail has another date:\n%s", mail.data)
	}

	c.Webhook.URL = core.Secret(secure(t)) // its certificate ends in 2084
	if err := s.Send(patient(t), c, messages[0].Message); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a certificate that has ended by then: %v", err)
	}
	m = newMailServer(t, mailSetup{})
	s.Trust(m.pool)
	if err := s.Send(patient(t), m.channel("starttls"), messages[0].Message); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a certificate of a mail server that has ended by then: %v", err)
	}
}

func secure(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}
