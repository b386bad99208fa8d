package parts

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"
)

// The icons are Lucide's, unchanged, under the licence beside them.
//
//go:embed icons/*.svg
var iconFiles embed.FS

var (
	iconBody  = regexp.MustCompile(`(?s)<svg[^>]*>(.*)</svg>`)
	iconSpace = regexp.MustCompile(`\s+`)
)

var icons = sync.OnceValue(func() map[string]template.HTML {
	found := map[string]template.HTML{}
	entries, err := iconFiles.ReadDir("icons")
	if err != nil {
		panic(err) // they are built in
	}
	for _, e := range entries {
		text, err := iconFiles.ReadFile("icons/" + e.Name())
		if err != nil {
			panic(err)
		}
		body := strings.TrimSpace(iconSpace.ReplaceAllString(iconBody.FindStringSubmatch(string(text))[1], " "))
		body = strings.NewReplacer(" />", "/>", "> <", "><").Replace(body)
		found[strings.TrimSuffix(e.Name(), ".svg")] = template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">` + body + `</svg>`) //nolint:gosec // built in
	}
	return found
})

// icon is one of the icons, as part of a page. It says nothing: a word stands
// beside it, or its button has a label.
func icon(name string) (template.HTML, error) {
	found, known := icons()[name]
	if !known {
		return "", fmt.Errorf("no icon %s", name)
	}
	return found, nil
}

// IconNames are all icons, for the page that shows them.
func IconNames() (names []string) {
	entries, _ := iconFiles.ReadDir("icons") // they are built in
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".svg"))
	}
	return names
}
