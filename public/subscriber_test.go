package public_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
)

func TestAddressesOfSubscribers(t *testing.T) {
	for _, test := range []struct {
		kind       public.SubscriberKind
		text, want string // want empty: it is refused
	}{
		{public.Mail, " Ann@Example.com ", "ann@example.com"},
		{public.Mail, "ann+belfry@mail.example.com", "ann+belfry@mail.example.com"},
		{public.Mail, "", ""},
		{public.Mail, "ann", ""},
		{public.Mail, "ann@localhost", ""},
		{public.Mail, "Ann <ann@example.com>", ""},
		{public.Mail, "ann@example.com, bob@example.com", ""},
		{public.Mail, "ann@example.com\r\nBcc: bob@example.com", ""},
		{public.Mail, `"ann@home"@example.com`, ""},
		{public.Mail, "änn@example.com", ""},
		{public.Mail, "ann@[127.0.0.1]", ""},
		{public.Mail, strings.Repeat("a", 65) + "@example.com", ""},
		{public.Mail, "a@" + strings.Repeat("a.", 200) + "com", ""},
		{public.Webhook, "https://Example.com/Hook?a=b", "https://example.com/Hook?a=b"},
		{public.Webhook, "http://example.com:8080", "http://example.com:8080"},
		{public.Webhook, "ftp://example.com", ""},
		{public.Webhook, "https://ann:secret@example.com/", ""},
		{public.Webhook, "https:///hook", ""},
		{public.Webhook, "https://example.com/#x", ""},
		{public.Webhook, "https://example.com/\r\nX: y", ""},
		{public.Webhook, "https://example.com/" + strings.Repeat("a", 2000), ""},
		{"pigeon", "ann@example.com", ""},
	} {
		got, err := public.ReadAddress(test.kind, test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s %.60q: %q, %v", test.kind, test.text, got, err)
		}
		if err != nil && (core.CodeOf(err) != core.Invalid || len(test.text) > 8 && strings.Contains(err.Error(), test.text)) {
			t.Errorf("it repeats the address: %v", err)
		}
	}
}

// Whatever visitors do, the messages to an address and from a page are bounded.
func TestSubscriptionMailsToAnAddressAreLimited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type ask struct {
			at      time.Time
			address int
		}
		var sent []ask
		at := now
		for range rapid.IntRange(1, 300).Draw(t, "visitors") {
			at = at.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second)
			address := rapid.IntRange(0, 20).Draw(t, "address")
			facts := public.Asked{Unconfirmed: int64(rapid.IntRange(0, 300).Draw(t, "unconfirmed"))}
			for _, s := range sent {
				if s.address == address {
					facts.LastAt = s.at
					if at.Sub(s.at) < 24*time.Hour {
						facts.AddressAsks++
					}
				}
				if at.Sub(s.at) < time.Hour {
					facts.PageAsks++
				}
			}
			if public.Ask(facts, at) {
				sent = append(sent, ask{at, address})
			}
		}
		for i, first := range sent {
			address, page := 0, 0
			for _, s := range sent[i:] {
				if s.address == first.address && s.at.Sub(first.at) < 24*time.Hour {
					address++
				}
				if s.at.Sub(first.at) < time.Hour {
					page++
				}
			}
			if address > public.MaxAsksAddress || page > public.MaxAsksPage {
				t.Errorf("%d to one address in a day, %d of a page in an hour", address, page)
			}
		}
	})
}

func TestConfirmationIsAskedOnlyOfNewAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		a    public.Asked
		want bool
	}{
		"a stranger":       {public.Asked{}, true},
		"one who waits":    {public.Asked{State: public.Pending, LastAt: now.Add(-time.Hour), AddressAsks: 1, Unconfirmed: public.MaxUnconfirmed}, true},
		"at once again":    {public.Asked{State: public.Pending, LastAt: now.Add(-time.Minute), AddressAsks: 1}, false},
		"one who left":     {public.Asked{State: public.Left, LastAt: now.Add(-time.Hour), AddressAsks: 1}, true},
		"one who is there": {public.Asked{State: public.Confirmed}, false},
		"a full page":      {public.Asked{Confirmed: public.MaxSubscribers}, false},
		"a crowd":          {public.Asked{Unconfirmed: public.MaxUnconfirmed}, false},
	} {
		if got := public.Ask(test.a, now); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
