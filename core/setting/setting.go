// Package setting describes the settings of a kind of thing once, for everything that asks for them or shows them: flags
// of the command line, inputs of forms, imports and documentation. The tables of kinds are made of it.
package setting

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// Field is one setting of a kind.
type Field struct {
	Path string // its name in the JSON of the kind's settings, such as auth.user
	As   As     // default: a text

	Flag  string // of the command line, without dashes; empty: there is none
	Usage string // help of the flag

	Label   string // of an input; empty: no form has it
	Hint    string
	Options []string // of a choice or a set; an empty one means the default
	Need    bool     // a form asks for it
	More    bool     // a form keeps it in a drawer

	OneOf string // settings of this group replace each other
}

// As is how people write a setting.
type As string

// The ways. Each is also the type of the flag and of the input.
const (
	Text     As = "text"
	Area     As = "area"     // a text of several lines
	Number   As = "number"   // a whole one
	Duration As = "duration" // such as 5m
	Check    As = "check"    // yes or no
	Choice   As = "choice"   // one of the options
	Set      As = "set"      // some of the options
	Lines    As = "lines"    // a list, one item a line
	Words    As = "words"    // a list, with spaces or commas between
	Pairs    As = "pairs"    // a map, as name: value, one a line
	Secret   As = "secret"   // never shown
	Secrets  As = "secrets"  // a map whose values are secrets
	File     As = "file"     // an area, which a flag reads from a file
)

// SecretUsage ends the help of a flag whose value is a secret.
const SecretUsage = "; @FILE reads it from a file, - from standard input"

// SecretHint is the hint of an input for a secret that may be left out.
const SecretHint = "It is never shown. Empty it to take it away."

// Fact is one setting in words. Args are those of the format; a [core.Duration] among them is written in the way of the
// reader.
type Fact struct {
	Name   string
	Format string
	Args   []any
}

// Facts lists what matters to people.
type Facts []Fact

// Add adds a fact where it is one.
func (f *Facts) Add(is bool, name, format string, args ...any) {
	if is {
		*f = append(*f, Fact{name, format, args})
	}
}

// Entries are the entries of a map, one in a line, where sep is the sign between name and value.
func Entries(m map[string]string, sep string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+sep+m[k])
	}
	return strings.Join(list, "\n")
}

// Part is the place of a kind's settings in a document of type D, and what the settings themselves know. The zero Part
// belongs to a kind without settings.
type Part[D any] struct {
	Given    func(*D) bool
	Fill     func(*D)       // with defaults
	Validate func(*D) error // of what has its defaults
	Edit     func(*D) any   // a pointer to a copy of the settings, which the document now has
}

// At makes the part of a document that a pointer to settings is. Without fill there are no defaults.
func At[D, T any](place func(*D) **T, fill func(T) T, validate func(T) error) Part[D] {
	return Part[D]{
		Given: func(d *D) bool { return *place(d) != nil },
		Fill: func(d *D) {
			if p := place(d); fill != nil {
				*p = core.Defaulted(*p, fill)
			}
		},
		Validate: func(d *D) error { return validate(**place(d)) },
		Edit: func(d *D) any {
			p, fresh := place(d), new(T)
			if *p != nil {
				*fresh = **p
			}
			*p = fresh
			return fresh
		},
	}
}

// Value returns the setting at a path of settings, which is a pointer to a struct. Structs on the way are copied first, so
// that a change stays with these settings. A path that does not exist is the zero Value.
func Value(settings any, path string) reflect.Value {
	v := reflect.ValueOf(settings).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			fresh := reflect.New(v.Type().Elem())
			if !v.IsNil() {
				fresh.Elem().Set(v.Elem())
			}
			v.Set(fresh)
			v = fresh.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return nameOf(f) == name })
		if i < 0 {
			return reflect.Value{}
		}
		v = v.Field(i)
	}
	return v
}

// MapSecrets replaces every secret of settings, a pointer to a struct, by what f answers. The path of a secret is its name
// in JSON. Maps are copied first.
func MapSecrets(settings any, f func(path string, s core.Secret) core.Secret) {
	v := reflect.ValueOf(settings).Elem()
	for i := range v.NumField() {
		name, at := nameOf(v.Type().Field(i)), v.Field(i)
		switch s := at.Interface().(type) {
		case core.Secret:
			at.Set(reflect.ValueOf(f(name, s)))
		case map[string]core.Secret:
			if s == nil {
				continue
			}
			fresh := make(map[string]core.Secret, len(s))
			for _, key := range slices.Sorted(maps.Keys(s)) {
				fresh[key] = f(name+"."+key, s[key])
			}
			at.Set(reflect.ValueOf(fresh))
		}
	}
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
