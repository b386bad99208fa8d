package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// The nouns of documents, as addresses have them.
const (
	channelNoun    = "channels"
	ruleNoun       = "alert-rules"
	windowNoun     = "windows"
	statusPageNoun = "status-pages"
)

func saved[T any](ctx context.Context, c *Client, noun, name string, d T) (T, error) {
	if err := checked("name", name); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPut, named(noun, name), nil, d)
}

func shown[T any](ctx context.Context, c *Client, noun, namespace, name string) (T, error) {
	if err := checked("name", name); err != nil {
		var zero T
		return zero, err
	}
	return get[T](ctx, c, named(noun, name), words("namespace", namespace))
}

func listed[T any](ctx context.Context, c *Client, noun string, f view.DocumentFilter) (core.Page[T], error) {
	return get[core.Page[T]](ctx, c, "/v1/"+noun, paged(f.Paging, words("namespace", f.Namespace)))
}

// SaveChannel implements [httpapi.Channels].
func (c *Client) SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error) {
	return saved(ctx, c, channelNoun, d.Name, d)
}

// DeleteChannel implements [httpapi.Channels].
func (c *Client) DeleteChannel(ctx context.Context, namespace, name string) error {
	return c.drop(ctx, channelNoun, namespace, name)
}

// Channel implements [httpapi.Channels].
func (c *Client) Channel(ctx context.Context, namespace, name string) (alert.Channel, error) {
	return shown[alert.Channel](ctx, c, channelNoun, namespace, name)
}

// Channels implements [httpapi.Channels].
func (c *Client) Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error) {
	return listed[alert.Channel](ctx, c, channelNoun, f)
}

// TestChannel sends a test message. It is no part of [httpapi.Service]: a node sends.
func (c *Client) TestChannel(ctx context.Context, namespace, name string) (wire.ChannelTest, error) {
	var out wire.ChannelTest
	if err := checked("name", name); err != nil {
		return out, err
	}
	err := c.do(ctx, ask{
		method: http.MethodPost, path: named(channelNoun, name, "test"), query: words("namespace", namespace), timeout: view.AlertTimeout + 30*time.Second,
	}, &out)
	return out, err
}

// SaveAlertRule implements [httpapi.AlertRules].
func (c *Client) SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error) {
	return saved(ctx, c, ruleNoun, d.Name, d)
}

// DeleteAlertRule implements [httpapi.AlertRules].
func (c *Client) DeleteAlertRule(ctx context.Context, namespace, name string) error {
	return c.drop(ctx, ruleNoun, namespace, name)
}

// AlertRule implements [httpapi.AlertRules].
func (c *Client) AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error) {
	return shown[alert.Rule](ctx, c, ruleNoun, namespace, name)
}

// AlertRules implements [httpapi.AlertRules].
func (c *Client) AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error) {
	return listed[alert.Rule](ctx, c, ruleNoun, f)
}

// SaveWindow implements [httpapi.Windows].
func (c *Client) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return saved(ctx, c, windowNoun, d.Name, d)
}

// DeleteWindow implements [httpapi.Windows].
func (c *Client) DeleteWindow(ctx context.Context, namespace, name string) error {
	return c.drop(ctx, windowNoun, namespace, name)
}

// Window implements [httpapi.Windows].
func (c *Client) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return shown[monitor.Window](ctx, c, windowNoun, namespace, name)
}

// Windows implements [httpapi.Windows].
func (c *Client) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return listed[monitor.Window](ctx, c, windowNoun, f)
}

// WindowNext is up to n times at which a window holds that are not over at
// from; the server's now when from is zero. It is no part of [httpapi.Service]: the
// root computes them.
func (c *Client) WindowNext(ctx context.Context, namespace, name string, from time.Time, n int) ([]monitor.ActiveWindow, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return items[monitor.ActiveWindow](ctx, c, named(windowNoun, name, "next"), words("namespace", namespace, "from", timeText(from), "n", numberText(n)))
}

// PreviewWindow is the same for one that is not saved.
func (c *Client) PreviewWindow(ctx context.Context, d monitor.Window, from time.Time, n int) ([]monitor.ActiveWindow, error) {
	var l wire.OccasionList
	err := c.do(ctx, ask{
		method: http.MethodPost, path: "/v1/" + windowNoun + "/preview", query: words("from", timeText(from), "n", numberText(n)), body: d, again: true,
	}, &l)
	return l.Items, err
}

// SaveStatusPage implements [httpapi.StatusPages].
func (c *Client) SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error) {
	return saved(ctx, c, statusPageNoun, d.Name, d)
}

// DeleteStatusPage implements [httpapi.StatusPages].
func (c *Client) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return c.drop(ctx, statusPageNoun, namespace, name)
}

// StatusPage implements [httpapi.StatusPages].
func (c *Client) StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error) {
	return shown[monitor.StatusPage](ctx, c, statusPageNoun, namespace, name)
}

// StatusPages implements [httpapi.StatusPages].
func (c *Client) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
	return listed[monitor.StatusPage](ctx, c, statusPageNoun, f)
}

// Alerts implements [httpapi.Alerts].
func (c *Client) Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error) {
	query := words("namespace", f.Namespace, "channel", f.Channel, "monitor", f.Monitor, "state", string(f.State))
	if f.Incident > 0 {
		query.Set("incident", strconv.FormatInt(f.Incident, 10))
	}
	if f.ID > 0 {
		query.Set("id", strconv.FormatInt(f.ID, 10))
	}
	return get[core.Page[alert.Alert]](ctx, c, "/v1/alerts", paged(f.Paging, query))
}

// AlertTries implements [httpapi.Alerts].
func (c *Client) AlertTries(ctx context.Context, namespace string, a int64) ([]alert.Try, error) {
	return items[alert.Try](ctx, c, numbered("alerts", a, "tries"), words("namespace", namespace))
}
