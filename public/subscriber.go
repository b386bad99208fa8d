package public

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Subscribing sets how visitors can subscribe to a status page.
type Subscribing struct {
	Mail     string `json:"mail,omitempty" doc:"Channel of kind email through which messages go; absent: no subscriptions by mail"`
	Webhooks bool   `json:"webhooks,omitempty" doc:"Visitors may subscribe webhooks"`
}

// Subscriber receives the changes of a status page.
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

// SubscriberState is the state of a subscription.
type SubscriberState string

// The states of a subscription. After its end only a hash of the address is kept, for one day.
const (
	Pending   SubscriberState = "pending"
	Confirmed SubscriberState = "confirmed"
	Left      SubscriberState = "left"
)

// Subscription is the subscription of a link in a message.
type Subscription struct {
	Namespace string          `json:"-"`
	Page      string          `json:"page"`
	Title     string          `json:"title" doc:"Of the status page"`
	Kind      SubscriberKind  `json:"kind" enum:"mail,webhook"`
	State     SubscriberState `json:"state" enum:"pending,confirmed,left"`
}

// SubscriptionPath is the prefix of the path of links to subscriptions. A key follows.
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

// SubscriberChannel returns the name of the channel of a subscriber's messages. Channels of users cannot have such a name.
func SubscriberChannel(id int64) string { return fmt.Sprintf("subscriber/%d", id) }

// IsSubscriber reports whether a channel belongs to a subscriber.
func IsSubscriber(channel string) bool { return strings.HasPrefix(channel, "subscriber/") }

// PageChannel returns the name of the channel in which reports of a status page wait until they are sent to all subscribers.
func PageChannel(page string) string { return "status-page/" + page }

// IsWay reports whether visitors may subscribe in this way.
func (s *Subscribing) IsWay(k SubscriberKind) bool {
	return s != nil && (k == Mail && s.Mail != "" || k == Webhook && s.Webhooks)
}

// validate returns the problems of the settings as one error, or nil.
func (s *Subscribing) validate() error {
	var p core.Problems
	if s.Mail != "" {
		core.CheckName(&p, "mail", s.Mail)
	}
	return p.Err("subscribe")
}

// ReadAddress checks the address of a subscriber, and returns its stored form, which is used for comparisons.
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

// Asked has the data for a decision about a request for a subscription.
type Asked struct {
	State       SubscriberState // of this address on this page; empty: there is none
	LastAt      time.Time       // when a confirming message was asked for last, for this address on any page
	AddressAsks int64           // in the last day, of this address, on any page
	PageAsks    int64           // in the last hour, of this page
	Confirmed   int64           // subscribers of this page
	Unconfirmed int64
}

// Ask reports whether a confirming message is sent after a request for a subscription. The visitor gets the same answer either way.
func Ask(a Asked, now time.Time) bool {
	return a.State != Confirmed &&
		(a.LastAt.IsZero() || now.Sub(a.LastAt) >= AskAgainAfter) &&
		a.AddressAsks < MaxAsksAddress && a.PageAsks < MaxAsksPage &&
		a.Confirmed < MaxSubscribers && (a.Unconfirmed < MaxUnconfirmed || a.State == Pending)
}
