package monitors

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

var Windows = base.DocKind[monitor.Window]{
	Noun: "window", List: "belfry window list",
	Head: func(d *monitor.Window) base.Head {
		return base.Head{Namespace: &d.Namespace, Name: &d.Name, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: monitor.Window.WithDefaults, Validate: monitor.Window.Validate,
	Keep: base.Older[monitor.Window], Shown: base.Same[monitor.Window], Touch: WakeMonitors,
}

var StatusPages = base.DocKind[monitor.StatusPage]{
	Noun: "status_page", List: "belfry status-page list",
	Head: func(d *monitor.StatusPage) base.Head {
		return base.Head{Namespace: &d.Namespace, Name: &d.Name, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: monitor.StatusPage.WithDefaults, Validate: monitor.StatusPage.Validate,
	Keep: base.Older[monitor.StatusPage], Shown: base.Same[monitor.StatusPage],
}

// SaveWindow creates or replaces a window of maintenance.
func (s *Store) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return base.SaveDoc(ctx, s.Store, Windows, d)
}

// DeleteWindow removes a window of maintenance. The time that it took stays
// what it was.
func (s *Store) DeleteWindow(ctx context.Context, namespace, name string) error {
	return base.DeleteDoc(ctx, s.Store, Windows, namespace, name)
}

// Window is one window of maintenance.
func (s *Store) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return base.ReadDoc(ctx, s.Store, Windows, namespace, name)
}

// Windows lists windows of maintenance by name.
func (s *Store) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return base.ListDocs(ctx, s.Store, Windows, f)
}

// SaveStatusPage creates or replaces a status page.
func (s *Store) SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error) {
	return base.SaveDoc(ctx, s.Store, StatusPages, d)
}

// DeleteStatusPage removes a status page.
func (s *Store) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return base.DeleteDoc(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPage is one status page.
func (s *Store) StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error) {
	return base.ReadDoc(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPages lists status pages by name.
func (s *Store) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
	return base.ListDocs(ctx, s.Store, StatusPages, f)
}
