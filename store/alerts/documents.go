package alerts

import (
	"context"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/view"
)

// Channels is the document kind of channels: where notifications are sent. Secrets of a channel are sealed.
var Channels = documents.Kind[alert.Channel]{
	Noun: "channel", List: "belfry channel list",
	Head: func(d *alert.Channel) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Title: &d.Title, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: alert.Channel.WithDefaults, Validate: alert.Channel.Validate,
	Keep: alert.Channel.KeepSecrets, Shown: alert.Channel.Redacted,
	Sealed: func(s *base.Store, d alert.Channel) (alert.Channel, error) {
		return base.SealIn(s, base.PurposeOf("channel", d.Namespace, d.Name), d)
	},
	Opened: func(s *base.Store, d alert.Channel) alert.Channel {
		d, _ = base.OpenIn(s, base.PurposeOf("channel", d.Namespace, d.Name), d)
		return d
	},
	Check: func(_ *base.Change, d alert.Channel) error { return d.CheckSecrets() }, Free: freeChannel,
}

// AlertRules is the document kind of alert rules. A saved rule routes the waiting alerts of its namespace again.
var AlertRules = documents.Kind[alert.Rule]{
	Noun: "alert_rule", List: "belfry alert rule list",
	Head: func(d *alert.Rule) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Title: &d.Title, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: alert.Rule.WithDefaults, Validate: alert.Rule.Validate,
	Keep: documents.Older[alert.Rule], Shown: documents.Same[alert.Rule], Check: checkRule, Touch: rerouteAlerts,
}

// SaveChannel creates or replaces a channel. If a secret is [core.Redacted], the stored secret is kept.
func (s *Store) SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error) {
	return documents.Save(ctx, s.Store, Channels, d)
}

// DeleteChannel deletes a channel with its pending notifications.
func (s *Store) DeleteChannel(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, Channels, namespace, name)
}

// Channel returns one channel, without its secrets.
func (s *Store) Channel(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := documents.Read(ctx, s.Store, Channels, namespace, name)
	return d.Redacted(), err
}

// ChannelSecrets returns one channel with its secrets, for sending through it.
func (s *Store) ChannelSecrets(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := documents.Read(ctx, s.Store, Channels, namespace, name)
	return Channels.Open(s.Store, d), err
}

// Channels lists channels by name, without their secrets.
func (s *Store) Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error) {
	return documents.List(ctx, s.Store, Channels, f)
}

// SaveAlertRule creates or replaces an alert rule.
func (s *Store) SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error) {
	return documents.Save(ctx, s.Store, AlertRules, d)
}

// DeleteAlertRule deletes an alert rule. Its alerts that wait only for their group are still sent. Alerts that wait for quiet
// hours, maintenance or the time of a reminder are sent only if another rule routes them to the same channel.
func (s *Store) DeleteAlertRule(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, AlertRules, namespace, name)
}

// AlertRule returns one alert rule.
func (s *Store) AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error) {
	return documents.Read(ctx, s.Store, AlertRules, namespace, name)
}

// AlertRules lists alert rules by name.
func (s *Store) AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error) {
	return documents.List(ctx, s.Store, AlertRules, f)
}
