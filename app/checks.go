package app

import (
	"context"
	"maps"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/app/notify"
	"github.com/belfry-run/belfry/app/worker/page"
	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// Checks runs checks from this machine.
type Checks struct {
	probe *probe.Executor
	page  *page.Executor
}

// NewChecks returns checks that are limited to the addresses that the
// configuration allows.
func NewChecks(c config.Config, version string) (Checks, error) {
	allow, err := c.Addresses()
	if err != nil {
		return Checks{}, err
	}
	o := guard.Options{Allow: allow}
	registries := probe.Registries{RDAP: c.RDAPBootstrap}
	return Checks{probe.New(probe.Options{Guard: o, Version: version, Registries: registries}), page.New(page.Options{Guard: o, Version: version})}, nil
}

// Close closes idle connections.
func (c Checks) Close() {
	c.probe.Close()
	c.page.Close()
}

// executors returns the executors of network checks, by kind.
func (c Checks) executors() map[task.Kind]worker.Executor {
	kinds := maps.Clone(c.probe.Kinds())
	kinds[task.KindPage] = c.page
	return kinds
}

// Try runs a check once and returns its result. It stores nothing.
func (c Checks) Try(ctx context.Context, t task.Task) (task.CheckResult, error) {
	t, err := tryable(t)
	if err != nil {
		return task.CheckResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout.D())
	defer cancel()
	if t.Kind == task.KindPage {
		return c.page.Check(ctx, t), nil
	}
	return c.probe.Check(ctx, t), nil
}

// Preview is Try for a page; it shows what the selector finds.
func (c Checks) Preview(ctx context.Context, t task.Task) (httpapi.PagePreview, error) {
	t, err := tryable(t)
	if err != nil {
		return httpapi.PagePreview{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout.D())
	defer cancel()
	seen := c.page.Preview(ctx, t)
	out := httpapi.PagePreview{CheckResult: seen.CheckResult, First: seen.First}
	for _, r := range seen.Removed {
		out.Removed = append(out.Removed, httpapi.PageRemoval(r))
	}
	return out, nil
}

// tryable prepares a task for a single check, or returns why it cannot be checked.
func tryable(t task.Task) (task.Task, error) {
	if t.Timeout == 0 {
		t.Timeout = task.DefaultCheckTimeout
	}
	t.Name = "try"
	t = t.WithDefaults()
	if err := t.Validate(); err != nil {
		return t, err
	}
	if t.Kind == task.KindFunc || t.Kind == task.KindCommand {
		return t, core.InvalidField("kind", string(t.Kind), "cannot be tried", "only checks that look over the network can")
	}
	return t, Vet(t)
}

// Vet finds faults of a task that package task cannot check: expressions and
// selectors that do not compile, and invalid certificates.
func Vet(t task.Task) error {
	if t.Kind == task.KindPage {
		return page.Vet(t)
	}
	return probe.Vet(t)
}

// Teller sends notifications, and returns delivery results of the engine.
type Teller struct {
	*notify.Sender
}

// NewTeller returns a Teller that sends from this machine. now tells the time of what it signs; nil: this machine.
func NewTeller(c config.Config, version string, now func() time.Time) (Teller, error) {
	allow, err := c.Addresses()
	if err != nil {
		return Teller{}, err
	}
	return Teller{notify.New(notify.Options{Guard: guard.Options{Allow: allow}, AllowCommands: c.AllowCommands, Version: version, Now: now})}, nil
}

// Send sends a message through a channel.
func (t Teller) Send(ctx context.Context, c alert.Channel, m alert.Message) view.DeliveryResult {
	if err := t.Sender.Send(ctx, c, m); err != nil {
		return view.DeliveryResult{Error: err.Error(), Permanent: notify.Permanent(err), Gone: notify.Gone(err), RetryAfter: core.Duration(notify.RetryAfter(err))}
	}
	return view.DeliveryResult{}
}
