package monitors

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/view"
)

var Windows = documents.Kind[monitor.Window]{
	Noun: "window", List: "belfry window list",
	Head: func(d *monitor.Window) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: monitor.Window.WithDefaults, Validate: monitor.Window.Validate,
	Keep: documents.Older[monitor.Window], Shown: documents.Same[monitor.Window], Touch: WakeMonitors,
}

var StatusPages = documents.Kind[monitor.StatusPage]{
	Noun: "status_page", List: "belfry status-page list",
	Head: func(d *monitor.StatusPage) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: monitor.StatusPage.WithDefaults, Validate: monitor.StatusPage.Validate,
	Keep: documents.Older[monitor.StatusPage], Shown: documents.Same[monitor.StatusPage],
}

// SaveWindow creates or replaces a window of maintenance.
func (s *Store) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return documents.Save(ctx, s.Store, Windows, d)
}

// DeleteWindow removes a window of maintenance. The time that it took stays
// what it was.
func (s *Store) DeleteWindow(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, Windows, namespace, name)
}

// Window is one window of maintenance.
func (s *Store) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return documents.Read(ctx, s.Store, Windows, namespace, name)
}

// Windows lists windows of maintenance by name.
func (s *Store) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return documents.List(ctx, s.Store, Windows, f)
}

// SaveStatusPage creates or replaces a status page.
func (s *Store) SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error) {
	return documents.Save(ctx, s.Store, StatusPages, d)
}

// DeleteStatusPage removes a status page.
func (s *Store) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPage is one status page.
func (s *Store) StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error) {
	return documents.Read(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPages lists status pages by name.
func (s *Store) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
	return documents.List(ctx, s.Store, StatusPages, f)
}
