package intake

import (
	"io"
	"strings"

	"github.com/belfry-run/belfry/core"
)

// File is one of several that make a configuration.
type File struct {
	Name string
	Text io.Reader
}

// MaxFiles bounds the files of one configuration.
const MaxFiles = 1000

// GatusFiles is [Gatus] for a configuration of several files, as Gatus reads a
// folder: endpoints of one may tell the channels of another. Lines have the name
// of their file.
func GatusFiles(files []File, o Options) (Result, error) {
	o, err := o.prepare()
	if err != nil {
		return Result{}, err
	}
	if len(files) > MaxFiles {
		return Result{}, core.Errorf(core.TooLarge, "there are more than %d files", MaxFiles).WithHint("import them a part at a time")
	}
	g := &gatus{watching: newWatching(o), providers: map[string]*provider{}, rests: map[*tree]rested{}, fits: map[string]*codes{}}
	all, total := make([][]*tree, len(files)), 0
	for i, f := range files {
		if all[i], err = g.roots(f, &total); err != nil {
			return Result{}, err
		}
		g.label(f.Name, i)
	}
	for i, roots := range all { // whom to tell is known before the endpoints are read
		for _, root := range roots {
			g.alerting(root.get("alerting"))
		}
		g.label(files[i].Name, i)
	}
	for i, roots := range all {
		for _, root := range roots {
			g.root(root)
		}
		g.label(files[i].Name, i)
	}
	if len(g.res.Lines) == 0 {
		return Result{}, core.InvalidField("file", "", "holds no endpoint of Gatus", "it is the config.yaml, with endpoints in it")
	}
	g.fileNotes()
	return g.finish("endpoints")
}

// roots are the documents of a file, with the values of variables.
func (g *gatus) roots(f File, total *int) (roots []*tree, err error) {
	text, err := readAll(f.Text)
	if err != nil {
		return nil, err
	}
	if *total += len(text); *total > MaxBackup {
		return nil, core.Errorf(core.TooLarge, "the files have more than %d bytes", MaxBackup).WithHint("import them a part at a time")
	}
	if !plain(string(text)) {
		return nil, core.InvalidField("file", f.Name, "has bytes that are not text", "save it as UTF-8")
	}
	filled := map[*tree]bool{}
	for _, d := range documents(string(text), withAnchors) {
		if d.fault != nil {
			l := &Line{Number: d.at.line, Text: clip(d.first)}
			l.fault(d.fault.at, "", "", d.fault.message, d.fault.hint)
			g.res.Lines = append(g.res.Lines, *l)
			continue
		}
		g.expand(d.root, filled)
		roots = append(roots, d.root)
	}
	return roots, nil
}

// label gives the lines that were added since the last call the name of their
// file.
func (g *gatus) label(name string, file int) {
	for i := g.labeled; i < len(g.res.Lines); i++ {
		l := &g.res.Lines[i]
		if l.File, l.file = name, file; l.Err != nil && name != "" {
			l.Err.Field = name + ", " + l.Err.Field
		}
	}
	g.labeled = len(g.res.Lines)
}

// expand writes the values of variables into every text of a document. A dollar in
// a value is doubled, as the file would have to. Those without a value stay.
func (g *gatus) expand(t *tree, done map[*tree]bool) {
	if t == nil || len(g.Env) == 0 || done[t] || g.grown > maxGrown {
		return
	}
	done[t] = true
	if strings.Contains(t.text, "$") {
		was := len(t.text)
		t.text = variableName.ReplaceAllStringFunc(t.text, func(found string) string {
			if value, has := g.Env[strings.Trim(found, "${}")]; has && found != "$$" && plain(value) {
				return strings.ReplaceAll(value, "$", "$$")
			}
			return found
		})
		g.grown += max(0, len(t.text)-was)
	}
	for _, next := range t.list {
		g.expand(next, done)
	}
	for _, next := range t.table {
		g.expand(next, done)
	}
}
