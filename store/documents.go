package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// document is a definition that is kept as a whole: a channel, an alert rule, a
// window of maintenance, a status page.
type document interface {
	alert.Channel | alert.Rule | monitor.Window | monitor.StatusPage
}

// kind of document: what the store has to know about a type of them.
type docKind[T document] struct {
	noun     string // in the table, the audit and texts
	list     string // the command that lists them
	head     func(*T) head
	defaults func(T) T
	validate func(T, time.Time) error
	// keep puts back the secrets of the old one where the new one has none of
	// its own.
	keep func(fresh, old T) T
	// sealed is the document as it lies in the database, and opened undoes that.
	// Both are nil where there is no secret.
	sealed func(*Store, T) (T, error)
	opened func(*Store, T) T
	// shown is the document as the audit may show it.
	shown func(T) T
	// check refuses one that names what is not there, free one that others name.
	// Either may be nil.
	check, free func(c *change, d T) error
	// touch has looked at again what a change of one in a namespace may concern.
	// It may be nil.
	touch func(c *change, namespace string) error
}

// head is where a document keeps what the store gives it.
type head struct {
	namespace, name      *string
	id, generation       *int64
	createdAt, updatedAt *time.Time
}

func same[T any](v T) T { return v }

func older[T any](fresh, _ T) T { return fresh }

var channels = docKind[alert.Channel]{
	noun: "channel", list: "belfry channel list",
	head: func(d *alert.Channel) head {
		return head{namespace: &d.Namespace, name: &d.Name, id: &d.ID, generation: &d.Generation, createdAt: &d.CreatedAt, updatedAt: &d.UpdatedAt}
	},
	defaults: alert.Channel.WithDefaults, validate: alert.Channel.Validate,
	keep: alert.Channel.KeepSecrets, shown: alert.Channel.Redacted,
	sealed: func(s *Store, d alert.Channel) (alert.Channel, error) {
		return sealIn(s, purposeOf("channel", d.Namespace, d.Name), d)
	},
	opened: func(s *Store, d alert.Channel) alert.Channel {
		d, _ = openIn(s, purposeOf("channel", d.Namespace, d.Name), d)
		return d
	},
	check: func(_ *change, d alert.Channel) error { return d.CheckSecrets() }, free: freeChannel,
}

var alertRules = docKind[alert.Rule]{
	noun: "alert_rule", list: "belfry alert rule list",
	head: func(d *alert.Rule) head {
		return head{namespace: &d.Namespace, name: &d.Name, id: &d.ID, generation: &d.Generation, createdAt: &d.CreatedAt, updatedAt: &d.UpdatedAt}
	},
	defaults: alert.Rule.WithDefaults, validate: alert.Rule.Validate,
	keep: older[alert.Rule], shown: same[alert.Rule], check: checkRule, touch: rerouteAlerts,
}

var windows = docKind[monitor.Window]{
	noun: "window", list: "belfry window list",
	head: func(d *monitor.Window) head {
		return head{namespace: &d.Namespace, name: &d.Name, id: &d.ID, generation: &d.Generation, createdAt: &d.CreatedAt, updatedAt: &d.UpdatedAt}
	},
	defaults: monitor.Window.WithDefaults, validate: monitor.Window.Validate,
	keep: older[monitor.Window], shown: same[monitor.Window], touch: wakeMonitors,
}

var statusPages = docKind[monitor.StatusPage]{
	noun: "status_page", list: "belfry status-page list",
	head: func(d *monitor.StatusPage) head {
		return head{namespace: &d.Namespace, name: &d.Name, id: &d.ID, generation: &d.Generation, createdAt: &d.CreatedAt, updatedAt: &d.UpdatedAt}
	},
	defaults: monitor.StatusPage.WithDefaults, validate: monitor.StatusPage.Validate,
	keep: older[monitor.StatusPage], shown: same[monitor.StatusPage],
}

const documentColumns = `id, namespace, name, generation, doc, created_at, updated_at`

func (k docKind[T]) scan(rows Rows) (d T, err error) {
	var id, generation, created, updated int64
	var namespace, name string
	err = rows.Scan(&id, &namespace, &name, &generation, scanDoc(&d), &created, &updated)
	h := k.head(&d)
	*h.id, *h.namespace, *h.name, *h.generation = id, namespace, name, generation
	*h.createdAt, *h.updatedAt = instant(created), instant(updated)
	return d, err
}

// written is the document without what the store adds.
func (k docKind[T]) written(d T) T {
	h := k.head(&d)
	*h.id, *h.generation = 0, 0
	*h.createdAt, *h.updatedAt = instant(0), instant(0)
	return d
}

func (k docKind[T]) read(ctx context.Context, tx Tx, namespace, name, lock string) (d T, err error) {
	d, found, err := first(ctx, tx, k.scan, `
		select `+documentColumns+`
		from belfry.documents
		where noun = $1 and namespace = $2 and name = $3`+lock, k.noun, namespace, name)
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "no %s %q in namespace %q", spoken(k.noun), name, namespace).WithHint("see: %s", k.list)
	}
	return d, err
}

// open is the document with its secrets. As it is read it has them sealed.
func (k docKind[T]) open(s *Store, d T) T {
	if k.opened == nil {
		return d
	}
	return k.opened(s, d)
}

// doc is the document as it lies in the database.
func (k docKind[T]) doc(s *Store, d T) (doc string, err error) {
	if k.sealed != nil {
		if d, err = k.sealed(s, d); err != nil {
			return "", err
		}
	}
	return text(k.written(d)), nil
}

// all reads those of a namespace, by name.
func (k docKind[T]) all(ctx context.Context, tx Tx, namespace string) ([]T, error) {
	w := &where{}
	w.and("noun = ?", k.noun)
	w.namespace("namespace", namespace)
	return collect(ctx, tx, k.scan, `
		select `+documentColumns+`
		from belfry.documents
		where `+w.sql()+`
		order by namespace, name`, w.args...)
}

// save creates or replaces one, and answers the one before.
func (k docKind[T]) save(c *change, d T) (saved, old T, err error) {
	h := k.head(&d)
	// Locked, or what is kept of it could be what another edit has just replaced.
	old, err = k.read(c.ctx, c.tx, *h.namespace, *h.name, c.sql.ForUpdate("documents"))
	isNew := core.CodeOf(err) == core.NotFound
	if err != nil && !isNew {
		return d, old, err
	}
	if !isNew {
		old = k.open(c.s, old)
		d = k.keep(d, old)
		h = k.head(&d)
	}
	if err := k.validate(d, c.now); err != nil {
		return d, old, err
	}
	if k.check != nil {
		if err := k.check(c, d); err != nil {
			return d, old, err
		}
	}
	if !isNew && text(k.written(old)) == text(k.written(d)) {
		return old, old, nil
	}
	if err := k.expect(c, *h.name, old); err != nil {
		return d, old, err
	}
	if k.touch != nil {
		if err := k.touch(c, *h.namespace); err != nil {
			return d, old, err
		}
	}
	if isNew {
		saved, err = k.insert(c, d)
		return saved, old, err
	}
	o := k.head(&old)
	*h.id, *h.generation, *h.createdAt, *h.updatedAt = *o.id, *o.generation+1, *o.createdAt, c.now
	doc, err := k.doc(c.s, d)
	if err != nil {
		return d, old, err
	}
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.documents
		set generation = $2, doc = $3, updated_at = $4
		where id = $1`, *h.id, *h.generation, doc, micros(c.now)); err != nil {
		return d, old, err
	}
	return d, old, c.audit("update", k.noun, *h.namespace, *h.name, "", k.shown(old), k.shown(d))
}

func (k docKind[T]) insert(c *change, d T) (T, error) {
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "definition", 1)
	if err != nil {
		return d, err
	}
	h := k.head(&d)
	*h.id, *h.generation, *h.createdAt, *h.updatedAt = ids[0], 1, c.now, c.now
	doc, err := k.doc(c.s, d)
	if err != nil {
		return d, err
	}
	n, err := c.tx.Exec(c.ctx, `
		insert into belfry.documents (id, noun, namespace, name, generation, doc, created_at, updated_at)
		values ($1, $2, $3, $4, 1, $5, $6, $6)
		on conflict (noun, namespace, name) do nothing`, *h.id, k.noun, *h.namespace, *h.name, doc, micros(c.now))
	if err != nil {
		return d, err
	}
	if n == 0 {
		return d, core.Errorf(core.Unavailable, "another client creates %s %q at this moment", spoken(k.noun), *h.name).WithHint("try again")
	}
	return d, c.audit("create", k.noun, *h.namespace, *h.name, "", nil, k.shown(d))
}

func (k docKind[T]) delete(c *change, d T) error {
	h := k.head(&d)
	if k.free != nil {
		// Locked before it is judged: what is being saved that names it is waited for.
		if _, err := k.read(c.ctx, c.tx, *h.namespace, *h.name, c.sql.ForUpdate("documents")); err != nil {
			return err
		}
		if err := k.free(c, d); err != nil {
			return err
		}
	}
	if k.touch != nil {
		if err := k.touch(c, *h.namespace); err != nil {
			return err
		}
	}
	if _, err := c.tx.Exec(c.ctx, `delete from belfry.documents where id = $1`, *h.id); err != nil {
		return err
	}
	return c.audit("delete", k.noun, *h.namespace, *h.name, "", k.shown(d), nil)
}

// saveDoc is a whole transition around save.
func saveDoc[T document](ctx context.Context, s *Store, k docKind[T], d T) (saved T, err error) {
	d = k.defaults(d)
	err = s.write(ctx, "save "+spoken(k.noun), func(c *change) error {
		saved, _, err = k.save(c, d)
		return err
	})
	return k.shown(saved), err
}

func deleteDoc[T document](ctx context.Context, s *Store, k docKind[T], namespace, name string) error {
	return s.write(ctx, "delete "+spoken(k.noun), func(c *change) error {
		d, err := k.read(ctx, c.tx, namespace, name, c.sql.ForUpdate("documents"))
		if err == nil {
			err = k.expect(c, name, d)
		}
		if err != nil {
			return err
		}
		return k.delete(c, d)
	})
}

func readDoc[T document](ctx context.Context, s *Store, k docKind[T], namespace, name string) (d T, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		d, err = k.read(ctx, tx, namespace, name, "")
		return err
	})
	return d, err
}

func listDocs[T document](ctx context.Context, s *Store, k docKind[T], f view.DocumentFilter) (p core.Page[T], err error) {
	w, limit, err := nameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	w.and("noun = ?", k.noun)
	err = s.db.Read(ctx, func(tx Tx) error {
		all, err := collect(ctx, tx, k.scan, `
			select `+documentColumns+`
			from belfry.documents
			where `+w.sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.args...)
		for i := range all {
			all[i] = k.shown(all[i])
		}
		p = page(all, limit, func(d T) string { h := k.head(&d); return encodeCursor(*h.namespace, *h.name) })
		return err
	})
	return p, err
}

// apply writes those of a manifest.
func (k docKind[T]) apply(c *change, list string, ds []T) ([]view.Change, error) {
	var changes []view.Change
	for i, d := range ds {
		saved, old, err := k.save(c, d)
		if err != nil {
			return nil, under(list+"["+strconv.Itoa(i)+"]", err)
		}
		h := k.head(&saved)
		ch := changed(k.noun, *h.namespace, *h.name, *k.head(&old).id == 0, k.shown(old), k.shown(saved))
		if *k.head(&old).id != 0 {
			ch = withSecrets(ch, differences(k.written(old), k.written(saved)), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// withSecrets adds to a line of the plan the fields that differ in what is not
// shown, without what they hold, and those that hold secrets which were not
// compared.
func withSecrets(ch view.Change, really, hidden []string) view.Change {
	shown := map[string]bool{}
	for _, f := range ch.Fields {
		name, _, _ := strings.Cut(f, ":")
		shown[name] = true
	}
	add := func(fields []string, text string) {
		for _, f := range fields {
			if name, _, _ := strings.Cut(f, ":"); !shown[name] {
				shown[name] = true
				ch.Action, ch.Fields = view.ActionUpdate, append(ch.Fields, name+": a secret, which is not "+text)
			}
		}
	}
	add(hidden, "compared")
	add(really, "shown")
	return ch
}

// prune deletes those of a namespace that a manifest does not name.
func (k docKind[T]) prune(c *change, namespace string, named []T) ([]view.Change, error) {
	keep := map[string]bool{}
	for _, d := range named {
		if h := k.head(&d); *h.namespace == namespace {
			keep[*h.name] = true
		}
	}
	there, err := k.all(c.ctx, c.tx, namespace)
	if err != nil {
		return nil, err
	}
	var changes []view.Change
	for _, d := range there {
		name := *k.head(&d).name
		if keep[name] {
			continue
		}
		if err := k.delete(c, d); err != nil {
			return nil, err
		}
		changes = append(changes, view.Change{Action: view.ActionDelete, Noun: k.noun, Namespace: namespace, Name: name})
	}
	return changes, nil
}

// spoken is a noun as it stands in a sentence.
func spoken(noun string) string {
	out := []byte(noun)
	for i := range out {
		if out[i] == '_' {
			out[i] = ' '
		}
	}
	return string(out)
}

// SaveChannel creates or replaces a channel. Where it has [core.Redacted] for
// a secret, the one that is there is kept.
func (s *Store) SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error) {
	return saveDoc(ctx, s, channels, d)
}

// DeleteChannel removes a channel. What was to be told through it is not.
func (s *Store) DeleteChannel(ctx context.Context, namespace, name string) error {
	return deleteDoc(ctx, s, channels, namespace, name)
}

// Channel is one channel, without its secrets.
func (s *Store) Channel(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := readDoc(ctx, s, channels, namespace, name)
	return d.Redacted(), err
}

// ChannelSecrets is one channel with its secrets, for who sends through it.
func (s *Store) ChannelSecrets(ctx context.Context, namespace, name string) (alert.Channel, error) {
	d, err := readDoc(ctx, s, channels, namespace, name)
	return channels.open(s, d), err
}

// Channels lists channels by name, without their secrets.
func (s *Store) Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error) {
	return listDocs(ctx, s, channels, f)
}

// SaveAlertRule creates or replaces an alert rule.
func (s *Store) SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error) {
	return saveDoc(ctx, s, alertRules, d)
}

// DeleteAlertRule removes an alert rule. Its alerts that wait for no more than
// their group are still sent; those that wait for quiet hours, maintenance or
// the time of a reminder are not, unless another rule sends them there.
func (s *Store) DeleteAlertRule(ctx context.Context, namespace, name string) error {
	return deleteDoc(ctx, s, alertRules, namespace, name)
}

// AlertRule is one alert rule.
func (s *Store) AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error) {
	return readDoc(ctx, s, alertRules, namespace, name)
}

// AlertRules lists alert rules by name.
func (s *Store) AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error) {
	return listDocs(ctx, s, alertRules, f)
}

// SaveWindow creates or replaces a window of maintenance.
func (s *Store) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return saveDoc(ctx, s, windows, d)
}

// DeleteWindow removes a window of maintenance. The time that it took stays
// what it was.
func (s *Store) DeleteWindow(ctx context.Context, namespace, name string) error {
	return deleteDoc(ctx, s, windows, namespace, name)
}

// Window is one window of maintenance.
func (s *Store) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return readDoc(ctx, s, windows, namespace, name)
}

// Windows lists windows of maintenance by name.
func (s *Store) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return listDocs(ctx, s, windows, f)
}

// SaveStatusPage creates or replaces a status page.
func (s *Store) SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error) {
	return saveDoc(ctx, s, statusPages, d)
}

// DeleteStatusPage removes a status page.
func (s *Store) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return deleteDoc(ctx, s, statusPages, namespace, name)
}

// StatusPage is one status page.
func (s *Store) StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error) {
	return readDoc(ctx, s, statusPages, namespace, name)
}

// StatusPages lists status pages by name.
func (s *Store) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error) {
	return listDocs(ctx, s, statusPages, f)
}
