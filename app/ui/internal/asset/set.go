package asset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Set is files that pages refer to. Their address holds a hash of all of them,
// as a folder, so that they may be kept for ever while scripts and styles still
// name each other by plain relative paths.
type Set struct {
	hash  string
	files map[string]Document
}

var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml; charset=utf-8",
}

// Read makes a set of all styles, scripts and icons below a folder. It panics
// when they cannot be read, because they are built in.
func Read(files fs.FS, folder string) Set {
	s := Set{files: map[string]Document{}}
	sum := sha256.New()
	err := fs.WalkDir(files, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || kinds[path.Ext(name)] == "" {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body)
		s.files[strings.TrimPrefix(name, folder+"/")] = NewDocument(kinds[path.Ext(name)], body)
		return nil
	})
	if err != nil {
		panic(err)
	}
	s.hash = hex.EncodeToString(sum.Sum(nil)[:6])
	return s
}

// Link is where a file is, below the path that the set is served at. It panics
// for a name that is in no set, which the first test that renders it finds.
func (s Set) Link(name string) string {
	if _, ok := s.files[name]; !ok {
		panic("no asset " + name)
	}
	return s.hash + "/" + name
}

// Serve answers for a link if there is such a file. A link to another version, from
// a page of another node during a rolling upgrade, gets the present version, without
// a long cache time.
func (s Set) Serve(w http.ResponseWriter, r *http.Request, link string) bool {
	hash, name, _ := strings.Cut(link, "/")
	d, ok := s.files[name]
	if !ok || hash == "" {
		return false
	}
	keep := "no-cache"
	if hash == s.hash {
		keep = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", keep)
	d.Serve(w, r)
	return true
}
