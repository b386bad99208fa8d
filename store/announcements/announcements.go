// Package announcements keeps the announcements on status pages. [Store] is used by the API; status pages read the shown ones
// with [Shown]. A change names the version that was read, and an announcement only moves forward in its states.
package announcements

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/subscribers"
	"github.com/belfry-run/belfry/view"
)

// Store keeps announcements.
type Store struct {
	*base.Store
	subscribers *subscribers.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, s *subscribers.Store) *Store { return &Store{b, s} }

const columns = `a.id, a.generation, a.actor, a.created_at, a.updated_at, a.until_at, a.doc`

// scan reads an announcement in its state at an instant.
func scan(page public.StatusPage, now time.Time) func(base.Rows) (public.Announcement, error) {
	return func(rows base.Rows) (a public.Announcement, err error) {
		var r public.Announcement
		err = rows.Scan(&r.ID, &r.Generation, &r.By, base.ScanTime(&r.CreatedAt), base.ScanTime(&r.UpdatedAt), base.ScanTime(&r.Until), base.ScanDoc(&a))
		a.ID, a.Generation, a.By, a.CreatedAt, a.UpdatedAt, a.Until = r.ID, r.Generation, r.By, r.CreatedAt, r.UpdatedAt, r.Until
		a.Namespace, a.Page = page.Namespace, page.Name
		a.State = a.StateAt(now)
		return a, err
	}
}

// written returns the stored document of an announcement.
func written(a public.Announcement) string {
	return base.Text(public.Announcement{Title: a.Title, Text: a.Text, Level: a.Level, From: a.From})
}

// Announcements lists the announcements of a status page, newest first.
func (s *Store) Announcements(ctx context.Context, f view.AnnouncementFilter) (p core.Page[public.Announcement], err error) {
	before, err := base.DecodeIDCursor(f.Cursor)
	if err != nil {
		return p, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return p, err
	}
	limit := f.Bound()
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		page, err := monitors.StatusPages.Read(ctx, tx, base.NamespaceOr(f.Namespace), f.StatusPage, "")
		if err != nil {
			return err
		}
		w := &base.Where{}
		w.And("a.page_id = ?", page.ID)
		if before > 0 {
			w.And("a.id < ?", before)
		}
		if f.Current {
			w.And("(a.until_at = 0 or a.until_at > ?)", base.Micros(now))
		}
		all, err := base.Collect(ctx, tx, scan(page, now), `
			select `+columns+`
			from belfry.announcements a
			where `+w.Sql()+`
			order by a.id desc
			limit `+strconv.Itoa(limit+1), w.Args...)
		p = base.Page(all, limit, func(a public.Announcement) string { return base.EncodeCursor(strconv.FormatInt(a.ID, 10)) })
		return err
	})
	return p, err
}

// Announcement returns one announcement of a status page.
func (s *Store) Announcement(ctx context.Context, namespace, page string, id int64) (a public.Announcement, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return a, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		of, err := monitors.StatusPages.Read(ctx, tx, base.NamespaceOr(namespace), page, "")
		if err != nil {
			return err
		}
		var found bool
		if a, found, err = base.First(ctx, tx, scan(of, now), `select `+columns+` from belfry.announcements a where a.page_id = $1 and a.id = $2`, of.ID, id); err == nil && !found {
			err = absent(page, id)
		}
		return err
	})
	return a, err
}

// Find returns one announcement of a status page, if it exists.
func Find(ctx context.Context, tx base.Tx, page public.StatusPage, id int64, now time.Time) (public.Announcement, bool, error) {
	return base.First(ctx, tx, scan(page, now), `select `+columns+` from belfry.announcements a where a.page_id = $1 and a.id = $2`, page.ID, id)
}

func absent(page string, id int64) error {
	return core.Errorf(core.NotFound, "status page %q has no announcement %d", page, id).WithHint("see: belfry announcement list %s", page)
}

// Shown returns the announcements of a status page that visitors see now, newest first.
func Shown(ctx context.Context, tx base.Tx, page public.StatusPage, now time.Time) (shown []public.Announcement, err error) {
	all, err := base.Collect(ctx, tx, scan(page, now), `
		select `+columns+`
		from belfry.announcements a
		where a.page_id = $1 and (a.until_at = 0 or a.until_at > $2)
		order by a.id desc`, page.ID, base.Micros(now))
	for _, a := range all {
		if a.State == public.Shown {
			shown = append(shown, a)
		}
	}
	return shown, err
}

// lockAnnouncements reads all announcements of a status page under the lock of the page.
func lockAnnouncements(c *base.Change, namespace, name string) (page public.StatusPage, all []public.Announcement, err error) {
	if page, err = monitors.StatusPages.Read(c.Ctx, c.Tx, base.NamespaceOr(namespace), name, c.SQL.ForUpdate("documents")); err != nil {
		return page, nil, err
	}
	all, err = base.Collect(c.Ctx, c.Tx, scan(page, c.Now), `select `+columns+` from belfry.announcements a where a.page_id = $1 order by a.id desc`, page.ID)
	return page, all, err
}

func named(page string, id int64) string { return fmt.Sprintf("%s/%d", page, id) }

// CreateAnnouncement creates an announcement on a status page.
func (s *Store) CreateAnnouncement(ctx context.Context, a public.Announcement) (out public.Announcement, err error) {
	a = a.WithDefaults()
	a.By = access.ActorOf(ctx)
	err = s.Write(ctx, "create announcement", func(c *base.Change) error {
		page, all, err := lockAnnouncements(c, a.Namespace, a.Page)
		if err != nil {
			return err
		}
		existing, old, err := public.Announce(a, all, c.Now)
		if err != nil {
			return err
		}
		if existing != nil {
			out = *existing
			return nil
		}
		if len(old) > 0 {
			if _, err := c.Tx.Exec(ctx, `delete from belfry.announcements where `+c.SQL.In("id", 1), c.SQL.List(old)); err != nil {
				return err
			}
		}
		out = a
		out.Generation, out.CreatedAt, out.UpdatedAt, out.State = 1, c.Now, c.Now, a.StateAt(c.Now)
		if out.ID, _, err = base.First(ctx, c.Tx, base.ScanInt, `
			insert into belfry.announcements (page_id, generation, actor, created_at, updated_at, until_at, doc)
			values ($1, 1, $2, $3, $3, $4, $5)
			returning id`, page.ID, a.By, base.Micros(c.Now), base.Micros(a.Until), written(a)); err != nil {
			return err
		}
		if err := s.subscribers.In(c).Announced(page, out); err != nil {
			return err
		}
		return c.Audit("create", "announcement", page.Namespace, named(page.Name, out.ID), out.Title, nil, out)
	})
	return out, err
}

// UpdateAnnouncement changes the text, level and times of an announcement.
func (s *Store) UpdateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error) {
	a = a.WithDefaults()
	return s.edit(ctx, "update", a.Namespace, a.Page, a.ID, func(old public.Announcement, _ time.Time) public.Announcement {
		old.Title, old.Text, old.Level, old.From, old.Until = a.Title, a.Text, a.Level, a.From, a.Until
		return old
	})
}

// EndAnnouncement ends an announcement now. An announcement that is over stays as it is.
func (s *Store) EndAnnouncement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error) {
	return s.edit(ctx, "end", namespace, page, id, public.Announcement.Ended)
}

func (s *Store) edit(ctx context.Context, action, namespace, name string, id int64, change func(public.Announcement, time.Time) public.Announcement) (out public.Announcement, err error) {
	err = s.Write(ctx, action+" announcement", func(c *base.Change) error {
		page, all, err := lockAnnouncements(c, namespace, name)
		if err != nil {
			return err
		}
		var old *public.Announcement
		for i := range all {
			if all[i].ID == id {
				old = &all[i]
			}
		}
		if old == nil {
			return absent(page.Name, id)
		}
		out = change(*old, c.Now)
		if written(out) == written(*old) && out.Until.Equal(old.Until) {
			return nil
		}
		if err := c.Expect("announcement", named(page.Name, id), old.Version(), old.UpdatedAt); err != nil {
			return err
		}
		if err := public.Change(out, all, c.Now); action == "update" && err != nil {
			return err
		}
		out.Generation, out.UpdatedAt, out.State = old.Generation+1, c.Now, out.StateAt(c.Now)
		if _, err := c.Tx.Exec(ctx, `
			update belfry.announcements
			set generation = $2, updated_at = $3, until_at = $4, doc = $5
			where id = $1`, id, out.Generation, base.Micros(c.Now), base.Micros(out.Until), written(out)); err != nil {
			return err
		}
		return c.Audit(action, "announcement", page.Namespace, named(page.Name, id), out.Title, *old, out)
	})
	return out, err
}
