package ui

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/ui/internal/asset"
)

//go:embed status
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "status/*.html"))

// assets are the style and the icons of status pages.
var assets = asset.Read(files, "status")
