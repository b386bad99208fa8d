package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"encoding"

	"github.com/belfry-run/belfry/core"
)

// DefaultFile is read from the current directory if no file is named.
const DefaultFile = "belfry.config.yaml"

// Key describes one setting.
type Key struct {
	Name    string   // in the file
	Env     string   // in the environment
	Flag    string   // on the command line, without dashes
	Default string   // as text
	Doc     string   // one sentence
	Groups  []string // programs that use it: node, worker, client
	Secret  bool
	Bool    bool // a flag without a value
	field   int
}

var keys = makeKeys()

// Keys lists all settings, in the order of [Config].
func Keys() []Key { return keys }

func makeKeys() []Key {
	t := reflect.TypeFor[Config]()
	list := make([]Key, t.NumField())
	for i := range list {
		f := t.Field(i)
		name := f.Tag.Get("json")
		list[i] = Key{
			Name: name, Env: "BELFRY_" + strings.ToUpper(name), Flag: strings.ReplaceAll(name, "_", "-"),
			Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"), Groups: strings.Split(f.Tag.Get("group"), ","),
			Secret: f.Tag.Get("secret") == "true", Bool: f.Type.Kind() == reflect.Bool, field: i,
		}
	}
	return list
}

func (k Key) value(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().Field(k.field) }

// set reads a value in the notation of the environment and flags: lists and
// tables with commas.
func (k Key) set(c *Config, text string) error {
	v := k.value(c)
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.ValueOf(splitList(text)))
		return nil
	case reflect.Map:
		return setTable(v, text)
	}
	return setText(v, text)
}

func splitList(text string) []string {
	var list []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

func setTable(v reflect.Value, text string) error {
	table := reflect.MakeMap(v.Type())
	for _, item := range splitList(text) {
		name, value, found := strings.Cut(item, "=")
		entry := reflect.New(v.Type().Elem()).Elem()
		if !found || setText(entry, value) != nil {
			return errors.New("must be name=" + map[reflect.Kind]string{reflect.Int: "number", reflect.String: "text"}[entry.Kind()] + ", several with commas")
		}
		table.SetMapIndex(reflect.ValueOf(name), entry)
	}
	v.Set(table)
	return nil
}

// Text returns the value of the key in c, in the notation of a flag, with
// secrets hidden.
func (k Key) Text(c Config) string {
	v := k.value(&c)
	switch x := v.Interface().(type) {
	case core.Duration:
		return x.String()
	case []string:
		return strings.Join(x, ",")
	case map[string]int:
		return tableText(x)
	case map[string]string:
		return tableText(x)
	case string:
		return k.masked(x)
	case bool:
		return strconv.FormatBool(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatInt(v.Int(), 10)
}

func tableText[V any](table map[string]V) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		items = append(items, fmt.Sprintf("%s=%v", name, table[name]))
	}
	return strings.Join(items, ",")
}

func (k Key) masked(text string) string {
	switch {
	case k.Secret && text != "":
		return "(hidden)"
	case k.Name == "database":
		return Mask(text)
	case k.Name == "brokers" && strings.Contains(text, "@"):
		return "(hidden)" // a credential in the wrong place
	}
	return text
}

// Input holds the sources of a configuration.
type Input struct {
	File  string // from --config; if empty, BELFRY_CONFIG or DefaultFile
	Env   func(string) string
	Flags map[string]string // given flags by key name, as text
}

// Loaded is a configuration with the source of each value.
type Loaded struct {
	Config
	File    string            // the file that was read, or empty
	sources map[string]string // by key name
}

// Source returns the source of a value: "default", "file PATH:LINE",
// "environment NAME" or "flag --name".
func (l Loaded) Source(key string) string {
	if s := l.sources[key]; s != "" {
		return s
	}
	return "default"
}

// Given reports whether the key was set.
func (l Loaded) Given(key string) bool { return l.sources[key] != "" }

// Load merges flags, environment, file and defaults, in this order of
// precedence, and returns all faults of the result.
func Load(in Input) (Loaded, error) {
	l := Loaded{Config: Default(), sources: map[string]string{}}
	if err := l.file(in); err != nil {
		return l, err
	}
	if err := l.texts(in); err != nil {
		return l, err
	}
	return l, l.check()
}

func (l *Loaded) file(in Input) error {
	path, named := in.File, "flag --config"
	if path == "" {
		path, named = in.Env("BELFRY_CONFIG"), "environment BELFRY_CONFIG"
	}
	if path == "" {
		path, named = DefaultFile, ""
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	src, err := ReadFile(path)
	if err != nil {
		var be *core.Error
		if errors.As(err, &be) && named != "" {
			return be.WithHint("the path comes from %s", named)
		}
		return err
	}
	l.File = path
	return l.document(src)
}

func (l *Loaded) document(src Source) error {
	d := decoder{src: src, places: map[string]Place{}, hidden: new(hidden)}
	docs := d.parse()
	if len(docs) > 1 {
		d.fault(docs[1].GetToken(), "", "", "is a second document in a file that holds one", "")
	}
	if len(docs) > 0 {
		d.value(docs[0], reflect.ValueOf(&l.Config).Elem(), "")
	}
	for _, k := range keys {
		if at, ok := d.places[k.Name]; ok {
			l.sources[k.Name] = "file " + at.File + ":" + strconv.Itoa(at.Line)
		}
	}
	for _, k := range keys {
		if text, is := k.value(&l.Config).Interface().(string); is && k.masked(text) != text {
			d.hidden.add(text)
		}
	}
	d.hidden.mask(d.faults.list)
	if err := d.err("configuration"); err != nil {
		return err
	}
	// Here only the file can cause a fault, so its line is reported. Values of the
	// environment and of flags are checked after that.
	if err := l.check(); err != nil {
		defs := Definitions{places: d.places, sources: map[string]string{src.Name: string(src.Text)}, hidden: *d.hidden}
		return renamed(defs.Locate(err), "configuration")
	}
	return nil
}

func renamed(err error, what string) error {
	var fe *FileError
	if errors.As(err, &fe) {
		fe.What = what
	}
	return err
}

// texts applies the environment and flags.
func (l *Loaded) texts(in Input) error {
	e := &core.Error{Code: core.Invalid, Message: "configuration"}
	apply := func(k Key, text, source string) {
		if err := k.set(&l.Config, text); err != nil {
			e.Fields = append(e.Fields, core.FieldError{Field: source, Value: k.masked(text), Message: err.Error()})
			return
		}
		l.sources[k.Name] = source
	}
	for _, k := range keys {
		if k.Name == "database" && in.Env(k.Env) == "" && in.Env("DATABASE_URL") != "" && !l.Given(k.Name) {
			apply(k, in.Env("DATABASE_URL"), "environment DATABASE_URL")
		}
		if text := in.Env(k.Env); text != "" {
			apply(k, text, "environment "+k.Env)
		}
		if text, given := in.Flags[k.Name]; given {
			apply(k, text, "flag --"+k.Flag)
		}
	}
	if len(e.Fields) > 0 {
		return e
	}
	return nil
}

// check validates the values, and adds the source to each fault.
func (l *Loaded) check() error {
	err := CheckDatabase(l.Database)
	if err == nil {
		err = l.Validate()
	}
	var be *core.Error
	if errors.As(err, &be) {
		for i, f := range be.Fields {
			if s := l.sources[f.Field]; s != "" && !strings.HasPrefix(s, "file ") {
				be.Fields[i].Field = s
			}
		}
	}
	return err
}
