package gatus

import (
	"io"
	"strings"

	"github.com/belfry-run/belfry/app/intake/internal/base"
	"github.com/belfry-run/belfry/app/intake/internal/tree"
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
func GatusFiles(files []File, o base.Options) (base.Result, error) {
	o, err := o.Prepare()
	if err != nil {
		return base.Result{}, err
	}
	if len(files) > MaxFiles {
		return base.Result{}, core.Errorf(core.TooLarge, "there are more than %d files", MaxFiles).WithHint("import them a part at a time")
	}
	g := &gatus{Watching: base.NewWatching(o), providers: map[string]*provider{}, rests: map[*tree.Tree]rested{}, fits: map[string]*codes{}}
	all, total := make([][]*tree.Tree, len(files)), 0
	for i, f := range files {
		if all[i], err = g.roots(f, &total); err != nil {
			return base.Result{}, err
		}
		g.label(f.Name, i)
	}
	for i, roots := range all { // whom to tell is known before the endpoints are read
		for _, root := range roots {
			g.alerting(root.Get("alerting"))
		}
		g.label(files[i].Name, i)
	}
	for i, roots := range all {
		for _, root := range roots {
			g.root(root)
		}
		g.label(files[i].Name, i)
	}
	if len(g.Res.Lines) == 0 {
		return base.Result{}, core.InvalidField("file", "", "holds no endpoint of Gatus", "it is the config.yaml, with endpoints in it")
	}
	g.fileNotes()
	return g.Finish("endpoints")
}

// roots are the documents of a file, with the values of variables.
func (g *gatus) roots(f File, total *int) (roots []*tree.Tree, err error) {
	text, err := base.ReadAll(f.Text)
	if err != nil {
		return nil, err
	}
	if *total += len(text); *total > base.MaxBackup {
		return nil, core.Errorf(core.TooLarge, "the files have more than %d bytes", base.MaxBackup).WithHint("import them a part at a time")
	}
	if !base.Plain(string(text)) {
		return nil, core.InvalidField("file", f.Name, "has bytes that are not text", "save it as UTF-8")
	}
	filled := map[*tree.Tree]bool{}
	for _, d := range tree.Documents(string(text), tree.WithAnchors) {
		if d.Fault != nil {
			l := &base.Line{Number: d.At.Line, Text: base.Clip(d.First)}
			l.Fault(d.Fault.At, "", "", d.Fault.Message, d.Fault.Hint)
			g.Res.Lines = append(g.Res.Lines, *l)
			continue
		}
		g.expand(d.Root, filled)
		roots = append(roots, d.Root)
	}
	return roots, nil
}

// label gives the lines that were added since the last call the name of their
// file.
func (g *gatus) label(name string, file int) {
	for i := g.labeled; i < len(g.Res.Lines); i++ {
		l := &g.Res.Lines[i]
		if l.File, l.FileIndex = name, file; l.Err != nil && name != "" {
			l.Err.Field = name + ", " + l.Err.Field
		}
	}
	g.labeled = len(g.Res.Lines)
}

// expand writes the values of variables into every text of a document. A dollar in
// a value is doubled, as the file would have to. Those without a value stay.
func (g *gatus) expand(t *tree.Tree, done map[*tree.Tree]bool) {
	if t == nil || len(g.Env) == 0 || done[t] || g.Grown > base.MaxGrown {
		return
	}
	done[t] = true
	if strings.Contains(t.Text, "$") {
		was := len(t.Text)
		t.Text = base.VariableName.ReplaceAllStringFunc(t.Text, func(found string) string {
			if value, has := g.Env[strings.Trim(found, "${}")]; has && found != "$$" && base.Plain(value) {
				return strings.ReplaceAll(value, "$", "$$")
			}
			return found
		})
		g.Grown += max(0, len(t.Text)-was)
	}
	for _, next := range t.List {
		g.expand(next, done)
	}
	for _, next := range t.Table {
		g.expand(next, done)
	}
}
