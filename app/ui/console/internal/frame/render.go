package frame

import (
	"embed"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
)

//go:embed *.html
var files embed.FS

// Policy is that nothing runs or is styled but from the assets.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Set are templates and the functions that they call.
type Set struct {
	Files fs.FS
	Funcs template.FuncMap
}

// shared has the templates of all pages: the layout and the parts.
var shared = sync.OnceValue(func() *template.Template {
	t := template.New("").Funcs(parts.Funcs).Funcs(template.FuncMap{"styles": func() []string { return Styles }})
	return template.Must(template.Must(t.ParseFS(files, "layout.html")).ParseFS(parts.Files, "*.html"))
})

// own are the pages of the frame itself.
var own = NewTemplates(Set{Files: files})

// Templates finds a page by the name of its file.
type Templates func(name string) *template.Template

// NewTemplates reads pages. Each has the layout, all parts, those of the area, in files such as jobs-parts.html, and those of
// more sets besides, and defines "title" and "main". A page is read when it is first shown: all of them take 60 ms, a
// third of the start of a node.
func NewTemplates(pages Set, more ...Set) Templates {
	read := sync.OnceValue(func() map[string]func() *template.Template {
		base := template.Must(shared().Clone())
		for _, set := range more {
			template.Must(base.Funcs(set.Funcs).ParseFS(set.Files, "*.html"))
		}
		base.Funcs(pages.Funcs)
		names, err := fs.Glob(pages.Files, "*.html")
		if err != nil {
			panic(err) // they are built in
		}
		for _, name := range names {
			if strings.HasSuffix(name, "parts.html") {
				template.Must(base.ParseFS(pages.Files, name))
			}
		}
		found := map[string]func() *template.Template{}
		for _, file := range names {
			name := strings.TrimSuffix(path.Base(file), ".html")
			if name == "layout" || strings.HasSuffix(name, "parts") {
				continue
			}
			found[name] = sync.OnceValue(func() *template.Template {
				page := template.Must(base.Clone())
				return template.Must(page.ParseFS(pages.Files, file))
			})
		}
		return found
	})
	return func(name string) *template.Template { return read()[name]() }
}
