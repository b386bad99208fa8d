package cli

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/setting"
)

// KindFlags are the flags of one kind: the flag that selects the kind, and its settings.
type KindFlags struct {
	Kind, Flag string
	Fields     []setting.Field
}

// has reports whether a flag is a setting of the kind.
func (k KindFlags) has(flag string) bool {
	return slices.ContainsFunc(k.Fields, func(f setting.Field) bool { return f.Flag == flag && flag != k.Flag })
}

// Settings are the flags of all kinds of a noun. Several kinds may share a flag.
type Settings struct {
	Kinds   []KindFlags
	Said    string // begin of the help of a flag that selects a kind; % is replaced by the kind
	And     string // separator of the kinds in the help of a setting
	Missing string // hint if no kind is given
	Twice   string // hint if two kinds are given
	// Reads are functions for flags whose text differs from the stored value.
	Reads map[string]func(text string, settings any) error

	values map[string]any
}

// Add adds the flags.
func (s *Settings) Add(fs *pflag.FlagSet) {
	s.values = map[string]any{}
	for _, k := range s.Kinds {
		for _, f := range k.Fields {
			if _, done := s.values[f.Flag]; !done && f.Flag != "" {
				s.values[f.Flag] = addFlag(fs, f, s.usage(k, f))
			}
		}
	}
}

func (s *Settings) usage(k KindFlags, f setting.Field) string {
	text := f.Usage
	if f.As == setting.Secret {
		text += SecretHelp
	}
	if f.Flag == k.Flag {
		return strings.ReplaceAll(s.Said, "%", k.Kind) + text
	}
	if f.Usage != "" {
		text = ": " + text
	}
	return "of " + strings.Join(s.Of(f.Flag), s.And) + text
}

// Of lists the flags of the kinds that have a setting.
func (s *Settings) Of(flag string) (flags []string) {
	for _, k := range s.Kinds {
		if k.has(flag) {
			flags = append(flags, "--"+k.Flag)
		}
	}
	return flags
}

func addFlag(fs *pflag.FlagSet, f setting.Field, usage string) any {
	switch f.As {
	case setting.Number:
		return fs.Int(f.Flag, 0, usage)
	case setting.Check:
		return fs.Bool(f.Flag, false, usage)
	case setting.Lines, setting.Pairs, setting.Secrets:
		return fs.StringArray(f.Flag, nil, usage)
	case setting.Words, setting.Set:
		return fs.StringSlice(f.Flag, nil, usage)
	}
	return fs.String(f.Flag, "", usage)
}

// Kind returns the kind that the flags select, or else the previous kind, with an empty flag.
func (s *Settings) Kind(given func(string) bool, before string) (kind, flag string, err error) {
	var flags []string
	for _, k := range s.Kinds {
		flags = append(flags, "--"+k.Flag)
		switch {
		case !given(k.Flag):
		case flag != "":
			return "", "", core.InvalidField("--"+k.Flag, "", "cannot stand beside --"+flag, s.Twice)
		default:
			kind, flag = k.Kind, k.Flag
		}
	}
	if flag == "" && before == "" {
		return "", "", core.InvalidField(flags[0], "", "is missing, and so is every other kind", s.Missing+strings.Join(flags, ", "))
	}
	return core.Or(kind, before), flag, nil
}

// Changed reports whether any of the flags was given.
func (s *Settings) Changed(given func(string) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.values)), given)
}

// Stray returns a given flag that belongs to other kinds, with the flags of those kinds; "" if there is none.
func (s *Settings) Stray(given func(string) bool, kind string) (flag string, of []string) {
	own := s.of(kind)
	for _, k := range s.Kinds {
		for _, f := range k.Fields {
			if f.Flag != "" && f.Flag != k.Flag && given(f.Flag) && !own.has(f.Flag) {
				return f.Flag, s.Of(f.Flag)
			}
		}
	}
	return "", nil
}

func (s *Settings) of(kind string) KindFlags {
	for _, k := range s.Kinds {
		if k.Kind == kind {
			return k
		}
	}
	return KindFlags{}
}

// More adds lines to a flag that may be repeated.
func (s *Settings) More(flag string, lines []string) {
	list := s.values[flag].(*[]string)
	*list = append(slices.Clone(*list), lines...)
}

// Apply puts the given flags of a kind into its settings, a pointer to a struct.
func (s *Settings) Apply(c *CLI, given func(string) bool, kind string, settings any) error {
	fields := s.of(kind).Fields
	for _, f := range fields {
		if f.OneOf == "" || f.Flag == "" || !given(f.Flag) {
			continue
		}
		for _, other := range fields {
			if other.OneOf == f.OneOf && (other.Flag == "" || !given(other.Flag)) {
				setting.Value(settings, other.Path).SetZero()
			}
		}
	}
	for _, f := range fields {
		if f.Flag == "" || !given(f.Flag) {
			continue
		}
		var err error
		if read := s.Reads[f.Flag]; read != nil {
			err = read(*s.values[f.Flag].(*string), settings)
		} else if f.Path != "" {
			err = c.setField(given, f, s.values[f.Flag], setting.Value(settings, f.Path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setField sets a setting to the value of its flag.
func (c *CLI) setField(given func(string) bool, f setting.Field, value any, to reflect.Value) (err error) {
	switch f.As {
	case setting.Number:
		to.SetInt(int64(*value.(*int)))
	case setting.Check:
		to.SetBool(*value.(*bool))
	case setting.Lines, setting.Words, setting.Set:
		to.Set(reflect.ValueOf(*value.(*[]string)))
	case setting.Duration:
		return Duration(given, f.Flag, *value.(*string), to.Addr().Interface().(*core.Duration))
	case setting.Secret:
		return c.SetSecret(given, f.Flag, *value.(*string), to.Addr().Interface().(*core.Secret))
	case setting.Pairs:
		*to.Addr().Interface().(*map[string]string), err = NameValues("--"+f.Flag, *value.(*[]string), ":")
	case setting.Secrets:
		*to.Addr().Interface().(*map[string]core.Secret), err = c.secrets("--"+f.Flag, *value.(*[]string))
	case setting.File:
		var text []byte
		if path := *value.(*string); path != "" {
			if text, err = os.ReadFile(path); err != nil {
				return core.InvalidField("--"+f.Flag, path, "cannot be read", err.Error())
			}
		}
		to.SetString(string(text))
	default:
		to.SetString(*value.(*string))
	}
	return err
}

func (c *CLI) secrets(flag string, entries []string) (map[string]core.Secret, error) {
	texts, err := NameValues(flag, entries, ":")
	if err != nil {
		return nil, err
	}
	all := map[string]core.Secret{}
	for name, value := range texts {
		if all[name], err = c.Secret(flag, value); err != nil {
			return nil, err
		}
	}
	return all, nil
}
