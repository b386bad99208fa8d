package monitors

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/view"
)

// Windows is the document kind of maintenance windows. A saved window wakes the monitors of its namespace.
var Windows = documents.Kind[monitor.Window]{
	Noun: "window", List: "belfry window list",
	Head: func(d *monitor.Window) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Title: &d.Title, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: monitor.Window.WithDefaults, Validate: monitor.Window.Validate,
	Keep: documents.Older[monitor.Window], Shown: documents.Same[monitor.Window], Touch: WakeMonitors,
}

// StatusPages is the document kind of status pages.
var StatusPages = documents.Kind[public.StatusPage]{
	Noun: "status_page", List: "belfry status-page list",
	Head: func(d *public.StatusPage) documents.Head {
		return documents.Head{Namespace: &d.Namespace, Name: &d.Name, Title: &d.Title, Id: &d.ID, Generation: &d.Generation, CreatedAt: &d.CreatedAt, UpdatedAt: &d.UpdatedAt}
	},
	Defaults: public.StatusPage.WithDefaults, Validate: public.StatusPage.Validate,
	Keep: keepLogo, Shown: documents.Same[public.StatusPage], Shorter: shorterStatusPage, Bulky: "logo", BulkyMark: public.LogoKept,
	Free: func(c *base.Change, d public.StatusPage) error {
		for _, table := range []string{"announcements", "subscribers", "subscription_asks"} {
			if _, err := c.Tx.Exec(c.Ctx, `delete from `+base.Home+table+` where page_id = $1`, d.ID); err != nil {
				return err
			}
		}
		return nil
	},
	Check: checkStatusPage,
}

// keepLogo restores the logo of a status page that is saved in the form of a list, without its logo.
func keepLogo(fresh, old public.StatusPage) public.StatusPage {
	if fresh.Logo == public.LogoKept {
		fresh.Logo = old.Logo
	}
	return fresh
}

// shorterStatusPage returns the form for plans and the audit log: a description of the logo instead of its bytes.
func shorterStatusPage(d public.StatusPage) public.StatusPage {
	if logo, err := d.Image(); err == nil && d.Logo != "" {
		d.Logo = fmt.Sprintf("%s, SHA-256 %x", logo, sha256.Sum256(logo.Bytes))
	}
	return d
}

// checkStatusPage rejects a status page that sends mail through a channel that is not a mail channel.
func checkStatusPage(c *base.Change, d public.StatusPage) error {
	if d.Subscribe == nil || d.Subscribe.Mail == "" {
		return nil
	}
	channel, found, err := base.First(c.Ctx, c.Tx, func(r base.Rows) (a alert.Channel, err error) { return a, r.Scan(base.ScanDoc(&a)) }, `
		select doc
		from belfry.documents
		where noun = 'channel' and namespace = $1 and name = $2`, d.Namespace, d.Subscribe.Mail)
	if err == nil && (!found || channel.Email == nil) {
		err = core.InvalidField("subscribe.mail", d.Subscribe.Mail, "is not a channel of kind email in namespace "+d.Namespace, "create it first, or apply both in one file")
	}
	return err
}

// SaveWindow creates or replaces a maintenance window.
func (s *Store) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return documents.Save(ctx, s.Store, Windows, d)
}

// DeleteWindow deletes a maintenance window. Past time in maintenance stays recorded.
func (s *Store) DeleteWindow(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, Windows, namespace, name)
}

// Window returns one maintenance window.
func (s *Store) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return documents.Read(ctx, s.Store, Windows, namespace, name)
}

// Windows lists maintenance windows by name.
func (s *Store) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return documents.List(ctx, s.Store, Windows, f)
}

// SaveStatusPage creates or replaces a status page.
func (s *Store) SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error) {
	return documents.Save(ctx, s.Store, StatusPages, d)
}

// DeleteStatusPage deletes a status page.
func (s *Store) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return documents.Delete(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPage returns one status page.
func (s *Store) StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error) {
	return documents.Read(ctx, s.Store, StatusPages, namespace, name)
}

// StatusPages lists status pages by name. Logos, which may have 43 KB each, are replaced by [public.LogoKept].
func (s *Store) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error) {
	return documents.List(ctx, s.Store, StatusPages, f)
}
