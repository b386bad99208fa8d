// Package notify tells people: it carries a message to a channel.
//
// A [Sender] does one try and says how it ended. Trying again, waiting and
// writing down is the caller's. Every error has a class: [Permanent] ones will
// not go away by themselves, the others may, and [RetryAfter] says how long the
// receiver asked to wait.
//
// # What it guarantees
//
// Every byte goes through internal/guard, also mail: private addresses and
// metadata services are refused unless the operator allows them. Redirects are
// not followed at all: a channel's address is where its secret belongs.
//
// Messages are bounded and valid, whatever they hold: texts are made
// valid UTF-8 without control characters, escaped for their channel, and cut to
// what the channel takes, never within an escape. Omitted notifications are counted.
//
// No error holds a secret. Addresses of incoming webhooks are secrets as a
// whole, so errors name the host alone, and what a receiver answered is
// searched for the channel's secrets in their usual spellings before a piece of
// it is shown.
//
// # What it does not
//
// A message may arrive twice: when the answer to a try was lost. Each channel
// says so in its own way, as far as it has one: a webhook by Belfry-Delivery, a
// mail by its Message-ID, PagerDuty by its dedup_key.
package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/public"
)

// Options of a sender. The zero value reaches the public internet only, and
// runs no commands.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Strangers says what webhooks may be reached that visitors of status pages named. The zero value is the public internet
	// only, whatever Guard allows.
	Strangers guard.Options
	// AllowCommands lets channels run programs on this node, as its user. It is
	// the operator's to set.
	AllowCommands bool
	// Version is what the User-Agent says. Default: "dev".
	Version string
	// Logger is told of each try, at debug. Default: none.
	Logger *slog.Logger
}

// DefaultTimeout bounds a try whose context has no deadline. A command has its
// own.
const DefaultTimeout = 15 * time.Second

// Sender sends messages. It may be used by many at once.
type Sender struct {
	options   Options
	agent     string
	log       *slog.Logger
	dialer    *guard.Dialer
	transport *http.Transport
	client    *http.Client
	tls       *tls.Config // of mail
	taken     taken
	strangers *Sender // for webhooks that visitors named; nil: this is it
}

// New makes a sender.
func New(o Options) *Sender {
	s := newSender(o)
	o.Guard, o.AllowCommands = o.Strangers, false
	s.strangers = newSender(o)
	return s
}

func newSender(o Options) *Sender {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Sender{options: o, agent: "Belfry/" + o.Version, log: o.Logger, dialer: guard.NewDialer(o.Guard),
		transport: guard.Transport(o.Guard), tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	s.client = &http.Client{
		Transport:     exchange.Transport{RoundTripper: s.transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// Close lets idle connections go.
func (s *Sender) Close() {
	s.transport.CloseIdleConnections()
	s.strangers.transport.CloseIdleConnections()
}

// Send tries once to carry a message to a channel. Without a deadline, the
// whole takes at most [DefaultTimeout].
func (s *Sender) Send(ctx context.Context, c alert.Channel, m alert.Message) error {
	w, err := s.way(c)
	by := s
	if c.Webhook != nil && public.IsSubscriber(c.Name) {
		by = s.strangers
	}
	if err == nil {
		err = w.send(by, ctx, c, m)
	}
	err = newVeil(c).over(ctx, err)
	s.log.DebugContext(ctx, "alert channel tried", "namespace", c.Namespace, "channel", c.Name, "message", m.Key, "error", err)
	return err
}

// way is how a kind of channel is told.
type way struct {
	send func(*Sender, context.Context, alert.Channel, alert.Message) error
	// more are spellings of the channel's secrets that only this kind has, and what is secret in its open addresses.
	more func(alert.Channel) []string
}

// ways are those of every kind of [alert.Kinds].
var ways = map[string]way{
	"webhook":   {send: (*Sender).webhook},
	"email":     {(*Sender).email, mailSecrets},
	"slack":     {send: (*Sender).slack},
	"telegram":  {(*Sender).telegram, telegramSecrets},
	"discord":   {send: (*Sender).discord},
	"teams":     {send: (*Sender).teams},
	"pagerduty": {(*Sender).pagerDuty, func(c alert.Channel) []string { return passwordOf(c.PagerDuty.API) }},
	"ntfy":      {(*Sender).ntfy, func(c alert.Channel) []string { return passwordOf(c.Ntfy.Server) }},
	"gotify":    {(*Sender).gotify, func(c alert.Channel) []string { return passwordOf(c.Gotify.Server) }},
	"matrix":    {(*Sender).matrix, func(c alert.Channel) []string { return passwordOf(c.Matrix.Server) }},
	"command":   {send: (*Sender).command},
}

// way finds the one setting of a channel.
func (s *Sender) way(c alert.Channel) (w way, err error) {
	var given []string
	for _, k := range alert.Kinds {
		if k.Given(c) {
			given = append(given, k.Name)
		}
	}
	switch len(given) {
	case 1:
		return ways[given[0]], nil
	case 0:
		return w, permanent("channel %q has no way to tell anybody", c.Name)
	}
	return w, permanent("channel %q has several ways to tell people, give each its own channel", c.Name)
}

// withDeadline gives a try its end, if it has none.
func withDeadline(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}

// ended says why a context has ended, in the words of a try.
func ended(ctx context.Context, doing string) *fault {
	f := &fault{text: doing + " took too long", cause: context.DeadlineExceeded}
	if errors.Is(ctx.Err(), context.Canceled) {
		f.text, f.cause = doing+" was canceled", context.Canceled
	}
	return f
}
