package ui

import (
	"embed"
	"html/template"
	"sync"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
)

//go:embed status
var files embed.FS

// The templates and the assets are read at the first request for a status page, and not by every process.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").ParseFS(files, "status/*.html"))
})

// assets are the style and the icons of status pages.
var assets = sync.OnceValue(func() asset.Set { return asset.Read(files, "status") })
