package forms

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/plainjson"
	"github.com/belfry-run/belfry/internal/textdiff"
)

// Edit is the part "edit" of a form about a definition that exists: the version
// that the form was filled from, so that a save overwrites no other change, and
// the choices after a change by another person.
type Edit struct {
	Version string
	Clash   *clash
}

// clash is a change by another person that a save would overwrite.
type clash struct {
	By     string // empty: not known
	At     parts.Moment
	Theirs string // address of the form as it is saved now
	Known  bool   // the version that the form was filled from is
	Merged bool   // the form has what only the other person changed
	Rows   []clashRow
}

// clashRow is a field that the form, the saved definition and the version that the form was filled from do not all have alike.
type clashRow struct {
	Field              string
	Opened, Now, Typed string          // Typed: as the form has it
	Diff               textdiff.Result // from Now to Typed, or of a field that is taken over from Opened, of texts with several lines
	Taken              bool            // the form has it as the other person saved it
	Both               bool            // both changed it
	Undoes             bool            // the form only has what it was opened with
}

// Takes reports that the form has changes of the other person.
func (c clash) Takes() bool {
	return slices.ContainsFunc(c.Rows, func(r clashRow) bool { return r.Taken })
}

// Overwrites reports that a save of the form undoes a change of the other person, or may.
func (c clash) Overwrites() bool {
	return !c.Merged || slices.ContainsFunc(c.Rows, func(r clashRow) bool { return r.Both || r.Undoes })
}

// editable is a definition that people edit.
type editable[T any] interface {
	WithDefaults() T
	Version() string
}

// Versioned are the values of a form with the version that they are of.
func Versioned(values url.Values, of interface{ Version() string }) url.Values {
	values.Set("version", of.Version())
	return values
}

// Expecting is the context of a save of the version that the form was filled from.
func Expecting(p *frame.Page) context.Context {
	return core.WithVersion(p.R.Context(), p.R.PostFormValue("version"))
}

// Edits is the part of the API that reads the audit: the author and the time of a change.
type Edits interface {
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
}

// Meanwhile handles a refused save. If the definition was changed after the form was filled, it returns the difference and no
// error to show. The form then has the present version, so that the next save overwrites that; and where both is set it is filled
// from that, which is what was typed with what only the other person changed.
// Faults of a definition that was sent as one text say in which line they are; those of a form are all answered at once.
func Meanwhile[T editable[T]](p *frame.Page, api Edits, refused error, noun, name, theirs string, typed T, read func() (T, error)) (e Edit, both *T, shown error) {
	e.Version = p.R.PostFormValue("version")
	if p.R.PostForm.Has("definition") {
		refused = p.Site.PlaceDefinition(p.R.PostForm.Get("definition"), new(T), refused)
	} else {
		refused = AllFaults(refused, typed, p.Now)
	}
	if e.Version == "" || core.CodeOf(refused) != core.Conflict {
		return e, nil, refused
	}
	now, err := read()
	if err != nil || now.Version() == e.Version {
		return e, nil, refused
	}
	e, both = Clashing(p, api, e.Version, noun, name, theirs, now, typed)
	return e, both, nil
}

// Clashing is the clash of a form that was filled from a version with the saved definition. The form is filled from both, where it
// is set.
func Clashing[T editable[T]](p *frame.Page, api Edits, version, noun, name, theirs string, now, typed T) (_ Edit, both *T) {
	c := &clash{Theirs: theirs}
	typed = typed.WithDefaults()
	var opened T
	before := map[string]string{}
	readOnly := readOnlyOf(reflect.TypeFor[T]())
	c.Known = c.look(p, api, noun, name, func(text json.RawMessage) bool {
		var was T
		if json.Unmarshal(text, &was) != nil || was.Version() != version {
			return false
		}
		opened, before = was, fieldsAt(text, readOnly)
		return true
	})
	form := typed
	if c.Known {
		if all, ok := merged(opened, now, typed, p.Now); ok {
			form, c.Merged = all, true
		}
	}
	c.compare(before, fieldsAt(jsonOf(now), readOnly), shownAt(typed, readOnly), shownAt(form, readOnly))
	c.write(p, reflect.TypeFor[T](), DocumentOf(now))
	if c.Takes() {
		both = &form
	}
	return Edit{Version: now.Version(), Clash: c}, both
}

// shownAt are the values of a form by the path of their field. Secrets that were typed are not shown.
func shownAt[T any](form T, without []string) map[string]string {
	at := fieldsAt(jsonOf(form), without)
	hides, is := any(form).(interface{ Redacted() T })
	if !is {
		return at
	}
	shown := fieldsAt(jsonOf(hides.Redacted()), without)
	for name := range shown {
		if shown[name] != at[name] {
			shown[name] = "(another secret)"
		}
	}
	return shown
}

// write writes times and durations of the rows as pages do.
func (c *clash) write(p *frame.Page, t reflect.Type, now Document) {
	zone, _ := now.At("zone").(string)
	for i := range c.Rows {
		r := &c.Rows[i]
		var write func(text string) string
		switch typeAt(t, steps(r.Field)) {
		case reflect.TypeFor[time.Time]():
			write = func(text string) string {
				at, err := time.Parse(time.RFC3339Nano, text)
				if err != nil {
					return text
				}
				m := p.WhenIn(zone, at)
				return m.Text() + " " + m.Zone()
			}
		case reflect.TypeFor[core.Duration]():
			write = func(text string) string {
				d, err := core.ParseDuration(text)
				if err != nil {
					return text
				}
				return core.SpanText(d)
			}
		default:
			continue
		}
		each := func(value string) string {
			all := strings.Split(value, ", ")
			for i := range all {
				all[i] = write(all[i])
			}
			return strings.Join(all, ", ")
		}
		opened, now, typed := each(r.Opened), each(r.Now), each(r.Typed)
		if (now == typed) == (r.Now == r.Typed) && (now == opened) == (r.Now == r.Opened) { // otherwise they differ in what pages leave out
			r.Opened, r.Now, r.Typed = opened, now, typed
		}
	}
}

// typeAt is the type of a field of a definition, or of the values of a list, or nil.
func typeAt(t reflect.Type, path []string) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(path) == 0 && t.Kind() == reflect.Slice:
		return t.Elem()
	case len(path) == 0:
		return t
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return typeAt(t.Elem(), path[1:])
	case t.Kind() != reflect.Struct:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == path[0] {
			return typeAt(f.Type, path[1:])
		}
	}
	return nil
}

// look finds the last change of the definition in the audit, and the one of the version that the form was filled from.
func (c *clash) look(p *frame.Page, api Edits, noun, name string, is func(json.RawMessage) bool) bool {
	f := access.AuditFilter{Namespace: p.Namespace, Noun: noun, Name: name, Paging: core.Paging{Limit: clashEdits}}
	if noun == "queue" {
		f.Namespace = core.AnyNamespace
	}
	changes, err := api.Audit(p.R.Context(), f)
	if err != nil {
		return false // the form is shown without the difference
	}
	for _, a := range changes.Items {
		if len(a.Before) == 0 || len(a.After) == 0 {
			continue
		}
		if c.By == "" {
			c.By, c.At = a.Actor, p.Ago(a.At)
		}
		if is(a.Before) {
			return true
		}
	}
	return false
}

// clashEdits is how many entries of the audit are read to find the first change after the form was opened.
const clashEdits = 100

func (c *clash) compare(opened, now, typed, form map[string]string) {
	names := maps.Clone(now)
	maps.Copy(names, typed)
	maps.Copy(names, form)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r := clashRow{Field: name, Opened: opened[name], Now: now[name], Typed: form[name]}
		switch {
		case r.Now != r.Typed:
			r.Both = c.Known && r.Opened != r.Now && r.Opened != r.Typed
			r.Undoes = c.Known && r.Opened == r.Typed
		case r.Now != typed[name]:
			r.Taken = true
		default:
			continue
		}
		before := r.Now
		if r.Taken {
			before = r.Opened
		}
		if strings.Contains(before, "\n") || strings.Contains(r.Typed, "\n") {
			r.Diff = textdiff.Diff(before, r.Typed, textdiff.Options{})
		}
		c.Rows = append(c.Rows, r)
	}
}

func jsonOf(v any) json.RawMessage {
	text, err := plainjson.Marshal(v)
	if err != nil {
		panic(err) // definitions are JSON
	}
	return text
}

// readOnlyOf are the fields that no edit sets, and the name, which stays.
func readOnlyOf(t reflect.Type) []string {
	names := []string{"namespace", "name"}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("readOnly") != "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// fieldsAt are the values of a definition by the path of their field. A list of
// plain values is one value.
func fieldsAt(text json.RawMessage, without []string) map[string]string {
	var top map[string]any
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if dec.Decode(&top) != nil {
		return nil
	}
	for _, name := range without {
		delete(top, name)
	}
	at := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(strings.TrimPrefix(path+"."+name, "."), inner)
			}
		case []any:
			if !slices.ContainsFunc(v, isNested) {
				at[path] = strings.Join(listOf(v), ", ")
				return
			}
			for i, inner := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), inner)
			}
		case nil:
		default:
			at[path] = fmt.Sprint(v)
		}
	}
	walk("", top)
	return at
}

func isNested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
