package ui

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Options of [Pages]. Board must be given.
type Options struct {
	// Board reads a status page with what it shows. A page that is not there
	// and one that is off are both [core.NotFound].
	Board func(ctx context.Context, namespace, name string) (view.Board, error)

	Logger *slog.Logger  // default: the default logger
	MaxAge time.Duration // how old a page may be, here and in caches of others; default: 1 minute

	// PublicURL is where people reach the node, such as
	// https://example.com/belfry. Feeds use it, because not all readers
	// complete links by themselves. Default: links without a host.
	PublicURL string
	// Prefix is what stands before /status in the addresses that people see,
	// such as /belfry, where a proxy or [http.StripPrefix] takes it away. Headers of
	// requests are not believed. Default: the path of PublicURL.
	Prefix string
}

// DefaultMaxAge is how old a status page may be by default.
const DefaultMaxAge = time.Minute

var prefixRule = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

func (o Options) withDefaults() (Options, error) {
	if o.Board == nil {
		return o, errors.New("ui: Board must be given")
	}
	if o.MaxAge < 0 {
		return o, errors.New("ui: MaxAge must not be negative")
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return o, errors.New("ui: PublicURL is not a URL such as https://example.com")
		}
		if o.Prefix == "" {
			o.Prefix = u.Path
		}
		o.PublicURL = u.Scheme + "://" + u.Host
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	if !prefixRule.MatchString(o.Prefix) {
		return o, errors.New("ui: Prefix is not a path such as /belfry")
	}
	return o, nil
}

// Pages serves status pages.
type Pages struct {
	opt   Options
	cache *cache
	gone  asset.Document // for all that is not there
	down  asset.Document // for pages that cannot be read now
}

// New makes status pages. It starts nothing.
func New(o Options) (*Pages, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pages{opt: o, cache: newCache(o.MaxAge)}
	p.cache.load, p.cache.render = p.load, p.render
	if p.gone, err = p.apology("There is no status page here", "Check the address."); err != nil {
		return nil, err
	}
	p.down, err = p.apology("This page cannot be shown at the moment", "Try again in a minute.")
	return p, err
}

// Handler serves GET and HEAD of
//
//	/status/{name}                       a page of the namespace default
//	/status/{namespace}/{name}           a page of another
//	the same with .json                  the board as JSON
//	the same with /feed.atom             its incidents
//	the same with /badge.svg             its state, as a badge
//	the same with /colours.css           its accents
//	the same with /logo.img              its logo, a PNG or JPEG
//	/status-assets/{file}                style and icons
//
// and answers everything else as if there were nothing. It wants no token.
func (p *Pages) Handler() http.Handler { return http.HandlerFunc(p.serve) }

// The policy allows the style, the icons and the script of times, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

// allowForms lets a page post to this node, and to no other.
func allowForms(h http.Header) {
	h.Set("Content-Security-Policy", strings.Replace(policy, "form-action 'none'", "form-action 'self'", 1))
}

func (p *Pages) serve(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "This takes GET and HEAD.", http.StatusMethodNotAllowed)
		return
	}
	if file, is := strings.CutPrefix(r.URL.Path, assetsPath); is && assets().Serve(w, r, file) {
		return
	}
	at, ok := parseAddress(r.URL.Path)
	if !ok {
		p.refuse(w, r, at, core.Errorf(core.NotFound, "no such path"))
		return
	}
	shown, err := p.cache.get(r.Context(), at.page)
	if err != nil {
		p.refuse(w, r, at, err)
		return
	}
	maxAge := p.opt.MaxAge
	if shown.stale {
		maxAge = p.cache.retry
	}
	cacheFor(w.Header(), maxAge)
	if at.form == asHTML && len(shown.board.Subscribe) > 0 {
		allowForms(w.Header())
	}
	switch {
	case at.form == asBadge:
		p.badge(w, r, shown)
		return
	case at.form == asLogo && len(shown.board.Logo.Bytes) == 0:
		p.refuse(w, r, at, core.Errorf(core.NotFound, "no logo"))
		return
	case at.form == asLogo: // opened alone it is shown as an image, whatever is in it
		w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	}
	shown.forms[at.form].Serve(w, r)
}

func cacheFor(h http.Header, age time.Duration) {
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(age.Seconds())))
}

// refuse answers for a page that cannot be shown, and never says why.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, at address, err error) {
	status, apology := http.StatusServiceUnavailable, p.down
	if core.CodeOf(err) == core.NotFound {
		status, apology = http.StatusNotFound, p.gone
		cacheFor(w.Header(), p.cache.retry)
	} else {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", strconv.Itoa(int(p.cache.retry.Seconds())))
	}
	if at.form == asJSON {
		apology = problem(status)
	}
	apology.ServeStatus(w, r, status)
}

// load is one read of the database, of which the log hears when it fails.
func (p *Pages) load(ctx context.Context, k key) (view.Board, error) {
	b, err := p.opt.Board(ctx, k.namespace, k.name)
	if err != nil && core.CodeOf(err) != core.NotFound {
		p.opt.Logger.Warn("cannot read a status page", "namespace", k.namespace, "page", k.name, "error", err)
	}
	return b, err
}
