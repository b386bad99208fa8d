package belfry

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Version names a state of the task. Every edit changes it: [WithVersion] makes
// an edit apply to that state alone.
func (t Task) Version() string { return version(t.Generation, t.UpdatedAt) }

// Version names a state of the schedule. A pause does not change it.
func (s Schedule) Version() string { return version(0, s.UpdatedAt) }

// Version names a state of the monitor's definition.
func (m Monitor) Version() string { return version(m.Generation, m.UpdatedAt) }

// Version names a state of the calendar.
func (c Calendar) Version() string { return version(c.Generation, c.UpdatedAt) }

// Version names a state of the channel.
func (c Channel) Version() string { return version(c.Generation, c.UpdatedAt) }

// Version names a state of the alert rule.
func (a AlertRule) Version() string { return version(a.Generation, a.UpdatedAt) }

// Version names a state of the maintenance window.
func (w Window) Version() string { return version(w.Generation, w.UpdatedAt) }

// Version names a state of the status page.
func (s StatusPage) Version() string { return version(s.Generation, s.UpdatedAt) }

// Version names a state of the queue. A pause does not change it.
func (q Queue) Version() string { return version(0, q.UpdatedAt) }

// Version names a state of the namespace's limits; it is empty without any.
func (n Namespace) Version() string { return version(0, n.UpdatedAt) }

// version is empty for what was never saved.
func version(generation int64, updated time.Time) string {
	if updated.IsZero() {
		return ""
	}
	return strconv.FormatInt(generation, 10) + "-" + strconv.FormatInt(updated.UnixMicro(), 36)
}

// NotThere is the version that a definition has to have for [WithVersion] to create
// it, and change none that exists.
const NotThere = "none"

type versionKey struct{}

// WithVersion makes changes under the context apply only to a definition that has
// this version: what another one has changed meanwhile is a [Conflict].
func WithVersion(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// VersionOf is the version that a change under this context expects; empty: any.
func VersionOf(ctx context.Context) string {
	expected, _ := ctx.Value(versionKey{}).(string)
	return expected
}

// CheckVersion compares the version that the context expects, if any, with the
// one that is there, which is empty for what is not there.
func CheckVersion(ctx context.Context, noun, name, present string, changed, now time.Time) error {
	expected := VersionOf(ctx)
	switch {
	case expected == "" || expected == present || expected == NotThere && present == "":
		return nil
	case expected == NotThere:
		return Errorf(Conflict, "there is a %s %q already", noun, name).WithHint("read it, and change it with its version")
	case present == "":
		return Errorf(Conflict, "%s %q was deleted: your edit is of version %s", noun, name, expected).WithHint("create it again, or leave it")
	}
	ago := strings.TrimSpace(Duration(max(0, now.Sub(changed)).Round(time.Second)).String())
	return Errorf(Conflict, "%s %q was changed %s ago: your edit is of version %s, and version %s is there", noun, name, ago, expected, present).
		WithHint("read it again, and make your change there")
}
