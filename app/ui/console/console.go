package console

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/internal/memory"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/signin"
	"github.com/belfry-run/belfry/core"
)

// Options of a [Console]. API, Sessions and Status must be given.
type Options struct {
	API      func(token string) (API, error) // the API, called with a token's secret
	Sessions Sessions
	Status   func(error) int // the HTTP status that the API answers an error with

	// Provider, if set, is another way to sign in, for which Tokens must be given.
	Provider *signin.Provider
	Tokens   Tokens
	// Network returns the network of a request. Sign-ins through Provider are limited by network, so that one cannot use up the
	// limit of others. Default: one network for all.
	Network func(ctx context.Context) netip.Prefix

	Limits  access.WebSessionLimits // how long a person stays signed in
	Logger  *slog.Logger            // default: the default logger
	Version string                  // shown at the foot of pages
	Now     func() time.Time        // default: time.Now

	MaxStreams int64 // most pages that are kept up to date at once; default: 1000

	// PublicURL is where people reach the node, such as
	// https://example.com/belfry. All links begin with its path. Default:
	// links begin at the root, and commands name the address that was asked.
	PublicURL string
	// Uploads is the store of uploaded bytes. Pages that upload may send to its origin, and no other page. Default: none.
	Uploads frame.Uploads
	// Inspect returns the architecture of a program, or why it is none. It must be given with Uploads.
	Inspect func(file io.ReaderAt) (arch string, err error)
	// ReadDefinition reads a definition as people write it, such as YAML, into v, a pointer to a struct. Its faults are of
	// the field "definition". WriteDefinition writes one. Default: JSON. PlaceDefinition says where the fields of an error stand
	// in a text, which it reads into v. Default: nowhere.
	ReadDefinition  func(text, what string, v any) error
	WriteDefinition func(v any) (string, error)
	PlaceDefinition func(text string, v any, err error) error
	// TokenFile answers the file with this machine's token, which the sign-in
	// page then names. It is for nodes that only their own machine can reach.
	TokenFile func() string
	// Redeem exchanges the code of a one-time link, /sign-in?once=CODE, for a token's
	// secret. Default: there are no such links.
	Redeem func(code string) (secret string, err error)
}

var prefixRule = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// maxStreams is the default of Options.MaxStreams.
const maxStreams = 1000

// warnAtOnce is how many refused sign-ins through the provider the log warns of at once, and one a second after that.
const warnAtOnce = 20

func newRefusals() *rate.Limiter { return rate.NewLimiter(rate.Every(time.Second), warnAtOnce) }

// Console serves the pages.
type Console struct {
	opt     Options
	log     *slog.Logger
	site    *frame.Site
	mux     *http.ServeMux
	handler http.Handler
	streams atomic.Int64
	forms   *memory.Shares  // memory of the forms of people
	uploads map[string]bool // patterns of forms with a file that their handlers read

	refusals *rate.Limiter // of sign-ins through the provider that the log warns of

	stopping context.Context // ends streams
	stop     context.CancelFunc
}

// New makes a console. It starts nothing.
func New(o Options) (*Console, error) {
	if o.API == nil || o.Sessions == nil || o.Status == nil {
		return nil, errors.New("console: API, Sessions and Status must be given")
	}
	if o.Provider != nil && o.Tokens == nil {
		return nil, errors.New("console: Tokens must be given with Provider")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TokenFile == nil {
		o.TokenFile = func() string { return "" }
	}
	if o.Redeem == nil {
		o.Redeem = func(string) (string, error) {
			return "", core.Errorf(core.Unauthorized, "this node has no links to sign in with").WithHint("sign in with a token")
		}
	}
	if o.Network == nil {
		o.Network = func(context.Context) netip.Prefix { return netip.Prefix{} }
	}
	if o.Uploads == nil {
		o.Uploads = frame.NoUploads{}
	}
	if o.ReadDefinition == nil || o.WriteDefinition == nil {
		o.ReadDefinition, o.WriteDefinition = forms.ReadJSON, forms.WriteJSON
	}
	if o.PlaceDefinition == nil {
		o.PlaceDefinition = func(_ string, _ any, err error) error { return err }
	}
	readAssets()
	o.Limits = o.Limits.WithDefaults()
	o.MaxStreams = core.Or(o.MaxStreams, maxStreams)
	c := &Console{opt: o, log: o.Logger, mux: http.NewServeMux(), uploads: map[string]bool{}, refusals: newRefusals(), forms: memory.New(), site: &frame.Site{
		Log: o.Logger, Version: o.Version, Now: o.Now, Status: o.Status, Uploads: o.Uploads, Inspect: o.Inspect, Assets: readAssets,
		ReadDefinition: o.ReadDefinition, WriteDefinition: o.WriteDefinition, PlaceDefinition: o.PlaceDefinition,
	}}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("console: PublicURL is not a URL such as https://example.com")
		}
		c.site.Public, c.site.Origin, c.site.Prefix = true, u.Scheme+"://"+u.Host, strings.TrimRight(u.Path, "/")
	}
	if !prefixRule.MatchString(c.site.Prefix) {
		return nil, errors.New("console: the path of PublicURL is not a path such as /belfry")
	}
	c.stopping, c.stop = context.WithCancel(context.Background())
	c.register(areas())
	// The cookie is SameSite, and every browser names the origin of a POST, or
	// says in Sec-Fetch-Site that it is another: a page elsewhere, on a
	// subdomain too, can send no form in another person's name. A token in each form
	// would add nothing to that but something to forget.
	c.handler = http.NewCrossOriginProtection().Handler(http.HandlerFunc(c.serve))
	return c, nil
}

// Handler serves everything. Paths may come with the prefix of PublicURL or
// without it, if a proxy has removed it.
func (c *Console) Handler() http.Handler { return c.handler }

// Streams is how many are open.
func (c *Console) Streams() int64 { return c.streams.Load() }

// Close ends streams. Pages are still served.
func (c *Console) Close() { c.stop() }

func (c *Console) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", frame.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // forms go back to where they were
	h.Set("Cache-Control", "no-store")
	if c.site.Prefix != "" && strings.HasPrefix(r.URL.Path, c.site.Prefix+"/") {
		http.StripPrefix(c.site.Prefix, c.mux).ServeHTTP(w, r)
		return
	}
	c.mux.ServeHTTP(w, r)
}
