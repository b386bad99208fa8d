package monitors

import (
	"context"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type alertAPI interface {
	AlertTries(ctx context.Context, namespace string, alert int64) ([]alert.Try, error)
}

var alertRoutes = routes{"GET /alerts": alertList}

// alertLog is the part "alerts": alerts and the results of their delivery.
type alertLog struct {
	Page   core.Page[alert.Alert]
	Tries  map[int64][]alert.Try
	Titles view.Titles // of channels and rules
}

// alertLog reads a page of alerts with their tries.
func (p *page) alertLog(f alert.Filter) (l alertLog, err error) {
	ctx := p.R.Context()
	if l.Page, err = p.api.Alerts(ctx, f); err != nil {
		return l, err
	}
	l.Tries = map[int64][]alert.Try{}
	tries := make([][]alert.Try, len(l.Page.Items))
	named := view.Named{Namespace: f.Namespace}
	reads := []func() error{func() (err error) {
		for _, a := range l.Page.Items {
			named.Channels, named.AlertRules = append(named.Channels, a.Channel), append(named.AlertRules, a.Rule)
		}
		l.Titles, err = frame.Titles(ctx, p.api, named)
		return err
	}}
	for i, a := range l.Page.Items {
		if a.Tries > 0 {
			reads = append(reads, frame.Get(&tries[i], func() ([]alert.Try, error) { return p.api.AlertTries(ctx, a.Namespace, a.ID) }))
		}
	}
	if err := frame.Together(reads...); err != nil {
		return l, err
	}
	for i, a := range l.Page.Items {
		l.Tries[a.ID] = tries[i]
	}
	return l, nil
}

type alertsData struct {
	alertLog
	Filter alert.Filter
}

func alertList(p *page) error {
	d := alertsData{Filter: alert.Filter{
		Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Channel: p.Query("channel"), Monitor: p.Query("monitor"), State: alert.State(p.Query("state")),
	}}
	var err error
	if d.alertLog, err = p.alertLog(d.Filter); err != nil {
		return err
	}
	return p.Show("alerts", d)
}

// AlertTabs are the views of the alerts.
func (p *page) AlertTabs(d alertsData) []parts.Tab {
	at := d.Filter.State
	tabs := []parts.Tab{parts.NewTab("All", p.Here("state", "", "cursor", ""), at == "", "")}
	for _, s := range []alert.State{alert.Pending, alert.Sent, alert.Failed, alert.Suppressed} {
		tabs = append(tabs, parts.NewTab(parts.SentenceCase(string(s)), p.Here("state", s, "cursor", ""), at == s, ""))
	}
	return tabs
}

// Filtered reports that not all alerts are asked for.
func (d alertsData) Filtered() bool {
	return d.Filter.State != "" || d.Filter.Channel != "" || d.Filter.Monitor != "" || d.Filter.Cursor != ""
}

// Log is that of a page that embeds one.
func (l alertLog) Log() alertLog { return l }

// Sent is how many of them went out.
func (l alertLog) Sent() (n int) {
	for _, a := range l.Page.Items {
		if a.State == alert.Sent {
			n++
		}
	}
	return n
}
