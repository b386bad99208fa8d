package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/internal/clients"
	"github.com/belfry-run/belfry/app/internal/clock"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/app/ui"
	"github.com/belfry-run/belfry/app/ui/console"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/view"
)

// App is one node.
type App struct {
	opt   Options
	log   *slog.Logger
	clock clock.Clock

	mu      sync.Mutex // held during Start and Stop
	started bool
	stopped bool
	stops   []stop // of started parts, in order of start; Stop runs them in reverse

	fatal     chan error    // the first part that ended by itself
	draining  chan struct{} // closed when a stop begins
	drainOnce sync.Once
	serving   chan struct{} // closed when the worker of the node has registered, or the node has none

	// Set by Start before it returns, and never changed afterwards.
	store     *store.Store
	artifacts *Artifacts       // nil if no place for artifacts is configured
	teller    *notify.Sender   // nil without the role engine
	pages     *console.Console // nil without the role api, or if the console is switched off
	url       string
	tokenFile string
	madeToken bool // by this start
	link      signInLink
	unwell    nodeWorkers
	engine    atomic.Pointer[engine.Engine] // nil without the role
}

// New checks the options. It opens nothing.
func New(o Options) (*App, error) {
	o = o.withDefaults()
	if err := config.CheckDatabase(o.Database); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkBrokers(o.Config); err != nil {
		return nil, err
	}
	// Checked here, so that a refused start creates no database. Tokens in the
	// database are checked once it is open.
	if err := mayListen(o.Config, mayHaveTokens(o.Config)); err != nil {
		return nil, err
	}
	return &App{opt: o, log: o.Logger, fatal: make(chan error, 1), draining: make(chan struct{}), serving: make(chan struct{})}, nil
}

// URL is the address of the API, or empty without the role. Valid after Start.
func (a *App) URL() string { return a.url }

// HasConsole reports whether the web interface is at [App.URL].
func (a *App) HasConsole() bool { return a.pages != nil }

// Store is the open database. Valid after Start and until Stop.
func (a *App) Store() *store.Store { return a.store }

// TokenFile is the file with this machine's token, or empty. Valid after Start.
func (a *App) TokenFile() string { return a.tokenFile }

// MadeToken reports whether this start created the token in [App.TokenFile]. Valid after
// Start.
func (a *App) MadeToken() bool { return a.madeToken }

// Run starts the node, waits until ctx ends or a part of the node fails, and
// stops it.
func (a *App) Run(ctx context.Context) error {
	if err := a.Start(ctx); err != nil {
		return err
	}
	return a.Wait(ctx)
}

// Wait waits until ctx ends or a part of a started node fails, and stops it.
func (a *App) Wait(ctx context.Context) error {
	var failed error
	select {
	case <-ctx.Done():
		a.log.Info("stopping", "grace", a.opt.Grace)
	case failed = <-a.fatal:
		if outdated := a.store.Outdated(); outdated != nil { // takes precedence over the error of the part that failed
			failed = outdated
		}
		a.log.Error("stopping, because a part of the node failed", "error", failed)
	}
	return errors.Join(failed, a.Stop(context.WithoutCancel(ctx)))
}

// Start starts all parts or none: if a part fails to start, the parts before it
// are stopped. It returns when the worker of the node has registered, so that
// later jobs find a worker. ctx limits the start, not the life of the node. A
// node starts once.
func (a *App) Start(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started || a.stopped {
		return core.Errorf(core.Conflict, "this node was started or stopped before").WithHint("make a new one")
	}
	a.started = true
	// The parts start in the order of their dependencies, and Stop ends them in
	// reverse. A part may use the parts above it until it ends:
	//
	//   workers  stop first. While they drain, their jobs call the API of this
	//            node and write results to the store.
	//   API      ends next: until then, clients that wait for a job learn of its
	//            end, and remote workers hand in results.
	//   engine   ends after the API: calls of the last second may need wake-ups of
	//            the store.
	//   store    closes last, after all writers.
	for _, part := range []struct {
		name  string
		start func(context.Context) error
	}{
		{"store", a.startStore},
		{"engine", a.startEngine},
		{"brokers", a.startDispatchers},
		{"clock", a.startClock},
		{"api", a.startAPI},
		{"workers", a.startWorkers},
	} {
		if err := part.start(ctx); err != nil {
			stopErr := a.stopLocked(context.WithoutCancel(ctx))
			var refused *core.Error
			if !errors.As(err, &refused) { // a refusal names its subject itself
				err = fmt.Errorf("start %s: %w", part.name, err)
			}
			return errors.Join(err, stopErr)
		}
	}
	return nil
}

func (a *App) startStore(ctx context.Context) error {
	o := newObserver(new(catalogue))
	if err := o.register(a.opt.Registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := checkSealKey(a.opt.Config); err != nil {
		return err
	}
	a.artifacts = NewArtifacts(a.opt.Config, a.log, a.clock.Now)
	st, err := OpenStore(ctx, a.opt.Config, a.artifacts, a.log, o)
	if err != nil {
		return err
	}
	a.store = st
	_, _ = a.compareClocks(ctx) // checkClock says what is wrong
	a.onStop("store", func(context.Context) error { return errors.Join(st.Close(), a.artifacts.Close()) })
	if err := a.checkArtifacts(ctx); err != nil {
		return err
	}
	if err := a.opt.Registry.Register(newGauges(new(catalogue), a.readGauges, a.leftBehind)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	a.loop("wake-ups", st.Run)
	return nil
}

func (a *App) readGauges(ctx context.Context) (f figures, err error) {
	if f.health, err = a.store.Health(ctx); err != nil {
		return f, err
	}
	if f.queues, err = a.store.Queues(ctx); err != nil {
		return f, err
	}
	f.store, err = a.store.Gauges(ctx, maxMonitorSeries, maxChannelSeries)
	return f, err
}

// leftBehind counts the attempts and alerts of this node that did not stop in time.
func (a *App) leftBehind() leftBehind {
	left := leftBehind{Attempts: a.unwell.leftBehind()}
	if e := a.engine.Load(); e != nil {
		left.Alerts = e.StuckTries()
	}
	return left
}

func (a *App) startEngine(context.Context) error {
	if !a.opt.Has(config.RoleEngine) {
		a.loop("zones", a.followZones) // an engine does this itself
		return nil
	}
	sender, err := NewTeller(a.opt.Config, a.opt.Version, a.clock.Now)
	if err != nil {
		return err
	}
	o := engine.Options{Store: a.store, Sender: sender, PublicURL: a.opt.PublicURL, Logger: a.log}
	if a.artifacts != nil {
		o.Bytes = a.artifacts
	}
	e, err := engine.New(o)
	if err != nil {
		return err
	}
	a.onStop("alerts", func(context.Context) error { sender.Close(); return nil })
	a.teller = sender.Sender
	a.engine.Store(e)
	a.loop("engine", e.Run)
	return nil
}

// followZones keeps the time zones of this node equal to those of the other nodes.
func (a *App) followZones(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := a.store.FollowZones(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the time zones of nodes could not be compared, trying again", "error", err)
		}
		sleep(ctx, engine.ZonesEvery)
	}
	return nil
}

// startClock watches the skew of this node's clock to the clock of the
// database.
func (a *App) startClock(context.Context) error {
	a.loop("clock", func(ctx context.Context) error {
		for ctx.Err() == nil {
			a.checkClock(ctx)
			sleep(ctx, time.Minute)
		}
		return nil
	})
	return nil
}

// compareClocks measures the skew.
func (a *App) compareClocks(ctx context.Context) (time.Duration, error) {
	skew, err := a.store.DB().Skew(ctx)
	if err == nil {
		a.clock.Set(skew)
	}
	return skew, err
}

func (a *App) checkClock(ctx context.Context) {
	if h, err := a.store.Health(ctx); err == nil {
		if quiet := h.Quiet(); !quiet.OK {
			a.log.Warn("clock was set back; planned times and checks of monitors that ran before are quiet", "until", h.QuietUntil, "way_out", quiet.Fix)
		}
	}
	skew, err := a.compareClocks(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Warn("cannot compare clocks", "error", err)
	case skew.Abs() > view.MaxClockSkew:
		a.log.Warn("clock of this node is off; times are the database's, but timestamps in logs are not",
			"skew", skew, "way_out", "synchronise the clocks of this node and of the database, such as with NTP")
	}
}

func (a *App) startAPI(ctx context.Context) error {
	if !a.opt.Has(config.RoleAPI) {
		return nil
	}
	if err := a.initialTokens(ctx); err != nil {
		return err
	}
	usable, err := usableTokens(ctx, a.store, a.clock.Now())
	if err != nil {
		return err
	}
	if err := mayListen(a.opt.Config, usable); err != nil {
		return err
	}
	srv, h, err := a.server()
	if err != nil {
		return err
	}
	ln, err := listen(ctx, a.opt.Listen)
	if err != nil {
		return err
	}
	// Only the node that holds the listen address creates the token: a second
	// start in the same folder fails above and leaves the file unchanged.
	if config.IsLoopback(a.opt.Listen) {
		if err := a.firstToken(ctx, usable); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	a.url = config.Config{Listen: ln.Addr().String(), TLSCert: a.opt.TLSCert}.ServerURL()
	shared := a.opt.SQLitePath() == "" // another node may assess the heartbeats that this node receives
	if shared {
		a.sayListening(ctx)
	}
	proxies, err := a.opt.Proxies()
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	most := clients.Fit(a.opt.MaxClients)
	if most < a.opt.MaxClients {
		a.log.Warn("max_clients is lowered to three quarters of the limit of open files", "clients", most, "max_clients", a.opt.MaxClients, "fix", "raise its limit of open files (ulimit -n, LimitNOFILE of a unit)")
	}
	bounded := clients.Limit(ln, most, proxies)
	srv.ConnState, srv.Handler = bounded.State, bounded.Handler(srv.Handler)
	a.serve(srv, bounded, h)
	if a.pages != nil { // ends before the API, which would wait for the streams of pages
		a.onStop("console", func(context.Context) error { a.pages.Close(); return nil })
	}
	a.log.Info("listening", "url", a.url)
	if shared {
		a.loop("listening", func(ctx context.Context) error {
			for ctx.Err() == nil {
				sleep(ctx, job.ListenEvery)
				a.sayListening(ctx)
			}
			return nil
		})
	}
	return nil
}

// sayListening tells all nodes that remote workers can renew sessions through this
// node. An error is harmless: no session is ended before, and the call is repeated soon.
func (a *App) sayListening(ctx context.Context) {
	if err := a.store.Listen(ctx); err != nil && ctx.Err() == nil {
		a.log.Debug("cannot record that this node listens", "error", err)
	}
}

func (a *App) server() (*http.Server, *httpapi.Server, error) {
	requests := newRequests(new(catalogue))
	if err := a.opt.Registry.Register(requests.took); err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	o := httpapi.Options{
		Service: a.store, Secrets: a.store, PublicURL: a.opt.PublicURL, Auth: a.store, Audit: a.store, Attempts: a.store, Calls: a.store, Links: a.store,
		ByTicket: slices.Sorted(maps.Keys(a.opt.Brokers)), Version: a.opt.Version, Logger: a.log,
		Metrics: promhttp.HandlerFor(a.opt.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}),
		Observe: requests.observe, Hosts: hosts(a.opt.Config), Alive: a.store.Alive, Ready: a.ready, Outdated: a.store.Outdated, Unwell: a.unwell.kinds,
		BodyTimeout: a.opt.BodyTimeout.D(), Now: a.clock.Now,
		LeftBehind: func() (attempts, alerts int) { left := a.leftBehind(); return left.Attempts, left.Alerts },
	}
	if a.teller != nil {
		o.Notifier = a.teller
	}
	if a.opt.Has(config.RoleWorker) {
		checks, err := NewChecks(a.opt.Config, a.opt.Version)
		if err != nil {
			return nil, nil, err
		}
		a.onStop("tries", func(context.Context) error { checks.Close(); return nil })
		o.Prober = checks
	}
	pages, err := ui.New(ui.Options{Board: a.store.Board, Logger: a.log, PublicURL: a.opt.PublicURL})
	if err != nil {
		return nil, nil, err
	}
	o.Subscribe = pages.Subscriptions(a.store, httpapi.StatusOf)
	o.Pages, o.Answers = pages.Handler(), pages.Answers(a.store, httpapi.StatusOf)
	if a.artifacts.IsFolder() {
		o.Artifacts = a.artifacts
	}
	if !a.opt.NoConsole {
		o.Console = a.console
	}
	if o.TrustedProxies, err = a.opt.Proxies(); err != nil {
		return nil, nil, err
	}
	o.HTTPS = a.opt.TLSCert != "" || strings.HasPrefix(a.opt.PublicURL, "https://")
	var pair *servedCert
	if a.opt.TLSCert != "" {
		if pair, err = openCertificate(a.opt.TLSCert, a.opt.TLSKey, a.log); err != nil {
			return nil, nil, err
		}
		o.Check = pair.check
	}
	h, err := httpapi.New(o)
	if err != nil {
		return nil, nil, err
	}
	open := map[string]func() int64{"api": h.Streams}
	if a.pages != nil {
		open["pages"] = a.pages.Streams
	}
	if err := a.opt.Registry.Register(newStreams(new(catalogue), open)); err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	srv := h.HTTPServer(a.opt.Listen)
	if pair != nil {
		srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	}
	return srv, h, nil
}

// ready returns an error until the worker of the node has registered, and once
// a stop begins. Load balancers then use other nodes while this node drains.
func (a *App) ready(context.Context) error {
	select {
	case <-a.draining:
		return core.Errorf(core.Unavailable, "this node is stopping")
	default:
	}
	select {
	case <-a.serving:
		return a.store.Outdated()
	default:
		return core.Errorf(core.Unavailable, "the worker of this node has not registered yet")
	}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, core.Errorf(core.Unavailable, "cannot listen on %s: %w", address, err).
			WithHint("is another server running there? choose another address with --listen, such as 127.0.0.1:0 for any free port")
	}
	return ln, nil
}

// serve runs the API until it is stopped.
func (a *App) serve(srv *http.Server, ln net.Listener, h *httpapi.Server) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		if srv.TLSConfig != nil {
			err = srv.ServeTLS(ln, "", "")
		} else {
			err = srv.Serve(ln)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("serve the API: %w", err))
		}
	}()
	a.onStop("api", func(ctx context.Context) error {
		h.Close() // ends streams and long polls, which Shutdown would wait for
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-done
		return err
	})
}
