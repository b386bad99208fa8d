package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed status
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "status/*.html"))

// asset is a file that pages refer to. Its name holds a hash of what is in it,
// so that it may be kept for ever.
type asset struct {
	document
	name string
}

// assets are found by the name of their file.
var assets = readAssets()

var kinds = map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml; charset=utf-8"}

func readAssets() map[string]asset {
	found := map[string]asset{}
	for ext, kind := range kinds {
		names, err := fs.Glob(files, "status/*"+ext)
		if err != nil {
			panic(err) // the pattern is wrong
		}
		for _, name := range names {
			body, err := files.ReadFile(name)
			if err != nil {
				panic(err) // it was built in
			}
			sum := sha256.Sum256(body)
			base := strings.TrimSuffix(path.Base(name), ext)
			found[base+ext] = asset{newDocument(kind, body), base + "." + hex.EncodeToString(sum[:6]) + ext}
		}
	}
	return found
}

// serveAsset answers for a file if there is one. One of another version, which
// a page of another node refers to while nodes are replaced one by one, gets
// what is nearest, but not for ever.
func serveAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	base, hash, _ := strings.Cut(strings.TrimSuffix(name, path.Ext(name)), ".")
	a, ok := assets[base+path.Ext(name)]
	if !ok || hash == "" {
		return false
	}
	w.Header().Set("Cache-Control", "no-cache")
	if name == a.name {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	a.serve(w, r)
	return true
}
