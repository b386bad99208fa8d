// Package documents keeps definitions that are stored as a whole: channels, alert rules, hooks, maintenance windows, status
// pages.
package documents

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/titles"
	"github.com/belfry-run/belfry/view"
)

// Document is a definition that is stored as a whole: a channel, an alert rule, a hook, a maintenance window, a status page.
type Document interface {
	alert.Channel | alert.Rule | hook.Hook | monitor.Window | public.StatusPage
}

// Kind describes a type of document to the store.
type Kind[T Document] struct {
	Noun     string // in the table, the audit log and texts
	List     string // the command that lists them
	Head     func(*T) Head
	Defaults func(T) T
	Validate func(T, time.Time) error
	// Keep restores the secrets of the old document for which the new one has no values.
	Keep func(fresh, old T) T
	// Sealed returns the stored form of a document with sealed secrets, and Opened undoes that. Both are nil for a type without
	// secrets.
	Sealed func(*base.Store, T) (T, error)
	Opened func(*base.Store, T) T
	// Shown returns the document for readers, without secrets.
	Shown func(T) T
	// Shorter returns the form for plans and the audit log. It may be nil.
	Shorter func(T) T
	// Bulky is the JSON name of a field that is too large for lists, and BulkyMark its replacement in lists. Keep recognizes
	// BulkyMark when a document is saved. Both are empty if there is no such field.
	Bulky, BulkyMark string
	// Check rejects a document that refers to missing objects. Free rejects the deletion of a document that others refer to.
	// Either may be nil.
	Check, Free func(c *base.Change, d T) error
	// Touch schedules another look at everything in a namespace that a change may concern. It may be nil.
	Touch func(c *base.Change, namespace string) error
	// Saved and Deleted write the rows that belong to a saved or deleted document. They may be nil. Saved gets the previous
	// document too, which is empty for a new one.
	Saved   func(c *base.Change, d, old T) error
	Deleted func(c *base.Change, d T) error
}

// Head points to the fields of a document that the store sets, and to its title.
type Head struct {
	Namespace, Name      *string
	Title                *string
	Id, Generation       *int64
	CreatedAt, UpdatedAt *time.Time
}

// Same returns its argument. It is the Shown of kinds without secrets.
func Same[T any](v T) T { return v }

// Older returns its first argument. It is the Keep of kinds that keep nothing of the stored document.
func Older[T any](fresh, _ T) T { return fresh }

// Columns are the columns that [Kind.Scan] reads, in its order.
const Columns = `id, namespace, name, generation, doc, created_at, updated_at`

// Scan reads one row of [Columns]. Secrets are still sealed.
func (k Kind[T]) Scan(rows base.Rows) (d T, err error) {
	var id, generation, created, updated int64
	var namespace, name string
	err = rows.Scan(&id, &namespace, &name, &generation, base.ScanDoc(&d), &created, &updated)
	h := k.Head(&d)
	*h.Id, *h.Namespace, *h.Name, *h.Generation = id, namespace, name, generation
	*h.CreatedAt, *h.UpdatedAt = base.Instant(created), base.Instant(updated)
	return d, err
}

// Written returns the document without the fields that the store sets.
func (k Kind[T]) Written(d T) T {
	h := k.Head(&d)
	*h.Id, *h.Generation = 0, 0
	*h.CreatedAt, *h.UpdatedAt = base.Instant(0), base.Instant(0)
	return d
}

// Read reads one document in a transaction. lock is the suffix that locks the row, or "". A missing document fails with
// [core.NotFound].
func (k Kind[T]) Read(ctx context.Context, tx base.Tx, namespace, name, lock string) (d T, err error) {
	d, found, err := base.First(ctx, tx, k.Scan, `
		select `+Columns+`
		from belfry.documents
		where noun = $1 and namespace = $2 and name = $3`+lock, k.Noun, namespace, name)
	if err == nil && !found {
		err = core.Errorf(core.NotFound, "no %s %q in namespace %q", Spoken(k.Noun), name, namespace).WithHint("see: %s", k.List)
	}
	return d, err
}

// Open returns the document with opened secrets. A document is read with sealed secrets.
func (k Kind[T]) Open(s *base.Store, d T) T {
	if k.Opened == nil {
		return d
	}
	return k.Opened(s, d)
}

// doc returns the stored form of a document.
func (k Kind[T]) doc(s *base.Store, d T) (doc string, err error) {
	if k.Sealed != nil {
		if d, err = k.Sealed(s, d); err != nil {
			return "", err
		}
	}
	return base.Text(k.Written(d)), nil
}

// Brief returns the form of a document for plans and the audit log.
func (k Kind[T]) Brief(d T) T {
	d = k.Shown(d)
	if k.Shorter != nil {
		d = k.Shorter(d)
	}
	return d
}

// listed returns the columns of a list.
func (k Kind[T]) listed(sql base.Dialect) string {
	if k.Bulky == "" {
		return Columns
	}
	return strings.Replace(Columns, "doc", sql.Marked("doc", k.Bulky, k.BulkyMark), 1)
}

// All reads the documents of a namespace, by name.
func (k Kind[T]) All(ctx context.Context, tx base.Tx, namespace string) ([]T, error) {
	return k.all(ctx, tx, namespace, Columns)
}

// Light is All without bulky fields, as for lists.
func (k Kind[T]) Light(ctx context.Context, tx base.Tx, sql base.Dialect, namespace string) ([]T, error) {
	return k.all(ctx, tx, namespace, k.listed(sql))
}

func (k Kind[T]) all(ctx context.Context, tx base.Tx, namespace, columns string) ([]T, error) {
	w := &base.Where{}
	w.And("noun = ?", k.Noun)
	w.Namespace("namespace", namespace)
	return base.Collect(ctx, tx, k.Scan, `
		select `+columns+`
		from belfry.documents
		where `+w.Sql()+`
		order by namespace, name`, w.Args...)
}

// save creates or replaces a document, and returns the previous one.
func (k Kind[T]) save(c *base.Change, d T) (saved, old T, err error) {
	h := k.Head(&d)
	// Locked: otherwise the kept values could be those that another edit has just replaced.
	old, err = k.Read(c.Ctx, c.Tx, *h.Namespace, *h.Name, c.SQL.ForUpdate("documents"))
	isNew := core.CodeOf(err) == core.NotFound
	if err != nil && !isNew {
		return d, old, err
	}
	if !isNew {
		old = k.Open(c.Base(), old)
		d = k.Keep(d, old)
		h = k.Head(&d)
	}
	if err := k.Validate(d, c.Now); err != nil {
		return d, old, err
	}
	if k.Check != nil {
		if err := k.Check(c, d); err != nil {
			return d, old, err
		}
	}
	if !isNew && base.Text(k.Written(old)) == base.Text(k.Written(d)) {
		return old, old, nil
	}
	if err := k.expect(c, *h.Name, old); err != nil {
		return d, old, err
	}
	if k.Touch != nil {
		if err := k.Touch(c, *h.Namespace); err != nil {
			return d, old, err
		}
	}
	if isNew {
		saved, err = k.insert(c, d)
		if err == nil && k.Saved != nil {
			err = k.Saved(c, saved, old)
		}
		return saved, old, err
	}
	o := k.Head(&old)
	*h.Id, *h.Generation, *h.CreatedAt, *h.UpdatedAt = *o.Id, *o.Generation+1, *o.CreatedAt, c.Now
	doc, err := k.doc(c.Base(), d)
	if err != nil {
		return d, old, err
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.documents
		set generation = $2, doc = $3, updated_at = $4, title = $5, sought = $6
		where id = $1`, *h.Id, *h.Generation, doc, base.Micros(c.Now), *h.Title, title.Fold(*h.Title)); err != nil {
		return d, old, err
	}
	if k.Saved != nil {
		if err := k.Saved(c, d, old); err != nil {
			return d, old, err
		}
	}
	return d, old, c.Audit("update", k.Noun, *h.Namespace, *h.Name, "", k.Brief(old), k.Brief(d))
}

func (k Kind[T]) insert(c *base.Change, d T) (T, error) {
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "definition", 1)
	if err != nil {
		return d, err
	}
	h := k.Head(&d)
	*h.Id, *h.Generation, *h.CreatedAt, *h.UpdatedAt = ids[0], 1, c.Now, c.Now
	doc, err := k.doc(c.Base(), d)
	if err != nil {
		return d, err
	}
	n, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.documents (id, noun, namespace, name, generation, doc, created_at, updated_at, title, sought)
		values ($1, $2, $3, $4, 1, $5, $6, $6, $7, $8)
		on conflict (noun, namespace, name) do nothing`, *h.Id, k.Noun, *h.Namespace, *h.Name, doc, base.Micros(c.Now), *h.Title, title.Fold(*h.Title))
	if err != nil {
		return d, err
	}
	if n == 0 {
		return d, core.Errorf(core.Unavailable, "another client creates %s %q at this moment", Spoken(k.Noun), *h.Name).WithHint("try again")
	}
	return d, c.Audit("create", k.Noun, *h.Namespace, *h.Name, "", nil, k.Brief(d))
}

func (k Kind[T]) delete(c *base.Change, d T) error {
	h := k.Head(&d)
	if k.Free != nil {
		// Locked before the check, so that it waits for a save that refers to the document.
		if _, err := k.Read(c.Ctx, c.Tx, *h.Namespace, *h.Name, c.SQL.ForUpdate("documents")); err != nil {
			return err
		}
		if err := k.Free(c, d); err != nil {
			return err
		}
	}
	if k.Touch != nil {
		if err := k.Touch(c, *h.Namespace); err != nil {
			return err
		}
	}
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.documents where id = $1`, *h.Id); err != nil {
		return err
	}
	if k.Deleted != nil {
		if err := k.Deleted(c, d); err != nil {
			return err
		}
	}
	return c.Audit("delete", k.Noun, *h.Namespace, *h.Name, "", k.Brief(d), nil)
}

// Save is a transition with save.
func Save[T Document](ctx context.Context, s *base.Store, k Kind[T], d T) (saved T, err error) {
	d = k.Defaults(d)
	err = s.Write(ctx, "save "+Spoken(k.Noun), func(c *base.Change) error {
		saved, _, err = k.save(c, d)
		return err
	})
	return k.Shown(saved), err
}

// Delete deletes a document. It fails with [core.NotFound] if there is none, and with [core.Conflict] if something uses it.
func Delete[T Document](ctx context.Context, s *base.Store, k Kind[T], namespace, name string) error {
	return s.Write(ctx, "delete "+Spoken(k.Noun), func(c *base.Change) error {
		d, err := k.Read(ctx, c.Tx, namespace, name, c.SQL.ForUpdate("documents"))
		if err == nil {
			err = k.expect(c, name, d)
		}
		if err != nil {
			return err
		}
		return k.delete(c, d)
	})
}

// Read reads one document. A missing one fails with [core.NotFound].
func Read[T Document](ctx context.Context, s *base.Store, k Kind[T], namespace, name string) (d T, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		d, err = k.Read(ctx, tx, namespace, name, "")
		return err
	})
	return d, err
}

// List returns one page of the documents of a kind, by namespace and name, with secrets redacted.
func List[T Document](ctx context.Context, s *base.Store, k Kind[T], f view.DocumentFilter) (p core.Page[T], err error) {
	w, limit, err := base.NameWhere(f.Namespace, f.Paging)
	if err != nil {
		return p, err
	}
	w.And("noun = ?", k.Noun)
	if f.Part != "" {
		w.And(titles.Part(f.Part))
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		p, err = base.CollectPage(ctx, tx, limit, k.Scan, func(d T) string { h := k.Head(&d); return base.EncodeCursor(*h.Namespace, *h.Name) }, `
			select `+k.listed(s.SQL)+`
			from belfry.documents
			where `+w.Sql()+`
			order by namespace, name
			limit `+strconv.Itoa(limit+1), w.Args...)
		for i := range p.Items {
			p.Items[i] = k.Shown(p.Items[i])
		}
		return err
	})
	return p, err
}

// Apply writes the documents of a manifest.
func (k Kind[T]) Apply(c *base.Change, list string, ds []T) ([]view.Change, error) {
	var changes []view.Change
	for i, d := range ds {
		saved, old, err := k.save(c, d)
		if err != nil {
			return nil, base.Under(list+"["+strconv.Itoa(i)+"]", err)
		}
		h := k.Head(&saved)
		ch := base.Changed(k.Noun, *h.Namespace, *h.Name, *k.Head(&old).Id == 0, k.Brief(old), k.Brief(saved))
		if *k.Head(&old).Id != 0 {
			ch = WithSecrets(ch, base.Differences(k.Written(old), k.Written(saved)), nil)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// WithSecrets adds secret fields to a line of the plan, without their values: fields that differ but are not shown, and fields
// that were not compared.
func WithSecrets(ch view.Change, really, hidden []string) view.Change {
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

// Prune deletes the documents of a namespace that a manifest does not name.
func (k Kind[T]) Prune(c *base.Change, namespace string, named []T) ([]view.Change, error) {
	keep := map[string]bool{}
	for _, d := range named {
		if h := k.Head(&d); *h.Namespace == namespace {
			keep[*h.Name] = true
		}
	}
	there, err := k.All(c.Ctx, c.Tx, namespace)
	if err != nil {
		return nil, err
	}
	var changes []view.Change
	for _, d := range there {
		name := *k.Head(&d).Name
		if keep[name] {
			continue
		}
		if err := k.delete(c, d); err != nil {
			return nil, err
		}
		changes = append(changes, view.Change{Action: view.ActionDelete, Noun: k.Noun, Namespace: namespace, Name: name})
	}
	return changes, nil
}

// Spoken returns a noun in the form for sentences.
func Spoken(noun string) string {
	out := []byte(noun)
	for i := range out {
		if out[i] == '_' {
			out[i] = ' '
		}
	}
	return string(out)
}

// expect checks the version that the caller expects of a document. A missing document has no version.
func (k Kind[T]) expect(c *base.Change, name string, old T) error {
	present := ""
	if v, is := any(old).(interface{ Version() string }); is {
		present = v.Version()
	}
	return c.Expect(Spoken(k.Noun), name, present, *k.Head(&old).UpdatedAt)
}
