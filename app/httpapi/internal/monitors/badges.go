package monitors

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/badge"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// badge serves a picture of one fact about a public monitor. It needs no token,
// so the answer for a private monitor is the same as for a missing one.
func (s *server) badge(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), api.HandleTimeout)
	defer cancel()
	b, err := s.badgeOf(ctx, r)
	if err != nil {
		s.Refuse(r.Context(), w, err)
		return
	}
	svg := b.SVG()
	sum := sha256.Sum256(svg)
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=60")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(svg))
}

// badgeWindows are the time ranges of badges.
var badgeWindows = []string{"24h", "7d", "30d", "90d", "1y"}

// badgeWindow is the default.
const badgeWindow = "30d"

func (s *server) badgeOf(ctx context.Context, r *http.Request) (badge.Badge, error) {
	namespace, name, file := r.PathValue("namespace"), r.PathValue("monitor"), r.PathValue("file")
	kind, isSVG := strings.CutSuffix(file, ".svg")
	if !isSVG || !slices.Contains([]string{"uptime", "latency", "status"}, kind) {
		return badge.Badge{}, core.Errorf(core.NotFound, "there is no badge %q", wire.Shorten(file)).WithHint("one of uptime.svg, latency.svg, status.svg")
	}
	window := cmp.Or(r.URL.Query().Get("window"), badgeWindow)
	if !slices.Contains(badgeWindows, window) {
		return badge.Badge{}, core.InvalidField("window", wire.Shorten(window), "is not a span that is counted", "one of "+strings.Join(badgeWindows, ", "))
	}
	if _, err := (badge.Badge{}).Asked(r.URL.Query()); err != nil {
		return badge.Badge{}, err // before any read of the database
	}
	unknown := core.Errorf(core.NotFound, "there is no public monitor %q in namespace %q", wire.Shorten(name), wire.Shorten(namespace))
	if core.ValidName("monitor", name) != nil || core.ValidName("namespace", namespace) != nil {
		return badge.Badge{}, unknown
	}
	facts, err := s.badges.get(ctx, s.service, namespace, name)
	switch {
	case core.CodeOf(err) == core.NotFound || err == nil && !facts.view.Public:
		return badge.Badge{}, unknown
	case err != nil:
		return badge.Badge{}, err
	}
	return facts.badge(kind, window).Asked(r.URL.Query())
}

// badgeFacts are the facts of all badges of a monitor.
type badgeFacts struct {
	at     time.Time
	view   view.MonitorView
	uptime view.UptimeReport
}

// badgeMemo caches the last facts for a while: badges need no token, and their
// readers must not load the database.
type badgeMemo struct {
	keep time.Duration
	mu   sync.Mutex
	of   map[string]badgeFacts
}

// maxBadges limits the monitors whose facts are cached.
const maxBadges = 1024

func (m *badgeMemo) get(ctx context.Context, s Monitors, namespace, name string) (f badgeFacts, err error) {
	key := namespace + "/" + name
	m.mu.Lock()
	f, known := m.of[key]
	m.mu.Unlock()
	if known && time.Since(f.at) < m.keep {
		return f, nil
	}
	f = badgeFacts{at: time.Now()}
	if f.view, err = s.Monitor(ctx, namespace, name); err != nil || !f.view.Public {
		return f, err
	}
	if f.uptime, err = s.Uptime(ctx, namespace, name); err != nil {
		return f, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]badgeFacts{}
	}
	if len(m.of) >= maxBadges {
		api.DropOne(m.of)
	}
	m.of[key] = f
	return f, nil
}

func (f badgeFacts) badge(kind, window string) badge.Badge {
	b := badge.Badge{About: f.view.Name}
	var u view.UptimeWindow
	for _, w := range f.uptime.Spans {
		if w.Name == window {
			u = w
		}
	}
	switch kind {
	case "status":
		b.Label = f.view.Name
		b.Value, b.Colour = statusWord(f.view)
	case "uptime":
		b.Label = "uptime " + window
		b.Value, b.Colour = ratioText(u.Ratio)
	case "latency":
		b.Label = "latency " + window
		b.Value, b.Colour = "unknown", badge.Grey
		if u.P50 > 0 {
			b.Value, b.Colour = latencyText(u.P50.D()), badge.Blue
		}
	}
	return b
}

func statusWord(v view.MonitorView) (word, colour string) {
	switch {
	case v.Status == monitor.StatusPaused:
		return "paused", badge.Grey
	case v.State.Maintenance != "":
		return "maintenance", badge.Blue
	case v.State.Stale:
		return "unknown", badge.Grey
	case v.Status == monitor.StatusDown:
		return "down", badge.Red
	case v.Status == monitor.StatusUp && v.State.Degraded:
		return "degraded", badge.Amber
	case v.Status == monitor.StatusUp:
		return "up", badge.Green
	}
	return "unknown", badge.Grey
}

// ratioText formats a ratio. It never rounds up to 100% after a short outage.
func ratioText(ratio *float64) (text, colour string) {
	if ratio == nil {
		return "unknown", badge.Grey
	}
	percent := math.Floor(*ratio*1e4+1e-6) / 100
	if *ratio < 1 {
		percent = min(percent, 99.99)
	}
	text = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", percent), "0"), ".") + "%"
	switch {
	case percent >= 99:
		return text, badge.Green
	case percent >= 95:
		return text, badge.Amber
	}
	return text, badge.Red
}

func latencyText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "< 1ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
