package console

import (
	"embed"
	"html/template"
	"path"
	"strings"

	"github.com/belfry-run/belfry/ui/internal/asset"
)

//go:embed assets templates
var files embed.FS

var assets = asset.Read(files, "assets")

// templates are the pages by the name of their file. Each has layout.html,
// parts.html and the parts of an area, such as jobs-parts.html, besides, and
// defines "title" and "main".
var templates = readTemplates()

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
