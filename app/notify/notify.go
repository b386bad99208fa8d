// Package notify sends messages to channels.
//
// A [Sender] makes one try and returns its error. Retries, delays and records
// are up to the caller. An error is either [Permanent] or temporary, and
// [RetryAfter] returns the delay that the receiver asked for.
//
// # Guarantees
//
// All traffic goes through internal/guard, also mail: private addresses and
// metadata services are refused unless the operator allows them. Redirects are
// not followed: the secret of a channel goes only to the channel's address.
//
// Messages are bounded and valid. Texts become valid UTF-8 without control
// characters. They are escaped for their channel, and cut to its limits, never
// within an escape. Omitted notifications are counted.
//
// No error holds a secret. Addresses of incoming webhooks are secrets as a
// whole, so errors name the host alone. Before an error quotes an answer of a
// receiver, the channel's secrets are removed from it in their usual spellings.
//
// # Limits
//
// A message may arrive twice if the answer to a try is lost. Some channels have
// a means to detect the duplicate: a webhook Belfry-Delivery, a mail its
// Message-ID, PagerDuty its dedup_key.
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
	// Guard sets the allowed addresses.
	Guard guard.Options
	// Strangers sets the allowed addresses of webhooks that visitors of status pages entered. The zero value allows the public
	// internet only, independent of Guard.
	Strangers guard.Options
	// AllowCommands lets channels run programs on this node, as its user. Only
	// the operator may set it.
	AllowCommands bool
	// Version is the version in the User-Agent. Default: "dev".
	Version string
	// Logger logs each try, at level debug. Default: none.
	Logger *slog.Logger
	// Now tells the time of signatures and mails, by which certificates of receivers are judged too. Receivers refuse what was
	// signed long ago. Default: time.Now.
	Now func() time.Time
}

// DefaultTimeout limits a try whose context has no deadline. Commands have a
// timeout of their own.
const DefaultTimeout = 15 * time.Second

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	options   Options
	agent     string
	log       *slog.Logger
	dialer    *guard.Dialer
	transport *http.Transport
	client    *http.Client
	tls       *tls.Config // of mail
	taken     taken
	bodyTime  time.Duration
	strangers *Sender // for webhooks that visitors entered; nil in that sender itself
}

// New returns a sender.
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
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sender{options: o, agent: "Belfry/" + o.Version, log: o.Logger, dialer: guard.NewDialer(o.Guard),
		transport: guard.Transport(o.Guard), tls: &tls.Config{MinVersion: tls.VersionTLS12, Time: o.Now}, bodyTime: bodyTime}
	s.transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Time: o.Now}
	s.client = &http.Client{
		Transport:     exchange.Transport{RoundTripper: s.transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// Close closes idle connections.
func (s *Sender) Close() {
	s.transport.CloseIdleConnections()
	s.strangers.transport.CloseIdleConnections()
}

// Send tries once to send a message to a channel. Without a deadline, it takes
// at most [DefaultTimeout].
func (s *Sender) Send(ctx context.Context, c alert.Channel, m alert.Message) error {
	w, err := s.way(c)
	by := s
	if c.Webhook != nil && public.IsSubscriber(c.Name) {
		by = s.strangers
	}
	if err == nil && c.Redacts() {
		err = &fault{text: "its secrets cannot be opened by this node: see that its seal_key_file has the key that they were sealed with"}
	}
	if err == nil {
		err = w.send(by, ctx, c, m)
	}
	var denied *guard.Denied
	if by == s.strangers && errors.As(err, &denied) { // the way out that it names does not apply
		err = permanent("address %s %s, and webhooks of visitors reach the public internet only", denied.Addr, denied.Why)
	}
	err = newVeil(c).over(ctx, err)
	s.log.DebugContext(ctx, "alert channel tried", "namespace", c.Namespace, "channel", c.Name, "message", m.Key, "error", err)
	return err
}

// way is the implementation of one kind of channel.
type way struct {
	send func(*Sender, context.Context, alert.Channel, alert.Message) error
	// more returns spellings of the channel's secrets that only this kind uses, and secret parts of its other addresses.
	more func(alert.Channel) []string
}

// ways has an entry for each of [alert.Kinds].
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

// way returns the implementation for the kind of a channel.
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

// withDeadline adds a deadline to the context of a try that has none.
func withDeadline(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, most)
}

// ended returns the fault of a try whose context has ended.
func ended(ctx context.Context, doing string) *fault {
	f := &fault{text: doing + " took too long", cause: context.DeadlineExceeded}
	if errors.Is(ctx.Err(), context.Canceled) {
		f.text, f.cause = doing+" was canceled", context.Canceled
	}
	return f
}
