package settings

import (
	"context"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/view"
)

type settingsAPI interface {
	Health(ctx context.Context) (view.Health, error)
}

var settingsRoutes = routes{"GET /settings": settingsPage}

type settingsData struct {
	view.Health
	Behind bool // the clock of the node is not that of the database
}

func settingsPage(p *page) error {
	h, err := p.api.Health(p.R.Context())
	if err != nil {
		return err
	}
	return p.Show("settings", settingsData{h, h.ClockSkew.Abs() > view.MaxClockSkew})
}

// HealthCommand is the health, without this page.
func (p *page) HealthCommand() parts.Command { return p.Command("GET", "/v1/health", "", "doctor") }

// Metrics is where Prometheus reads.
func (p *page) Metrics() string { return p.Site.Prefix + "/metrics" }
