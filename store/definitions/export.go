package definitions

import (
	"context"
	"math"
	"strconv"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/documents"
	"github.com/belfry-run/belfry/store/hooks"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// MaxPart is about how many bytes of definitions one part of an export has. A part has at least one definition.
const MaxPart = 512 << 10

// Export returns everything of a namespace that a manifest can hold, and all queues, as of one instant. An export above the
// limit of a manifest is rejected before it is read.
func (s *Store) Export(ctx context.Context, namespace string) (m view.Manifest, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		m, err = s.exporter(namespace).next(ctx, tx, math.MaxInt)
		return err
	})
	return m, err
}

// ExportParts is Export in parts, in the order of the fields of a manifest. Each call of the returned function reads one part,
// and more reports whether there are further ones. Together they are the manifest of one instant: if a definition changes
// between two parts, the next call fails with [core.Conflict]. The first part has about first bytes; 0: [MaxPart].
func (s *Store) ExportParts(namespace string, first int) func(ctx context.Context) (part view.Manifest, more bool, err error) {
	e := s.exporter(namespace)
	room := core.Or(first, MaxPart)
	return func(ctx context.Context) (part view.Manifest, more bool, err error) {
		var after *exporter
		err = s.DB().Read(ctx, func(tx base.Tx) error {
			again := *e // a read may be repeated
			after = &again
			part, err = after.next(ctx, tx, room)
			return err
		})
		if err != nil {
			return view.Manifest{}, false, err
		}
		e, room = after, MaxPart
		return part, e.list < len(exported), nil
	}
}

// exporter is the place of an export.
type exporter struct {
	s         *Store
	namespace string
	begun     bool
	mark      editMark
	list      int      // in exported
	after     []string // namespace and name of the last definition of the list that was read; nil: none
}

func (s *Store) exporter(namespace string) *exporter {
	return &exporter{s: s, namespace: core.Or(namespace, core.DefaultNamespace)}
}

// exported are the lists of a manifest that have pages, in the order of its fields.
var exported = []func(r *exporting, m *view.Manifest) error{
	(*exporting).calendars, (*exporting).tasks, (*exporting).schedules,
	func(r *exporting, m *view.Manifest) (err error) {
		m.Channels, err = exportDocs(r, alerts.Channels)
		return err
	},
	func(r *exporting, m *view.Manifest) (err error) {
		m.AlertRules, err = exportDocs(r, alerts.AlertRules)
		return err
	},
	func(r *exporting, m *view.Manifest) (err error) { m.Hooks, err = exportDocs(r, hooks.Docs); return err },
	(*exporting).monitors,
	func(r *exporting, m *view.Manifest) (err error) {
		m.Windows, err = exportDocs(r, monitors.Windows)
		return err
	},
	func(r *exporting, m *view.Manifest) (err error) {
		m.StatusPages, err = exportDocs(r, monitors.StatusPages)
		return err
	},
}

// exporting is one read of an export.
type exporting struct {
	*exporter
	ctx  context.Context //nolint:containedctx // of one read
	tx   base.Tx
	room int // bytes
	full bool
}

// next reads the next part, of about room bytes.
func (e *exporter) next(ctx context.Context, tx base.Tx, room int) (m view.Manifest, err error) {
	r := &exporting{exporter: e, ctx: ctx, tx: tx, room: room}
	if err := r.begin(&m); err != nil {
		return m, err
	}
	for e.list < len(exported) && !r.full {
		if err := exported[e.list](r, &m); err != nil {
			return m, err
		}
		if !r.full {
			e.list, e.after = e.list+1, nil
		}
	}
	return m, nil
}

// begin reads the queues and checks the size at the first read, and compares the definitions with those of the first read later.
func (r *exporting) begin(m *view.Manifest) (err error) {
	if r.begun {
		now, err := r.mark.again(r.ctx, r.tx, r.namespace)
		if err == nil && now != r.mark {
			err = core.Errorf(core.Conflict, "definitions changed while they were exported").WithHint("export again")
		}
		return err
	}
	r.begun = true
	if err := r.countable(); err != nil {
		return err
	}
	if r.mark, err = markEdits(r.ctx, r.tx, r.namespace); err != nil {
		return err
	}
	m.Queues, err = base.Collect(r.ctx, r.tx, func(rows base.Rows) (job.Queue, error) {
		q, err := queues.ScanQueue(rows)
		q.PausedAt, q.PausedBy, q.PausedReason, q.CreatedAt, q.UpdatedAt, q.TurnBase = base.Instant(0), "", "", base.Instant(0), base.Instant(0), 0
		return q, err
	}, `select `+queues.QueueColumns+` from belfry.queues order by name`)
	return err
}

// countable rejects more definitions than a manifest can hold.
func (r *exporting) countable() error {
	w := &base.Where{}
	w.Namespace("namespace", r.namespace)
	for _, table := range []string{"tasks", "schedules", "monitors"} {
		_, more, err := base.First(r.ctx, r.tx, base.ScanInt, `select 1 from `+base.Home+table+` where `+w.Sql()+` order by namespace, name limit 1 offset `+strconv.Itoa(view.MaxManifest), w.Args...)
		if err != nil {
			return err
		}
		if more {
			return core.Errorf(core.TooLarge, "there are more than %d %s, and a file holds no more", view.MaxManifest, table).
				WithHint("export one namespace, or read the list page by page")
		}
	}
	return nil
}

func (r *exporting) calendars(m *view.Manifest) (err error) {
	m.Calendars, err = collect(r, &base.Where{}, schedules.ScanCalendar, schedules.CalendarColumns, "calendars",
		func(c schedule.Calendar) (string, string) { return c.Namespace, c.Name })
	for i := range m.Calendars {
		c := &m.Calendars[i]
		c.ID, c.Generation, c.CreatedAt, c.UpdatedAt = 0, 0, base.Instant(0), base.Instant(0)
	}
	return err
}

func (r *exporting) tasks(m *view.Manifest) error {
	all, err := collect(r, &base.Where{}, r.s.tasks.ScanTask, tasks.TaskColumns, "tasks",
		func(t task.Task) (string, string) { return t.Namespace, t.Name })
	for _, t := range all {
		if _, owned := task.OwnerOf(t.Name); owned || base.Ours(t.Name) {
			continue
		}
		t.ID, t.Generation, t.CreatedAt, t.UpdatedAt = 0, 0, base.Instant(0), base.Instant(0)
		m.Tasks = append(m.Tasks, t.Redacted())
	}
	return err
}

func (r *exporting) schedules(m *view.Manifest) error {
	all, err := collect(r, &base.Where{}, schedules.ScanSchedule, schedules.ScheduleColumns, "schedules s",
		func(s schedules.ScheduleRow) (string, string) { return s.Namespace, s.Name })
	for _, s := range all {
		if _, owned := task.OwnerOf(s.Name); !owned {
			m.Schedules = append(m.Schedules, asWritten(s.Schedule))
		}
	}
	return err
}

// monitors exports secrets as [core.Redacted], as the other lists do: applied to the same database, they stay unchanged.
func (r *exporting) monitors(m *view.Manifest) error {
	all, err := collect(r, &base.Where{}, r.s.monitors.ScanMonitor, monitors.MonitorColumns, "monitors m",
		func(m monitors.MonitorRow) (string, string) { return m.Namespace, m.Name })
	for _, row := range all {
		m.Monitors = append(m.Monitors, monitors.WrittenMonitor(row.Redacted()))
	}
	return err
}

func exportDocs[T documents.Document](r *exporting, k documents.Kind[T]) ([]T, error) {
	w := &base.Where{}
	w.And("noun = ?", k.Noun)
	all, err := collect(r, w, k.Scan, documents.Columns, "documents", func(d T) (string, string) {
		h := k.Head(&d)
		return *h.Namespace, *h.Name
	})
	for i := range all {
		all[i] = k.Written(k.Shown(all[i]))
	}
	return all, err
}

// Rows of the first and of any further query of a list. A query has a limit, since a driver may read an answer to its end, and
// the first rows say how large the others may be.
const (
	firstRows = 16
	mostRows  = 1000
)

// collect reads the next definitions of a list, as far as there is room.
func collect[T any](r *exporting, w *base.Where, scan func(base.Rows) (T, error), columns, from string, named func(T) (namespace, name string)) (all []T, err error) {
	w.Namespace("namespace", r.namespace)
	for limit, had := firstRows, r.room; ; {
		if r.full = r.room <= 0; r.full {
			return all, nil
		}
		page := w.Clone()
		page.Pair(r.namespace, "name", ">", r.after)
		some, more, err := base.CollectSome(r.ctx, r.tx, limit, &r.room, scan, `
			select `+columns+`
			from belfry.`+from+`
			where `+page.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), page.Args...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if !more {
			return all, nil
		}
		namespace, name := named(some[len(some)-1])
		r.after = []string{namespace, name}
		each := max(1, (had-r.room)/len(all))
		limit = min(mostRows, max(1, r.room/each))
	}
}

// editMark tells whether a definition has been edited: by the number of audit rows of edits since an earlier one.
type editMark struct{ since, edits int64 }

// markWindow is how many audit rows a mark looks back. A transaction may commit after others that began to write later.
const markWindow = 1000

func markEdits(ctx context.Context, tx base.Tx, namespace string) (editMark, error) {
	last, _, err := base.First(ctx, tx, base.ScanInt, `select coalesce(max(seq), 0) from belfry.audit`)
	if err != nil {
		return editMark{}, err
	}
	return editMark{since: last - markWindow}.again(ctx, tx, namespace)
}

// again returns the present mark. It is equal to k if nothing was edited since.
func (k editMark) again(ctx context.Context, tx base.Tx, namespace string) (_ editMark, err error) {
	w := &base.Where{}
	w.And("seq > ?", k.since)
	if namespace != core.AnyNamespace {
		w.And("namespace in ('', ?)", namespace)
	}
	k.edits, _, err = base.First(ctx, tx, base.ScanInt, `
		select count(*)
		from belfry.audit
		where `+w.Sql()+` and action in ('create', 'update', 'delete')
			and noun in ('queue', 'calendar', 'task', 'schedule', 'channel', 'alert_rule', 'hook', 'monitor', 'window', 'status_page')`, w.Args...)
	return k, err
}
