package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

const calendarColumns = `id, namespace, name, generation, doc, created_at, updated_at`

func scanCalendar(rows Rows) (c schedule.Calendar, err error) {
	var id, generation int64
	var namespace, name string
	var created, updated int64
	err = rows.Scan(&id, &namespace, &name, &generation, scanDoc(&c), &created, &updated)
	c.ID, c.Namespace, c.Name, c.Generation = id, namespace, name, generation
	c.CreatedAt, c.UpdatedAt = instant(created), instant(updated)
	return c, err
}

// calendarDoc is the calendar as written, without what the store adds.
func calendarDoc(c schedule.Calendar) string {
	c.ID, c.Generation = 0, 0
	c.CreatedAt, c.UpdatedAt = instant(0), instant(0)
	return text(c)
}

func noCalendar(namespace, name string) error {
	return core.Errorf(core.NotFound, "no calendar %q in namespace %q", name, namespace).
		WithHint("see: belfry calendar list")
}

func readCalendar(ctx context.Context, tx Tx, namespace, name, lock string) (schedule.Calendar, error) {
	c, found, err := first(ctx, tx, scanCalendar, `
		select `+calendarColumns+`
		from belfry.calendars
		where namespace = $1 and name = $2`+lock, namespace, name)
	if err == nil && !found {
		err = noCalendar(namespace, name)
	}
	return c, err
}

// SaveCalendar creates or replaces a calendar. Its schedules follow it from
// their next run on.
func (s *Store) SaveCalendar(ctx context.Context, cal schedule.Calendar) (schedule.Calendar, error) {
	cal = cal.WithDefaults()
	err := s.write(ctx, "save calendar", func(c *change) (err error) {
		if err := cal.Validate(); err != nil {
			return err
		}
		cal, _, err = c.saveCalendar(cal)
		return err
	})
	return cal, err
}

// saveCalendar writes a calendar that is valid, and answers the one before.
func (c *change) saveCalendar(cal schedule.Calendar) (saved, old schedule.Calendar, err error) {
	old, err = readCalendar(c.ctx, c.tx, cal.Namespace, cal.Name, c.sql.ForUpdate("calendars"))
	if missing := core.CodeOf(err) == core.NotFound; missing || err == nil && calendarDoc(old) != calendarDoc(cal) {
		if err := c.expect("calendar", cal.Name, old.Version(), old.UpdatedAt); err != nil {
			return cal, old, err
		}
	}
	switch {
	case core.CodeOf(err) == core.NotFound:
		saved, err = c.insertCalendar(cal)
		return saved, schedule.Calendar{}, err
	case err != nil:
		return cal, old, err
	case calendarDoc(old) == calendarDoc(cal):
		return old, old, nil
	}
	cal.ID, cal.Generation, cal.CreatedAt, cal.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.now
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.calendars
		set generation = $2, doc = $3, updated_at = $4
		where id = $1`, cal.ID, cal.Generation, calendarDoc(cal), micros(c.now)); err != nil {
		return cal, old, err
	}
	if err := c.s.scheduleHooks.CalendarSaved(c, cal); err != nil {
		return cal, old, err
	}
	return cal, old, c.audit("update", "calendar", cal.Namespace, cal.Name, "", old, cal)
}

func (c *change) insertCalendar(cal schedule.Calendar) (schedule.Calendar, error) {
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return cal, err
	}
	cal.ID, cal.Generation, cal.CreatedAt, cal.UpdatedAt = ids[0], 1, c.now, c.now
	n, err := c.tx.Exec(c.ctx, `
		insert into belfry.calendars (id, namespace, name, generation, doc, created_at, updated_at)
		values ($1, $2, $3, 1, $4, $5, $5)
		on conflict (namespace, name) do nothing`, cal.ID, cal.Namespace, cal.Name, calendarDoc(cal), micros(c.now))
	if err != nil {
		return cal, err
	}
	if n == 0 {
		return cal, core.Errorf(core.Unavailable, "another client creates calendar %q at this moment", cal.Name).WithHint("try again")
	}
	return cal, c.audit("create", "calendar", cal.Namespace, cal.Name, "", nil, cal)
}

// DeleteCalendar removes a calendar that nothing refers to.
func (s *Store) DeleteCalendar(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete calendar", func(c *change) error {
		cal, err := readCalendar(ctx, c.tx, namespace, name, c.sql.ForUpdate("calendars"))
		if err == nil {
			err = c.expect("calendar", name, cal.Version(), cal.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.deleteCalendar(cal)
	})
}

func (c *change) deleteCalendar(cal schedule.Calendar) error {
	if err := lockCalendars(c, cal.Namespace, cal.Name); err != nil { // a schedule that is being saved is waited for
		return err
	}
	// Calendars are few and deleted rarely; a look at the schedules of the
	// namespace that name any calendar is cheap enough.
	users, err := collect(c.ctx, c.tx, scanSchedule, `
		select `+scheduleColumns+`
		from belfry.schedules s
		where s.namespace = $1 and s.doc like $2
		order by s.name`, cal.Namespace, `%"`+cal.Name+`"%`)
	if err != nil {
		return err
	}
	for _, u := range users {
		if slices.Contains(u.Calendars(), cal.Name) {
			return core.Errorf(core.Conflict, "schedule %q refers to calendar %q", u.Name, cal.Name).WithHint("edit the schedule first")
		}
	}
	if err := c.s.scheduleHooks.CalendarFree(c, cal); err != nil {
		return err
	}
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.calendars where id = $1`, cal.ID); err != nil {
		return err
	}
	return c.audit("delete", "calendar", cal.Namespace, cal.Name, "", cal, nil)
}

// lockCalendars keeps calendars from being deleted, and waits for those that
// are, until this transaction ends.
func lockCalendars(c *change, namespace string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := collect(c.ctx, c.tx, scanInt, `
		select id
		from belfry.calendars
		where namespace = $1 and `+c.sql.In("name", 2)+`
		order by id`+c.sql.ForUpdate("calendars"), namespace, c.sql.List(names))
	return err
}

// Calendar is one calendar.
func (s *Store) Calendar(ctx context.Context, namespace, name string) (c schedule.Calendar, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		c, err = readCalendar(ctx, tx, namespace, name, "")
		return err
	})
	return c, err
}

// Calendars lists calendars by namespace and name.
func (s *Store) Calendars(ctx context.Context, f schedule.CalendarFilter) (p core.Page[schedule.Calendar], err error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, scanCalendar, `
			select `+calendarColumns+`
			from belfry.calendars
			where `+w.sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.args...)
		p = page(all, limit, func(c schedule.Calendar) string { return encodeCursor(c.Namespace, c.Name) })
		return err
	})
	return p, err
}

// planOf compiles a schedule with its calendars. Schedules without any, which
// are most, cost no query.
func (s *Store) planOf(ctx context.Context, tx Tx, sc schedule.Schedule) (schedule.Plan, error) {
	if len(sc.Blackout)+len(sc.Within) == 0 {
		return s.plans.of(sc, nil)
	}
	cals, err := collect(ctx, tx, scanCalendar, `
		select `+calendarColumns+`
		from belfry.calendars
		where namespace = $1 and `+s.sql.In("name", 2)+`
		order by id`, sc.Namespace, s.sql.List(sc.Calendars()))
	if err != nil {
		return schedule.Plan{}, fmt.Errorf("read calendars: %w", err)
	}
	return s.plans.of(sc, cals)
}
