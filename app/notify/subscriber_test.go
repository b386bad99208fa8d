package notify_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
)

// forSubscriber is a message to a subscriber of a status page.
func forSubscriber(challenge string) alert.Message {
	return alert.Message{
		Key: "k", Channel: "subscriber/7", Title: "Acme: site is down", URL: "https://status.example/status/public", Challenge: challenge,
		Unsubscribe:   "https://status.example/subscription/the-key",
		Notifications: []alert.Notification{{Type: alert.NotificationStatus, Title: "Acme: site is down"}},
	}
}

func TestMailToASubscriberCanBeEndedByOneClick(t *testing.T) {
	t.Parallel()
	server := newMailServer(t, mailSetup{})
	s := newSender(t)
	s.Trust(server.pool)
	c := server.channel("", "ann@example.com")
	c.Name = "subscriber/7"
	if err := s.Send(patient(t), c, forSubscriber("")); err != nil {
		t.Fatal(err)
	}
	mail := server.take()[0].data
	_, parts := readMail(t, mail)
	for _, want := range []string{"List-Unsubscribe: <https://status.example/subscription/the-key>", "List-Unsubscribe-Post: List-Unsubscribe=One-Click"} {
		if !strings.Contains(strings.ReplaceAll(mail, "\r\n ", " "), want) {
			t.Errorf("no %s in\n%s", want, mail)
		}
	}
	for _, p := range parts {
		if !strings.Contains(p.text, "https://status.example/subscription/the-key") || !strings.Contains(p.text, "https://status.example/status/public") {
			t.Errorf("part lacks the link to unsubscribe or to the page: %s", p.text)
		}
	}
}

func TestTheAddressOfASubscriberIsInNoError(t *testing.T) {
	t.Parallel()
	c := alert.Channel{Name: "subscriber/7", Email: &alert.EmailChannel{Host: "mail.example", From: "a@example.com", To: []string{"ann@example.com"}}}
	if said := notify.Hide(c, "550 no such user <ann@example.com>"); strings.Contains(said, "ann") {
		t.Error(said)
	}
	c.Name = "ops"
	if said := notify.Hide(c, "550 no such user <ann@example.com>"); !strings.Contains(said, "ann@example.com") {
		t.Error(said)
	}
}

func TestAWebhookIsSubscribedByTheAnswerToItsChallenge(t *testing.T) {
	t.Parallel()
	for answer, meets := range map[string]bool{
		"the-challenge": true, " the-challenge\n": true, `{"challenge": "the-challenge"}`: true, `{"challenge": "the-challenge", "more": 1}`: true,
		"": false, "ok": false, "the-challenge and more": false, `{"challenge": "another"}`: false, `["the-challenge"]`: false,
	} {
		receiver := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
		allow, err := guard.ParseAllow([]string{"loopback"})
		if err != nil {
			t.Fatal(err)
		}
		s := notify.New(notify.Options{Strangers: guard.Options{Allow: allow}})
		t.Cleanup(s.Close)
		c := alert.Channel{Name: "subscriber/7", Webhook: &alert.WebhookChannel{URL: core.Secret(receiver.URL + "/hook")}}
		if err := s.Send(patient(t), c, forSubscriber("the-challenge")); (err == nil) != meets || err != nil && !notify.Permanent(err) {
			t.Errorf("%q: %v", answer, err)
		}
		if got := receiver.take(); len(got) != 1 || !strings.Contains(string(got[0].body), `"challenge":"the-challenge"`) {
			t.Errorf("challenge: got requests %+v, want one with the challenge", got)
		}
		if err := s.Send(patient(t), c, forSubscriber("")); err != nil {
			t.Errorf("%q, later: %v", answer, err)
		}
	}
}

// Addresses that an operator allows for channels are not allowed to visitors.
func TestStrangersReachThePublicInternetOnly(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the-challenge")) })
	s := newSender(t) // may reach this machine
	c := alert.Channel{Name: "subscriber/7", Webhook: &alert.WebhookChannel{URL: core.Secret(receiver.URL + "/hook")}}
	if err := s.Send(patient(t), c, forSubscriber("the-challenge")); err == nil || len(receiver.take()) > 0 {
		t.Errorf("a stranger reached this machine: %v", err)
	} else if !notify.Permanent(err) || !strings.Contains(err.Error(), "webhooks of visitors reach the public internet only") || strings.Contains(err.Error(), "--allow-addresses") {
		t.Errorf("the refusal says %q", err)
	}
	c.Name = "ops"
	if err := s.Send(patient(t), c, forSubscriber("")); err != nil {
		t.Error(err)
	}
}
