package schedules

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/titles"
)

// CalendarColumns are the columns that [ScanCalendar] reads, in its order.
const CalendarColumns = `id, namespace, name, generation, doc, created_at, updated_at`

// ScanCalendar reads one row of [CalendarColumns].
func ScanCalendar(rows base.Rows) (c schedule.Calendar, err error) {
	var id, generation int64
	var namespace, name string
	var created, updated int64
	err = rows.Scan(&id, &namespace, &name, &generation, base.ScanDoc(&c), &created, &updated)
	c.ID, c.Namespace, c.Name, c.Generation = id, namespace, name, generation
	c.CreatedAt, c.UpdatedAt = base.Instant(created), base.Instant(updated)
	return c, err
}

// calendarDoc returns the calendar as written, without the fields that the store sets.
func calendarDoc(c schedule.Calendar) string {
	c.ID, c.Generation = 0, 0
	c.CreatedAt, c.UpdatedAt = base.Instant(0), base.Instant(0)
	return base.Text(c)
}

func noCalendar(namespace, name string) error {
	return core.Errorf(core.NotFound, "no calendar %q in namespace %q", name, namespace).
		WithHint("see: belfry calendar list")
}

// ReadCalendar reads a calendar. lock is the suffix that locks the row, or "". A missing calendar fails with [core.NotFound].
func ReadCalendar(ctx context.Context, tx base.Tx, namespace, name, lock string) (schedule.Calendar, error) {
	c, found, err := base.First(ctx, tx, ScanCalendar, `
		select `+CalendarColumns+`
		from belfry.calendars
		where namespace = $1 and name = $2`+lock, namespace, name)
	if err == nil && !found {
		err = noCalendar(namespace, name)
	}
	return c, err
}

// SaveCalendar creates or replaces a calendar. Its schedules follow it from their next run on.
func (s *Store) SaveCalendar(ctx context.Context, cal schedule.Calendar) (schedule.Calendar, error) {
	cal = cal.WithDefaults()
	err := s.write(ctx, "save calendar", func(c *Change) (err error) {
		if err := cal.Validate(); err != nil {
			return err
		}
		cal, _, err = c.SaveCalendar(cal)
		return err
	})
	return cal, err
}

// SaveCalendar writes a valid calendar and returns the previous one.
func (c *Change) SaveCalendar(cal schedule.Calendar) (saved, old schedule.Calendar, err error) {
	old, err = ReadCalendar(c.Ctx, c.Tx, cal.Namespace, cal.Name, c.SQL.ForUpdate("calendars"))
	if missing := core.CodeOf(err) == core.NotFound; missing || err == nil && calendarDoc(old) != calendarDoc(cal) {
		if err := c.Expect("calendar", cal.Name, old.Version(), old.UpdatedAt); err != nil {
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
	cal.ID, cal.Generation, cal.CreatedAt, cal.UpdatedAt = old.ID, old.Generation+1, old.CreatedAt, c.Now
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.calendars
		set generation = $2, doc = $3, updated_at = $4, title = $5, sought = $6
		where id = $1`, cal.ID, cal.Generation, calendarDoc(cal), base.Micros(c.Now), cal.Title, title.Fold(cal.Title)); err != nil {
		return cal, old, err
	}
	if err := c.s.Hooks.CalendarSaved(c, cal); err != nil {
		return cal, old, err
	}
	return cal, old, c.Audit("update", "calendar", cal.Namespace, cal.Name, "", old, cal)
}

func (c *Change) insertCalendar(cal schedule.Calendar) (schedule.Calendar, error) {
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return cal, err
	}
	cal.ID, cal.Generation, cal.CreatedAt, cal.UpdatedAt = ids[0], 1, c.Now, c.Now
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.calendars (id, namespace, name, generation, doc, created_at, updated_at, title, sought)
		values ($1, $2, $3, 1, $4, $5, $5, $6, $7)
		on conflict (namespace, name) do nothing`, cal.ID, cal.Namespace, cal.Name, calendarDoc(cal), base.Micros(c.Now), cal.Title, title.Fold(cal.Title))
	if err != nil {
		return cal, err
	}
	if n == 0 {
		return cal, core.Errorf(core.Unavailable, "another client creates calendar %q at this moment", cal.Name).WithHint("try again")
	}
	return cal, c.Audit("create", "calendar", cal.Namespace, cal.Name, "", nil, cal)
}

// DeleteCalendar removes a calendar that is not referenced.
func (s *Store) DeleteCalendar(ctx context.Context, namespace, name string) error {
	return s.write(ctx, "delete calendar", func(c *Change) error {
		cal, err := ReadCalendar(ctx, c.Tx, namespace, name, c.SQL.ForUpdate("calendars"))
		if err == nil {
			err = c.Expect("calendar", name, cal.Version(), cal.UpdatedAt)
		}
		if err != nil {
			return err
		}
		return c.DeleteCalendar(cal)
	})
}

// DeleteCalendar deletes a calendar. A calendar that a schedule names fails with [core.Conflict].
func (c *Change) DeleteCalendar(cal schedule.Calendar) error {
	if err := LockCalendars(c.Change, cal.Namespace, cal.Name); err != nil { // waits for a schedule that is being saved
		return err
	}
	// Calendars are few and rarely deleted, so reading all schedules of the namespace that name a calendar is cheap enough.
	users, err := base.Collect(c.Ctx, c.Tx, ScanSchedule, `
		select `+ScheduleColumns+`
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
	if err := c.s.Hooks.CalendarFree(c, cal); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.calendars where id = $1`, cal.ID); err != nil {
		return err
	}
	return c.Audit("delete", "calendar", cal.Namespace, cal.Name, "", cal, nil)
}

// LockCalendars prevents the deletion of calendars until this transaction ends, and waits for deletions in progress.
func LockCalendars(c *base.Change, namespace string, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.calendars
		where namespace = $1 and `+c.SQL.In("name", 2)+`
		order by id`+c.SQL.ForUpdate("calendars"), namespace, c.SQL.List(names))
	return err
}

// Calendar returns one calendar.
func (s *Store) Calendar(ctx context.Context, namespace, name string) (c schedule.Calendar, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		c, err = ReadCalendar(ctx, tx, namespace, name, "")
		return err
	})
	return c, err
}

// Calendars lists calendars by namespace and name.
func (s *Store) Calendars(ctx context.Context, f schedule.CalendarFilter) (p core.Page[schedule.Calendar], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	if f.Part != "" {
		w.And(titles.Part(f.Part))
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, err = base.CollectPage(ctx, tx, limit, ScanCalendar, func(c schedule.Calendar) string { return base.EncodeCursor(c.Namespace, c.Name) }, `
			select `+CalendarColumns+`
			from belfry.calendars
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		return err
	})
	return p, err
}

// PlanOf compiles a schedule with its calendars. Most schedules have no calendars and need no query.
func (s *Store) PlanOf(ctx context.Context, tx base.Tx, sc schedule.Schedule) (schedule.Plan, error) {
	if len(sc.Blackout)+len(sc.Within) == 0 {
		return s.plans.of(sc, nil)
	}
	cals, err := base.Collect(ctx, tx, ScanCalendar, `
		select `+CalendarColumns+`
		from belfry.calendars
		where namespace = $1 and `+s.SQL.In("name", 2)+`
		order by id`, sc.Namespace, s.SQL.List(sc.Calendars()))
	if err != nil {
		return schedule.Plan{}, fmt.Errorf("read calendars: %w", err)
	}
	return s.plans.of(sc, cals)
}
