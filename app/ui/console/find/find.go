package find

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type findAPI interface {
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	Schedule(ctx context.Context, namespace, name string) (schedule.Schedule, error)
	Schedules(ctx context.Context, f schedule.Filter) (core.Page[schedule.Schedule], error)
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	Queues(ctx context.Context) ([]job.QueueStats, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	Calendar(ctx context.Context, namespace, name string) (schedule.Calendar, error)
	Calendars(ctx context.Context, f schedule.CalendarFilter) (core.Page[schedule.Calendar], error)
	Channel(ctx context.Context, namespace, name string) (alert.Channel, error)
	Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error)
	AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error)
	AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error)
	Hook(ctx context.Context, namespace, name string) (hook.Hook, error)
	ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error)
	Window(ctx context.Context, namespace, name string) (monitor.Window, error)
	Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error)
	StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error)
}

var findRoutes = routes{"GET /find": find}

// Bounds of a search.
const (
	mostText = job.MaxJobQuery
	mostName = title.Max   // bytes of a name or title
	perKind  = 6           // things of a kind
	within   = time.Second // for all reads; the answer names those that took longer
)

// hit is something that was found: it opens a page, or is an action.
type hit struct {
	Icon, Name, Note string
	Title            string // before the name, if there is one
	Link             string // the page, or of an action that asks first the form that does
	Post             string // where the form of an action goes
	Task             string // a field of that form
	Asks             string // the question of the palette before it is sent
}

type group struct {
	Name string
	Hits []hit
}

type findData struct {
	Text    string
	Groups  []group
	Partial bool   // not everything was searched
	Fault   string // of a search for jobs
}

// Count is how many were found.
func (d findData) Count() (n int) {
	for _, g := range d.Groups {
		n += len(g.Hits)
	}
	return n
}

func (d *findData) add(name string, hits []hit) {
	if len(hits) > 0 {
		d.Groups = append(d.Groups, group{name, hits})
	}
}

// things are the objects that a search finds by name or title.
type things struct {
	tasks     []task.Task
	schedules []schedule.Schedule
	monitors  []view.MonitorView
	queues    []job.QueueStats
	jobs      []job.Job
	calendars []schedule.Calendar
	channels  []alert.Channel
	rules     []alert.Rule
	hooks     []hook.Hook
	windows   []monitor.Window
	pages     []public.StatusPage
}

// find answers a search: first pages, then objects by a part of their name or
// title, actions on these objects, and jobs.
func find(p *page) error {
	text, _ := core.CleanText(strings.TrimSpace(p.Query("q")), mostText)
	d := findData{Text: text}
	verb, name := p.verbOf(text)
	filter, faults := p.jobFilter(text)
	if faults != "" {
		d.Fault = faults
	}
	var t things
	ctx, cancel := context.WithTimeout(p.R.Context(), within)
	defer cancel()
	reads := p.reads(ctx, &t, name, filter)
	errs := make([]error, len(reads))
	for i, read := range reads {
		reads[i] = func() error { errs[i] = read(); return nil }
	}
	_ = frame.Together(reads...) // each keeps its own error
	for _, err := range errs {
		switch {
		case err == nil, core.CodeOf(err) == core.NotFound, core.CodeOf(err) == core.Invalid:
		case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
			d.Partial = true
		default:
			return err
		}
	}
	if err := p.R.Context().Err(); err != nil {
		return err
	}
	if verb == "" {
		d.add("Jobs", p.jobHits(t.jobs, filter, text))
		d.add("Pages", p.pageHits(text))
		d.add("Tasks", p.taskHits(t.tasks))
		d.add("Schedules", p.scheduleHits(t.schedules))
		d.add("Monitors", p.monitorHits(t.monitors))
		d.add("Queues", p.queueHits(t.queues))
		d.add("Calendars", p.calendarHits(t.calendars))
		d.add("Channels", p.channelHits(t.channels))
		d.add("Alert rules", p.ruleHits(t.rules))
		d.add("Hooks", p.hookHits(t.hooks))
		d.add("Maintenance", p.windowHits(t.windows))
		d.add("Status pages", p.statusPageHits(t.pages))
	}
	d.add("Actions", p.actionHits(t, verb))
	return p.Show("find", d)
}

// verbs are the first words of actions.
var verbs = []string{"run", "pause", "resume", "check"}

// verbOf splits a search such as "pause backup" into action and name, if the
// person may do the action.
func (p *page) verbOf(text string) (verb, name string) {
	first, rest, found := strings.Cut(text, " ")
	if found && p.Can("operate") && slices.Contains(verbs, strings.ToLower(first)) {
		return strings.ToLower(first), strings.TrimSpace(rest)
	}
	return "", text
}

// jobFilter reads a search for jobs, such as state:failed, or the number of one.
func (p *page) jobFilter(text string) (f *job.Filter, fault string) {
	if rest, found := strings.CutPrefix(strings.ToLower(text), "job "); found {
		text = rest
	}
	text = strings.TrimPrefix(text, "#")
	if text == "" || !strings.ContainsAny(text, ":<>") && strings.Trim(text, "0123456789") != "" {
		return nil, ""
	}
	found, err := job.ParseJobFilter(text, p.Now.UTC())
	if err != nil {
		return nil, faultOf(err)
	}
	found.Namespace, found.Paging = p.Namespace, core.Paging{Limit: perKind}
	return &found, ""
}

// reads are the reads of a search, each with a limit.
func (p *page) reads(ctx context.Context, t *things, name string, f *job.Filter) (all []func() error) {
	if f != nil {
		all = append(all, func() error {
			found, err := p.api.Jobs(ctx, *f)
			t.jobs = found.Items
			return err
		})
	}
	if name == "" || len(name) > mostName || f != nil && strings.Contains(name, ":") {
		return all
	}
	exact := p.Namespace != core.AnyNamespace && core.NameRule.MatchString(name)
	page := core.Paging{Limit: perKind}
	return append(all,
		func() error {
			found, err := p.api.Tasks(ctx, task.Filter{Paging: page, Namespace: p.Namespace, Part: name})
			t.tasks = found.Items
			if one, oneErr := p.api.Task(ctx, p.Namespace, name); exact && oneErr == nil {
				t.tasks = first(one, t.tasks, func(o task.Task) bool { return o.Name == name })
			}
			return err
		},
		func() error {
			found, err := p.api.Schedules(ctx, schedule.Filter{Paging: page, Namespace: p.Namespace, Part: name})
			t.schedules = found.Items
			if one, oneErr := p.api.Schedule(ctx, p.Namespace, name); exact && oneErr == nil {
				t.schedules = first(one, t.schedules, func(o schedule.Schedule) bool { return o.Name == name })
			}
			return err
		},
		func() error {
			found, err := p.api.Monitors(ctx, view.MonitorFilter{Paging: page, Namespace: p.Namespace, Search: name})
			t.monitors = found.Items
			if one, oneErr := p.api.Monitor(ctx, p.Namespace, name); exact && oneErr == nil {
				t.monitors = first(one, t.monitors, func(o view.MonitorView) bool { return o.Name == name })
			}
			return err
		},
		func() error {
			all, err := p.api.Queues(ctx)
			for _, q := range all {
				if strings.Contains(title.Fold(q.Name+"\n"+q.Title), title.Fold(name)) && len(t.queues) < perKind {
					t.queues = append(t.queues, q)
				}
			}
			return err
		},
		named(ctx, p, exact, name, &t.calendars, p.api.Calendar, func(ctx context.Context, f view.DocumentFilter) (core.Page[schedule.Calendar], error) {
			return p.api.Calendars(ctx, schedule.CalendarFilter(f))
		}, func(c schedule.Calendar) string { return c.Name }),
		named(ctx, p, exact, name, &t.channels, p.api.Channel, p.api.Channels, func(c alert.Channel) string { return c.Name }),
		named(ctx, p, exact, name, &t.rules, p.api.AlertRule, p.api.AlertRules, func(r alert.Rule) string { return r.Name }),
		named(ctx, p, exact, name, &t.hooks, p.api.Hook, p.api.ListHooks, func(h hook.Hook) string { return h.Name }),
		named(ctx, p, exact, name, &t.windows, p.api.Window, p.api.Windows, func(w monitor.Window) string { return w.Name }),
		named(ctx, p, exact, name, &t.pages, p.api.StatusPage, p.api.StatusPages, func(s public.StatusPage) string { return s.Name }),
	)
}

// named is a read of the definitions of a noun whose name or title has a text. The one with exactly the name is first.
func named[T any](ctx context.Context, p *page, exact bool, name string, to *[]T, one func(ctx context.Context, namespace, name string) (T, error),
	list func(context.Context, view.DocumentFilter) (core.Page[T], error), nameOf func(T) string,
) func() error {
	return func() error {
		found, err := list(ctx, view.DocumentFilter{Paging: core.Paging{Limit: perKind}, Namespace: p.Namespace, Part: name})
		*to = found.Items
		if exact && found.Next != "" {
			if same, oneErr := one(ctx, p.Namespace, name); oneErr == nil {
				*to = first(same, *to, func(o T) bool { return nameOf(o) == name })
			}
		}
		return err
	}
}

// first puts the object with exactly the name before the others.
func first[T any](one T, all []T, same func(T) bool) []T {
	return append([]T{one}, slices.DeleteFunc(all, same)...)
}
