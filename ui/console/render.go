package console

import (
	"embed"
	"html/template"
	"path"
	"strings"
	"sync"

	"github.com/belfry-run/belfry/ui/internal/asset"
)

//go:embed assets templates
var files embed.FS

// The assets and the templates are read when the first console is made, and not by every process: each verb of the command
// line is one, and each program that runs in a sandbox is two.
var readAssets = sync.OnceValue(func() asset.Set { return asset.Read(files, "assets") })

// templates are the pages by the name of their file. Each has layout.html,
// parts.html and the parts of an area, such as jobs-parts.html, besides, and
// defines "title" and "main".
var templates = sync.OnceValue(readTemplates)

func readTemplates() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(funcs).ParseFS(files, "templates/layout.html", "templates/*parts.html"))
	names, err := files.ReadDir("templates")
	if err != nil {
		panic(err) // they are built in
	}
	found := map[string]*template.Template{}
	for _, entry := range names {
		name := strings.TrimSuffix(entry.Name(), ".html")
		if name == "layout" || strings.HasSuffix(name, "parts") {
			continue
		}
		own := template.Must(shared.Clone())
		found[name] = template.Must(own.ParseFS(files, path.Join("templates", entry.Name())))
	}
	return found
}
