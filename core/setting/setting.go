// Package setting describes the settings of a kind of task, monitor or channel once, for all code that reads or shows them:
// flags of the command line, inputs of forms, imports and documentation. The tables of kinds consist of it.
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
	Path string // name in the JSON of the kind's settings, such as auth.user
	As   As     // default: a text

	Flag  string // flag of the command line, without dashes; "": none
	Usage string // help of the flag

	Label   string // label of the input in a form; "": not in forms
	Hint    string
	Options []string // options of a choice or set; an empty option means the default
	Need    bool     // required in a form
	More    bool     // in the collapsed part of a form

	OneOf string // settings of this group replace each other
}

// As is how people write a setting.
type As string

// The ways to write a setting. Each is also the type of the flag and of the input.
const (
	Text     As = "text"
	Area     As = "area"     // a text of several lines
	Number   As = "number"   // a whole number
	Duration As = "duration" // such as 5m
	Check    As = "check"    // yes or no
	Choice   As = "choice"   // one of the options
	Set      As = "set"      // some of the options
	Lines    As = "lines"    // a list, one item per line
	Words    As = "words"    // a list, separated by spaces or commas
	Pairs    As = "pairs"    // a map, as name: value, one per line
	Secret   As = "secret"   // never shown
	Secrets  As = "secrets"  // a map whose values are secrets
	File     As = "file"     // an area, which a flag reads from a file
)

// SecretUsage ends the help of a flag whose value is a secret.
const SecretUsage = "; @FILE reads it from a file, - from standard input"

// SecretHint is the hint of an input for a secret that may be left out.
const SecretHint = "It is never shown. Empty it to take it away."

// Fact is one setting in words. Args are the arguments of the format; the reader of facts formats a [core.Duration] among
// them.
type Fact struct {
	Name   string
	Format string
	Args   []any
}

// Facts lists settings for people.
type Facts []Fact

// Add adds a fact if is holds.
func (f *Facts) Add(is bool, name, format string, args ...any) {
	if is {
		*f = append(*f, Fact{name, format, args})
	}
}

// Entries formats the entries of a map, one per line, with sep between name and value.
func Entries(m map[string]string, sep string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+sep+m[k])
	}
	return strings.Join(list, "\n")
}

// Part accesses the settings of a kind in a document of type D. The zero Part belongs to a kind without settings.
type Part[D any] struct {
	Given    func(*D) bool
	Fill     func(*D)       // sets defaults
	Validate func(*D) error // checks settings that have their defaults
	Edit     func(*D) any   // replaces the settings by a copy and returns a pointer to it
}

// At returns the part for settings behind a pointer in the document. A nil fill sets no defaults.
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

// Value returns the setting at a path of settings, which must be a pointer to a struct. Structs along the path are copied
// first, so that a change affects only these settings. For an unknown path it returns the zero Value.
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

// MapSecrets replaces every secret of settings, a pointer to a struct, by the result of f. The path of a secret is its name
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
