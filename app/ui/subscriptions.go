package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
)

// Subscriptions takes subscriptions of visitors to status pages, and ends them.
type Subscriptions interface {
	Subscribe(ctx context.Context, namespace, page string, kind public.SubscriberKind, address string) error
	Subscription(ctx context.Context, key string) (public.Subscription, error)
	ConfirmSubscription(ctx context.Context, key string) (public.Subscription, error)
	Unsubscribe(ctx context.Context, key string) (public.Subscription, error)
}

// subscriptions is where visitors subscribe, and where the links of messages lead.
type subscriptions struct {
	to     Subscriptions
	status func(error) int // of HTTP
	pages  *Pages
}

// Subscriptions serves
//
//	POST /status/{name}/subscribe         asks an address to confirm that it subscribes; the same with a namespace
//	GET  /subscription/{key}              a page with the question, which changes nothing: mail scanners open it too
//	POST /subscription/{key}              action=confirm, or action=unsubscribe, or List-Unsubscribe=One-Click (RFC 8058)
//
// and needs no token. Without the key of an address, no answer tells whether it is subscribed.
func (p *Pages) Subscriptions(to Subscriptions, status func(error) int) http.Handler {
	return subscriptions{to, status, p}
}

const (
	subscribeSuffix = "/subscribe"
	maxSubscribe    = 16 << 10 // bytes of a form
)

// keyRule is the form of the key of a subscription. Other keys are unknown without a read of the database.
var keyRule = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// subscriptionPage is the data of subscription.html.
type subscriptionPage struct {
	Title         string
	Text          string
	Problem, Hint string
	Confirm       bool // there are buttons for it
	Leave         bool
	Back          string
	Style, Times  string
	Icon, Action  string
}

func prepare(h http.Header) {
	setHeaders(h)
	allowForms(h)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Refuse answers a request that is not let in with a page that says why.
func (s subscriptions) Refuse(w http.ResponseWriter, r *http.Request, status int, err *core.Error) {
	prepare(w.Header())
	o := outcome{status: status, err: err}
	if at, ok := parseAddress(strings.TrimSuffix(r.URL.Path, subscribeSuffix)); ok {
		o.page.Back = s.pages.opt.Prefix + at.page.path()
	}
	s.say(w, r, o)
}

func (s subscriptions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prepare(w.Header())
	if key, is := strings.CutPrefix(r.URL.Path, public.SubscriptionPath); is {
		s.byKey(w, r, key)
		return
	}
	rest, is := strings.CutSuffix(r.URL.Path, subscribeSuffix)
	at, ok := parseAddress(rest)
	if !is || !ok || at.form != asHTML || r.Method != http.MethodPost {
		s.pages.serve(w, r)
		return
	}
	// A request counts though the visitor leaves.
	s.say(w, r, s.ask(context.WithoutCancel(r.Context()), w, r, at.page))
}

// outcome is the answer to a visitor.
type outcome struct {
	page   subscriptionPage
	json   any
	err    error
	status int // of the error; default: what it means
}

func (s subscriptions) ask(ctx context.Context, w http.ResponseWriter, r *http.Request, page key) outcome {
	o := outcome{page: subscriptionPage{Title: "Subscribe", Back: s.pages.opt.Prefix + page.path()}}
	if s.pages.opt.PublicURL == "" {
		o.err = core.Errorf(core.NotFound, "this node takes no subscriptions").WithHint("its operator has to set public_url")
		return o
	}
	if o.err = readForm(w, r); o.err != nil {
		return o
	}
	kind := public.SubscriberKind(r.PostFormValue("kind"))
	if kind == "" {
		kind = public.Mail
	}
	if o.err = s.to.Subscribe(ctx, page.namespace, page.name, kind, r.PostFormValue("address")); o.err != nil {
		return o
	}
	o.page.Title = "Check your mail"
	o.page.Text = "If this address can be subscribed, a mail with a link to confirm is on its way. The link works for a day."
	if kind == public.Webhook {
		o.page.Title = "The webhook is asked"
		o.page.Text = "If this address can be subscribed, it gets a message with a challenge. Once it answers, it is subscribed."
	}
	o.json = map[string]string{"status": "asked"}
	return o
}

// readForm reads a form in both ways in which mail programs post one click (RFC 8058).
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxSubscribe)
	read := r.ParseForm
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		read = func() error { return r.ParseMultipartForm(maxSubscribe) } // all of it in memory
	}
	if err := read(); err != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		return core.Errorf(core.Invalid, "the form could not be read").WithHint("it may be too long")
	}
	return nil
}

func (s subscriptions) byKey(w http.ResponseWriter, r *http.Request, key string) {
	o := outcome{page: subscriptionPage{Title: "Subscription", Action: s.pages.opt.Prefix + public.SubscriptionPath + key}}
	var sub public.Subscription
	switch {
	case !keyRule.MatchString(key):
		o.err = core.Errorf(core.NotFound, "this link is not valid, or the subscription has ended").WithHint("check that the address is whole")
	case r.Method == http.MethodPost:
		if o.err = readForm(w, r); o.err == nil {
			sub, o.err = s.act(context.WithoutCancel(r.Context()), r, key)
		}
	default:
		sub, o.err = s.to.Subscription(r.Context(), key)
	}
	if o.err == nil {
		o.page.Title, o.json = sub.Title, sub
		o.page.Back = s.pages.opt.Prefix + public.StatusPage{Namespace: sub.Namespace, Name: sub.Page}.Path()
		switch sub.State {
		case public.Pending:
			o.page.Text, o.page.Confirm, o.page.Leave = "Do you want to be notified of what happens on this status page?", true, true
		case public.Confirmed:
			o.page.Text, o.page.Leave = "You are subscribed to this status page.", true
		default:
			o.page.Text = "You are no longer subscribed, and your address is forgotten."
		}
	}
	s.say(w, r, o)
}

// act carries out the action of a form.
func (s subscriptions) act(ctx context.Context, r *http.Request, key string) (public.Subscription, error) {
	switch {
	case r.PostFormValue("List-Unsubscribe") == "One-Click", r.PostFormValue("action") == "unsubscribe":
		return s.to.Unsubscribe(ctx, key)
	case r.PostFormValue("action") == "confirm":
		return s.to.ConfirmSubscription(ctx, key)
	}
	return public.Subscription{}, core.Errorf(core.Invalid, "no answer was given").WithHint("use one of the buttons")
}

func (s subscriptions) say(w http.ResponseWriter, r *http.Request, o outcome) {
	status := http.StatusOK
	if o.err != nil {
		if status = o.status; status == 0 {
			status = s.status(o.err)
		}
		o.page.Title, o.page.Problem = "This did not work", "Try again in a minute."
		var known *core.Error
		if status < http.StatusInternalServerError && errors.As(o.err, &known) {
			o.page.Problem, o.page.Hint = known.Message, known.Hint
			if len(known.Fields) > 0 {
				o.page.Problem, o.page.Hint = "The "+known.Fields[0].Field+" "+known.Fields[0].Message+".", known.Fields[0].Hint
			}
		}
		o.json = map[string]any{"title": o.page.Problem, "hint": o.page.Hint, "status": status, "code": core.CodeOf(o.err)}
	} else if o.page.Action == "" {
		status = http.StatusAccepted
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(o.json)
		return
	}
	o.page.Style, o.page.Times = assetLink(s.pages.opt.Prefix, "style.css"), assetLink(s.pages.opt.Prefix, "times.js")
	o.page.Icon = assetLink(s.pages.opt.Prefix, iconOf(unknown))
	body, err := s.pages.html("subscription", o.page)
	if err != nil {
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
