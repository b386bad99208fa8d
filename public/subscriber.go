package public

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Subscribing says how visitors subscribe to a status page.
type Subscribing struct {
	Mail     string `json:"mail,omitempty" doc:"Channel of kind email through which messages go; absent: no subscriptions by mail"`
	Webhooks bool   `json:"webhooks,omitempty" doc:"Visitors may subscribe webhooks"`
}

// Subscriber is notified of what a status page shows.
type Subscriber struct {
	ID          int64           `json:"id"`
	Namespace   string          `json:"namespace"`
	Page        string          `json:"page"`
	Kind        SubscriberKind  `json:"kind" enum:"mail,webhook"`
	Address     string          `json:"address" doc:"Of mail, or of the webhook"`
	State       SubscriberState `json:"state" enum:"pending,confirmed"`
	CreatedAt   time.Time       `json:"created_at"`
	ConfirmedAt time.Time       `json:"confirmed_at,omitzero"`
}

// SubscriberKind is how a subscriber is notified.
type SubscriberKind string

// The kinds of subscribers.
const (
	Mail    SubscriberKind = "mail"
	Webhook SubscriberKind = "webhook"
)

// SubscriberState is where a subscription is.
type SubscriberState string

// The states of a subscription. Of one that was ended only a hash of its address is left, for a day.
const (
	Pending   SubscriberState = "pending"
	Confirmed SubscriberState = "confirmed"
	Left      SubscriberState = "left"
)

// Subscription is what the link in a message is about.
type Subscription struct {
	Namespace string          `json:"-"`
	Page      string          `json:"page"`
	Title     string          `json:"title" doc:"Of the status page"`
	Kind      SubscriberKind  `json:"kind" enum:"mail,webhook"`
	State     SubscriberState `json:"state" enum:"pending,confirmed,left"`
}

// SubscriptionPath begins the path of the link of each subscription. A key follows.
const SubscriptionPath = "/subscription/"

// Limits of subscriptions.
const (
	MaxSubscribers  = 1000           // of a status page that are confirmed
	MaxUnconfirmed  = 200            // of a status page that are not
	UnconfirmedFor  = 24 * time.Hour // until one that is not confirmed is removed
	MaxAsksPage     = 60             // confirming messages of a status page in an hour
	MaxAsksAddress  = 3              // confirming messages to an address in a day, of all status pages
	AskAgainAfter   = 10 * time.Minute
	MaxConfirmTries = 3 // of sending one
	maxMail         = 254
	maxWebhook      = 2000
)

// SubscriberChannel is the name of the channel in which the messages of a subscriber are. No channel that people make can have it.
func SubscriberChannel(id int64) string { return fmt.Sprintf("subscriber/%d", id) }

// IsSubscriber reports whether a channel is that of a subscriber.
func IsSubscriber(channel string) bool { return strings.HasPrefix(channel, "subscriber/") }

// PageChannel is the name of the channel in which what a status page reports waits until it is sent to all of its subscribers.
func PageChannel(page string) string { return "status-page/" + page }

// IsWay reports whether visitors may subscribe in this way.
func (s *Subscribing) IsWay(k SubscriberKind) bool {
	return s != nil && (k == Mail && s.Mail != "" || k == Webhook && s.Webhooks)
}

// validate says what is wrong with it.
func (s *Subscribing) validate() error {
	var p core.Problems
	if s.Mail != "" {
		core.CheckName(&p, "mail", s.Mail)
	}
	return p.Err("subscribe")
}

// ReadAddress checks the address of a subscriber, and answers it as it is kept and compared.
func ReadAddress(kind SubscriberKind, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch kind {
	case Mail:
		return readMail(text)
	case Webhook:
		return readWebhook(text)
	}
	return "", core.InvalidField("kind", string(kind), "is not a way to subscribe", "mail or webhook")
}

func readMail(text string) (string, error) {
	wrong := core.InvalidField("address", "", "is not a mail address", "write it as ann@example.com")
	a, err := mail.ParseAddress(text)
	if err != nil || a.Name != "" || a.Address != text || len(text) > maxMail {
		return "", wrong
	}
	local, domain, _ := strings.Cut(text, "@")
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"\(),;:[]`, r) }) ||
		len(local) > 64 || !strings.Contains(domain, ".") || strings.Contains(domain, "@") {
		return "", wrong
	}
	return strings.ToLower(text), nil
}

func readWebhook(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxWebhook || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", core.InvalidField("address", "", "is not the address of a webhook", "write it as https://example.com/hook, without a password")
	}
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

// Asked is what is known when a visitor asks to be subscribed.
type Asked struct {
	State       SubscriberState // of this address on this page; empty: there is none
	LastAt      time.Time       // when a confirming message was asked for last, for this address on any page
	AddressAsks int64           // in the last day, of this address, on any page
	PageAsks    int64           // in the last hour, of this page
	Confirmed   int64           // subscribers of this page
	Unconfirmed int64
}

// Ask reports whether a confirming message is sent to a visitor who asks to be subscribed. The visitor gets the same answer either way.
func Ask(a Asked, now time.Time) bool {
	return a.State != Confirmed &&
		(a.LastAt.IsZero() || now.Sub(a.LastAt) >= AskAgainAfter) &&
		a.AddressAsks < MaxAsksAddress && a.PageAsks < MaxAsksPage &&
		a.Confirmed < MaxSubscribers && (a.Unconfirmed < MaxUnconfirmed || a.State == Pending)
}
