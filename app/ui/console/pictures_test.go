package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/ui/internal/browser"
)

const (
	picturesFolder = "../../../docs/images/pages"
	picturesPage   = "../../../docs/guides/all-pages.md"
	mostOfPictures = 3 << 20 // bytes of all
	pictureScale   = 0.75    // pixels per CSS pixel
	pictureHigh    = 1000    // CSS pixels; what is below is left out
)

// otherLooks are pages that have a picture in dark and on a phone too.
var otherLooks = []string{"home", "jobs", "job-failed", "monitors", "monitor", "schedules", "task-new"}

// shot is one picture of a page.
type shot struct {
	page, path string
	file       string
	about      string // how it is shown
	scheme     string
	width      int
}

// area is the first word of its path: what the page is about.
func (s shot) area() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(s.path, "/settings"), "/"), "/")
	first, _, _ = strings.Cut(first, "?")
	switch {
	case first != "":
		return strings.ReplaceAll(first, "-", " ")
	case strings.HasPrefix(s.path, "/settings"):
		return "settings"
	}
	return "overview"
}

// shots are the pictures of [everyPage], in its order.
func shots() (all []shot) {
	for _, p := range everyPage {
		all = append(all, shot{p.name, p.path, p.name, "", "light", 1200})
		if slices.Contains(otherLooks, p.name) {
			all = append(all, shot{p.name, p.path, p.name + "-in-dark", ", dark", "dark", 1200}, shot{p.name, p.path, p.name + "-on-a-phone", ", on a phone", "light", 390})
		}
	}
	return all
}

// gallery is the page of the documentation that shows all pictures.
func gallery() string {
	var b strings.Builder
	b.WriteString("# All pages of the web interface\n\nOne picture of each page, of a small installation that the tests make. Some are shown in dark and on a phone too, and long ones are cut. [The tour](web-interface.md) explains them.\n")
	var areas []string
	in := map[string][]shot{}
	for _, s := range shots() {
		if len(in[s.area()]) == 0 {
			areas = append(areas, s.area())
		}
		in[s.area()] = append(in[s.area()], s)
	}
	for _, area := range areas {
		fmt.Fprintf(&b, "\n## %s%s\n", strings.ToUpper(area[:1]), area[1:])
		for _, s := range in[area] {
			fmt.Fprintf(&b, "\n`%s`%s\n\n<img src=\"../images/pages/%s.webp\" width=\"%d\" alt=\"The page %s%s\">\n", s.path, s.about, s.file, s.width*3/5, s.page, s.about)
		}
	}
	return b.String()
}

// Each page has a picture, none is of a page that is gone, and all of them are small. With -update they are taken.
func TestPicturesOfAllPages(t *testing.T) {
	t.Parallel()
	if *update {
		takePictures(t)
	}
	if text, err := os.ReadFile(picturesPage); err != nil || string(text) != gallery() {
		t.Errorf("%s does not show the pages that are there (%v); make it: go test ./ui/console -run Pictures -update", picturesPage, err)
	}
	var names []string
	total := 0
	for _, s := range shots() {
		names = append(names, s.file+".webp")
		text, err := os.ReadFile(filepath.Join(picturesFolder, s.file+".webp"))
		if err != nil || len(text) < 100 || string(text[8:12]) != "WEBP" {
			t.Errorf("%s: no picture (%v); take it: go test ./ui/console -run Pictures -update", s.file, err)
		}
		total += len(text)
	}
	if t.Logf("%d pictures have %d bytes", len(names), total); total > mostOfPictures {
		t.Errorf("they have %d bytes, more than %d", total, mostOfPictures)
	}
	there, err := os.ReadDir(picturesFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if !slices.Contains(names, file.Name()) {
			t.Errorf("%s is of no page", file.Name())
		}
	}
}

func takePictures(t *testing.T) {
	if err := os.RemoveAll(picturesFolder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(picturesFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(picturesPage, []byte(gallery()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := filledSite(t)
	var b *browser.Tab
	for i, shot := range shots() {
		if i%30 == 0 { // a tab has its time
			if b != nil {
				b.Close()
			}
			b = s.tab(s.admin)
		}
		b.Emulate(shot.scheme, shot.width)
		b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": shot.width, "height": 700, "deviceScaleFactor": pictureScale, "mobile": shot.width < 600}, nil)
		b.Visit(s.url + shot.path)
		settled(b)
		var high int
		b.Eval(`document.documentElement.scrollHeight`, &high)
		high = min(max(high, 400), pictureHigh)
		b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": shot.width, "height": high, "deviceScaleFactor": pictureScale, "mobile": shot.width < 600}, nil)
		var taken struct{ Data []byte }
		b.Call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 40}, &taken)
		if err := os.WriteFile(filepath.Join(picturesFolder, shot.file+".webp"), taken.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
