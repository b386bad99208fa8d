package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Definitions is a manifest with the place of each part of it.
type Definitions struct {
	view.Manifest
	places  map[string]Place
	sources map[string]string
	hidden  hidden
}

// ReadSources reads the named files, every .yaml, .yml and .json file in the
// named directories in the order of their names, and stdin for "-".
func ReadSources(paths []string, stdin io.Reader) ([]Source, error) {
	var srcs []Source
	for _, path := range paths {
		more, err := readSource(path, stdin)
		if err != nil {
			return nil, err
		}
		srcs = append(srcs, more...)
	}
	return srcs, nil
}

func readSource(path string, stdin io.Reader) ([]Source, error) {
	if path == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, MaxFile+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return []Source{{Name: "<stdin>", Text: text}}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.IsDir() {
		src, err := ReadFile(path)
		return []Source{src}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	var srcs []Source
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			continue
		}
		src, err := ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		srcs = append(srcs, src)
	}
	if len(srcs) == 0 {
		return nil, core.InvalidField("file", path, "holds no .yaml, .yml or .json file", "")
	}
	return srcs, nil
}

// ReadFile reads one file, up to one byte more than the limit.
func ReadFile(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, fileError(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return Source{}, fileError(path, err)
	}
	return Source{Name: path, Text: text}, nil
}

// fileError turns an error of the file system into one of the input.
func fileError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return core.InvalidField("file", path, "does not exist", "check the path, it counts from the current directory")
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return core.InvalidField("file", path, "cannot be read: "+err.Error(), "")
}

// ParseManifest reads the documents of all sources as one manifest, and returns
// all faults with their places. An object without a namespace is checked as if it
// were in the given one, but stays without a namespace.
func ParseManifest(srcs []Source, namespace string) (Definitions, error) {
	defs := Definitions{places: map[string]Place{}, sources: map[string]string{}}
	var all faults
	for _, src := range srcs {
		defs.sources[src.Name] = string(src.Text)
		defs.read(src, &all)
	}
	defs.hidden.mask(all.list)
	if err := all.err("manifest"); err != nil {
		return defs, err
	}
	if err := defs.WithDefaults(namespace).Validate(); err != nil {
		return defs, defs.Locate(err)
	}
	return defs, nil
}

func (defs *Definitions) read(src Source, all *faults) {
	d := decoder{src: src, places: defs.places, hidden: &defs.hidden}
	whole := reflect.ValueOf(&defs.Manifest).Elem()
	for _, doc := range d.parse() {
		// The lists of a later document are appended to those before, and the paths
		// of entries count on.
		part := reflect.New(whole.Type()).Elem()
		d.base = map[string]int{}
		for name, field := range fieldsOf(whole.Type()) {
			d.base[name] = whole.FieldByIndex(field).Len()
		}
		d.value(doc, part, "")
		for i := range part.NumField() {
			whole.Field(i).Set(reflect.AppendSlice(whole.Field(i), part.Field(i)))
		}
	}
	for _, f := range d.faults.list {
		all.add(f)
	}
	all.more += d.more
}

// Locate adds the places in the files to the fields of an error. An error
// without fields, or about fields that are not in the files, is unchanged.
func (defs *Definitions) Locate(err error) error {
	var be *core.Error
	if !errors.As(err, &be) || len(be.Fields) == 0 {
		return err
	}
	var all faults
	found := false
	for _, f := range be.Fields {
		at, ok := defs.at(f.Field)
		found = found || ok
		fault := Fault{Place: at, FieldError: f}
		if !all.full() {
			fault.Excerpt = excerpt(defs.sources[at.File], at)
		}
		all.add(fault)
	}
	if !found {
		return err
	}
	defs.hidden.mask(all.list)
	return all.err("manifest")
}

// Locate adds places to the fields of an error, like [Definitions.Locate], for a
// text that [Decode] reads into v.
func Locate(src Source, v any, err error) error {
	d := decoder{src: src, places: map[string]Place{}, hidden: new(hidden)}
	if docs := d.parse(); len(docs) > 0 {
		d.value(docs[0], reflect.ValueOf(v).Elem(), "")
	}
	defs := Definitions{places: d.places, sources: map[string]string{src.Name: string(src.Text)}, hidden: *d.hidden}
	return defs.Locate(err)
}

// at returns the place of the longest prefix of a path that is in a file.
func (defs *Definitions) at(path string) (Place, bool) {
	for path != "" {
		if at, ok := defs.places[path]; ok {
			return at, true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Place{}, false
}
