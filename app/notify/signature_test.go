package notify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
)

func TestASignedWebhookVerifies(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := httpChannels(r.URL)["webhook"]
	if err := newSender(t).Send(patient(t), c, messages[0].Message); err != nil {
		t.Fatal(err)
	}
	q := r.take()[0]
	if err := notify.Verify(string(c.Webhook.Secret), q.header.Get(notify.HeaderSignature), q.body, time.Now(), 0); err != nil {
		t.Error(err)
	}
	c.Webhook.Secret = ""
	c.Webhook.Headers = map[string]core.Secret{"belfry-signature": "t=1,v1=00", "belfry-event": "up", "Content-Length": "3", "Host": "other.example"}
	if err := newSender(t).Send(patient(t), c, messages[0].Message); err != nil {
		t.Fatal(err)
	}
	q = r.take()[0]
	if q.header.Get(notify.HeaderSignature) != "" || q.header.Get(notify.HeaderEvent) != "down" {
		t.Error(q.header)
	}
}

func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	for name, value := range map[string]core.Secret{"": "x", "a b": "x", "X-A": "x\r\nX-B: " + marker, "X-Ä": "x", "X\r\nY": marker} {
		c := httpChannels(r.URL)["webhook"]
		c.Webhook.Headers = map[string]core.Secret{name: value}
		checkFault(t, name, newSender(t).Send(patient(t), c, messages[0].Message), true, "cannot be sent")
	}
	if len(r.take()) > 0 {
		t.Error("it was sent")
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const secret, body = "key", `{"key":"1"}`
	now := time.Unix(1_700_000_000, 0)
	good := notify.Sign(secret, []byte(body), now)
	for name, c := range map[string]struct {
		secret, header, body string
		now                  time.Time
		tolerance            time.Duration
		want                 error
	}{
		"good":             {secret, good, body, now, 0, nil},
		"a little old":     {secret, good, body, now.Add(5 * time.Minute), 0, nil},
		"a little early":   {secret, good, body, now.Add(-5 * time.Minute), 0, nil},
		"too old":          {secret, good, body, now.Add(5*time.Minute + time.Second), 0, notify.ErrTooOld},
		"too early":        {secret, good, body, now.Add(-6 * time.Minute), 0, notify.ErrTooOld},
		"own tolerance":    {secret, good, body, now.Add(time.Hour), time.Hour, nil},
		"another secret":   {"kez", good, body, now, 0, notify.ErrBadSignature},
		"another body":     {secret, good, body + " ", now, 0, notify.ErrBadSignature},
		"another time":     {secret, strings.Replace(good, "t=17", "t=18", 1), body, now, 0, notify.ErrBadSignature},
		"no secret":        {"", notify.Sign("", []byte(body), now), body, now, 0, notify.ErrNotSigned},
		"nothing":          {secret, "", body, now, 0, notify.ErrNotSigned},
		"no time":          {secret, good[strings.Index(good, ",")+1:], body, now, 0, notify.ErrNotSigned},
		"two times":        {secret, "t=1," + good, body, now, 0, notify.ErrNotSigned},
		"no number":        {secret, "t=x,v1=" + strings.Repeat("00", 32), body, now, 0, notify.ErrNotSigned},
		"short":            {secret, "t=1,v1=00", body, now, 0, notify.ErrNotSigned},
		"of two keys":      {secret, good + ",v1=" + strings.Repeat("00", 32), body, now, 0, nil},
		"with a later one": {secret, good + ",v2=zz", body, now, 0, nil},
		"with spaces":      {secret, strings.Replace(good, ",", ", ", 1), body, now, 0, nil},
	} {
		if err := notify.Verify(c.secret, c.header, []byte(c.body), c.now, c.tolerance); !errors.Is(err, c.want) || err == nil && c.want != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	f.Add("k", notify.Sign("k", []byte("b"), now), []byte("b"))
	f.Add("k", "t=,v1=", []byte(""))
	f.Fuzz(func(t *testing.T, secret, header string, body []byte) {
		if err := notify.Verify(secret, header, body, now, time.Minute); err == nil && !strings.Contains(strings.ToLower(header), notify.Sign(secret, body, now)[len("t=1700000000,v1="):]) && !strings.Contains(header, "t=") {
			t.Errorf("%q with %q verified", header, secret)
		}
		if secret != "" && notify.Verify(secret, notify.Sign(secret, body, now), body, now, 0) != nil {
			t.Error("its own signature does not verify")
		}
	})
}

func ExampleVerify() {
	const secret = "the webhook's secret"
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2<<20))
		if err != nil {
			http.Error(w, "too much", http.StatusRequestEntityTooLarge)
			return
		}
		if err := notify.Verify(secret, r.Header.Get(notify.HeaderSignature), body, time.Now(), 0); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		fmt.Println("from Belfry:", r.Header.Get(notify.HeaderEvent), r.Header.Get(notify.HeaderDelivery))
	}))
	defer receiver.Close()

	allow, _ := guard.ParseAllow([]string{"loopback"})
	sender := notify.New(notify.Options{Guard: guard.Options{Allow: allow}})
	defer sender.Close()
	channel := alert.Channel{Name: "hook", Webhook: &alert.WebhookChannel{URL: core.Secret(receiver.URL), Secret: secret}}
	err := sender.Send(context.Background(), channel, alert.Message{Key: "m-1", Title: "shop is down", Notifications: []alert.Notification{{Type: alert.NotificationDown}}})
	fmt.Println(err)
	// Output:
	// from Belfry: down m-1
	// <nil>
}
