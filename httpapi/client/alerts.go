package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// AlertCalls are the calls about notifications, alert rules and channels.
type AlertCalls struct{ server *server }

// SaveChannel implements [httpapi.Channels].
func (c AlertCalls) SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error) {
	return saved(ctx, c.server, channelNoun, d.Name, d)
}

// DeleteChannel implements [httpapi.Channels].
func (c AlertCalls) DeleteChannel(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, channelNoun, namespace, name)
}

// Channel implements [httpapi.Channels].
func (c AlertCalls) Channel(ctx context.Context, namespace, name string) (alert.Channel, error) {
	return shown[alert.Channel](ctx, c.server, channelNoun, namespace, name)
}

// Channels implements [httpapi.Channels].
func (c AlertCalls) Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error) {
	return listed[alert.Channel](ctx, c.server, channelNoun, f)
}

// TestChannel sends a test message from a node. It is not part of [httpapi.Service].
func (c AlertCalls) TestChannel(ctx context.Context, namespace, name string) (wire.ChannelTest, error) {
	var out wire.ChannelTest
	if err := checked("name", name); err != nil {
		return out, err
	}
	err := c.server.do(ctx, ask{
		method: http.MethodPost, path: named(channelNoun, name, "test"), query: words("namespace", namespace), timeout: view.AlertTimeout + 30*time.Second,
	}, &out)
	return out, err
}

// SaveAlertRule implements [httpapi.AlertRules].
func (c AlertCalls) SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error) {
	return saved(ctx, c.server, ruleNoun, d.Name, d)
}

// DeleteAlertRule implements [httpapi.AlertRules].
func (c AlertCalls) DeleteAlertRule(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, ruleNoun, namespace, name)
}

// AlertRule implements [httpapi.AlertRules].
func (c AlertCalls) AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error) {
	return shown[alert.Rule](ctx, c.server, ruleNoun, namespace, name)
}

// AlertRules implements [httpapi.AlertRules].
func (c AlertCalls) AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error) {
	return listed[alert.Rule](ctx, c.server, ruleNoun, f)
}

// Alerts implements [httpapi.Alerts].
func (c AlertCalls) Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error) {
	query := words("namespace", f.Namespace, "channel", f.Channel, "monitor", f.Monitor, "state", string(f.State))
	if f.Incident > 0 {
		query.Set("incident", strconv.FormatInt(f.Incident, 10))
	}
	if f.ID > 0 {
		query.Set("id", strconv.FormatInt(f.ID, 10))
	}
	return get[core.Page[alert.Alert]](ctx, c.server, "/v1/alerts", paged(f.Paging, query))
}

// AlertTries implements [httpapi.Alerts].
func (c AlertCalls) AlertTries(ctx context.Context, namespace string, a int64) ([]alert.Try, error) {
	return items[alert.Try](ctx, c.server, numbered("alerts", a, "tries"), words("namespace", namespace))
}
