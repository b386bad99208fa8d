package signin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/internal/patience"
)

// Options of a [Provider]. Issuer and ClientID must be given.
type Options struct {
	Issuer   string // as the provider writes it, to the last slash
	ClientID string
	// Secret answers the client's secret, each time that it is needed. Nil: the
	// client has none, and PKCE alone shows that it is the same.
	Secret func() (string, error)

	Scopes      []string // to ask for; default: openid, profile, email
	NameClaim   string   // the claim with the person's name, for the audit; default: email
	GroupsClaim string   // default: groups
	Admission   access.Admission

	Logger *slog.Logger     // default: the default logger
	Now    func() time.Time // default: time.Now
}

// Limits of the exchange with a provider.
const (
	callTimeout = 10 * time.Second // of one request
	maxAnswer   = 1 << 20          // bytes of one answer
	findEvery   = 2 * time.Second  // how often people make us look for it again
	leeway      = time.Minute      // by which clocks may differ
)

// Provider is where people are sent to sign in.
type Provider struct {
	opt    Options
	host   string
	log    *slog.Logger
	client *http.Client

	known   atomic.Pointer[endpoint]
	finding chan struct{} // held during a search for the provider; guards the fields below
	failed  error         // the last time
	tried   time.Time

	exchanges *exchangeLimiter
}

// endpoint is a provider that was found.
type endpoint struct {
	*oidc.Provider
	oauth2.Endpoint
	verifier *oidc.IDTokenVerifier
}

// New makes a provider. It does not call it yet.
func New(o Options) (*Provider, error) {
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || o.ClientID == "" {
		return nil, errors.New("signin: Issuer and ClientID must be given")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) { // without it there is no ID token
		o.Scopes = append([]string{oidc.ScopeOpenID}, o.Scopes...)
	}
	if o.NameClaim == "" {
		o.NameClaim = "email"
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{
		opt: o, host: u.Host, log: o.Logger,
		client: &http.Client{Timeout: callTimeout, Transport: bounded{http.DefaultTransport.(*http.Transport).Clone()},
			// A redirect is not followed with the client's secret or a code.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		finding: make(chan struct{}, 1), exchanges: newExchangeLimiter(),
	}, nil
}

// Host is the host of the provider, for people.
func (p *Provider) Host() string { return p.host }

// Run looks for the provider until it is there, so that an operator reads of
// one that is not before anybody wants to sign in. It returns when ctx ends.
func (p *Provider) Run(ctx context.Context) error {
	defer p.client.CloseIdleConnections()
	pause := patience.Backoff{First: 4 * findEvery, Most: 5 * time.Minute}
	for told := false; ctx.Err() == nil; pause.Sleep(ctx) {
		_, err := p.find(ctx)
		if err == nil {
			p.log.Info("sign-in through the provider is available", "issuer", p.opt.Issuer)
			<-ctx.Done()
			return nil
		}
		if !told && ctx.Err() == nil {
			p.log.Warn("sign-in provider cannot be reached, trying again; tokens still work",
				"issuer", p.opt.Issuer, "error", Cause(err))
			told = true
		}
	}
	return nil
}

// find answers the provider, and looks for it if it was not there before.
func (p *Provider) find(ctx context.Context) (*endpoint, error) {
	if e := p.known.Load(); e != nil {
		return e, nil
	}
	select {
	case p.finding <- struct{}{}:
		defer func() { <-p.finding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if e := p.known.Load(); e != nil {
		return e, nil
	}
	// A call that waited for another's try gets its answer.
	if p.failed != nil && p.opt.Now().Sub(p.tried).Abs() < findEvery {
		return nil, p.failed
	}
	e, err := p.discover(p.with(ctx))
	if err != nil {
		if ctx.Err() == nil { // a canceled request is no failure of the provider
			p.failed, p.tried = err, p.opt.Now()
		}
		return nil, err
	}
	p.known.Store(e)
	return e, nil
}

func (p *Provider) discover(ctx context.Context) (*endpoint, error) {
	found, err := oidc.NewProvider(ctx, p.opt.Issuer)
	var other *oidc.IssuerMismatchError
	if errors.As(err, &other) {
		return nil, refuse(core.Unavailable, err, "if it is the same, an operator writes it into oidc_issuer exactly so, to the last slash",
			"the provider at %s calls itself %q", p.host, brief(other.Discovered))
	}
	if err != nil {
		return nil, p.unreachable(err)
	}
	var says struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, p.unreachable(err)
	}
	e := &endpoint{Provider: found, Endpoint: found.Endpoint(), verifier: found.Verifier(&oidc.Config{
		ClientID: p.opt.ClientID, Now: func() time.Time { return p.opt.Now().Add(-leeway) },
	})}
	for _, address := range []string{e.AuthURL, e.TokenURL, says.Keys} {
		if !Confidential(address) {
			return nil, refuse(core.Unavailable, nil, "an operator sees to the provider's settings",
				"the provider at %s names the address %q, which is not https", p.host, brief(address))
		}
	}
	// Guessing, as oauth2 does when it is not told, would use up the code.
	e.AuthStyle = oauth2.AuthStyleInHeader // the default of the protocol
	if p.opt.Secret == nil || len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	return e, nil
}

func (p *Provider) unreachable(err error) error {
	return refuse(core.Unavailable, err, "try again in a minute, or sign in with a token; the server's log says more",
		"the provider at %s cannot be asked just now", p.host)
}

// refuse returns an error for people. The cause is for the log alone: it may hold
// foreign text or private addresses.
func refuse(code core.Code, cause error, hint, format string, args ...any) error {
	e := core.Errorf(code, format, args...).WithHint("%s", hint)
	e.Err = cause
	return e
}

// Cause is the cause of an error of this package, for a log, or the error itself.
func Cause(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return brief(inner.Error())
	}
	return err.Error()
}

// brief bounds a foreign text.
func brief(text string) string {
	text, _ = core.CleanText(text, 500)
	return text
}

// Confidential reports whether messages to an address cannot be read on the
// way: it is https, or on this machine.
func Confidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// with lets calls under ctx go through our client.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// bounded reads no more of an answer than maxAnswer.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := exchange.RoundTrip(b.Transport, r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}
