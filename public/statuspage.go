package public

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/core/title"
)

// StatusPage shows monitors of a namespace to the public.
type StatusPage struct {
	Namespace   string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string          `json:"name" doc:"Part of its address; unique in the namespace"`
	Title       string          `json:"title,omitempty" doc:"Default: the name"`
	Description string          `json:"description,omitempty"`
	Sections    []StatusSection `json:"sections,omitempty" doc:"Default: one with all monitors that are public"`
	Off         bool            `json:"off,omitempty" doc:"Nobody sees it"`
	Subscribe   *Subscribing    `json:"subscribe,omitempty" doc:"How visitors subscribe; absent: they cannot"`
	Logo        string          `json:"logo,omitempty" doc:"Image beside the title: a PNG or JPEG in base64, at most 32 KiB and 1,000 pixels a side. Its metadata is removed"`
	Accent      string          `json:"accent,omitempty" doc:"Colour of links and buttons, such as #0b5cad, with a contrast of 4.5 in the light theme"`
	AccentDark  string          `json:"accent_dark,omitempty" doc:"The same in the dark theme; default: the nearest to accent that has the contrast there"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// StatusSection is a group of monitors on a status page. Its names are public.
type StatusSection struct {
	Title    string   `json:"title,omitempty"`
	Monitors []string `json:"monitors,omitempty" doc:"By name"`
	Tags     []string `json:"tags,omitempty" doc:"And all that have one of these"`

	// Titles replace the titles of monitors in the section.
	Titles map[string]string `json:"titles,omitempty" doc:"Other titles of monitors, by name"`
}

// Limits of a status page.
const (
	MaxSections        = 50
	MaxSectionMonitors = 500 // names in one section
)

// WithDefaults returns a copy with the defaults of empty fields.
func (s StatusPage) WithDefaults() StatusPage {
	s.Namespace = core.Or(s.Namespace, core.DefaultNamespace)
	s.Title = core.Or(s.Title, s.Name)
	s.Logo, s.Accent, s.AccentDark = logoText(s.Logo), colourText(s.Accent), colourText(s.AccentDark)
	if s.Subscribe != nil && *s.Subscribe == (Subscribing{}) {
		s.Subscribe = nil
	}
	return s
}

// Validate returns the problems of a status page that has its defaults as one
// error, or nil. It does not check that named monitors exist.
func (s StatusPage) Validate(_ time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, s.Namespace, s.Name, s.Description)
	title.Check(&p, "title", s.Title)
	logo, err := s.Image()
	if err == nil {
		err = logo.check()
	}
	p.Nest("", err)
	Light.check(&p, "accent", s.Accent)
	Dark.check(&p, "accent_dark", s.AccentDark)
	if s.Subscribe != nil {
		p.Nest("subscribe", s.Subscribe.validate())
	}
	if len(s.Sections) > MaxSections {
		p.AtMost("sections", len(s.Sections), MaxSections)
		return p.Err(fmt.Sprintf("status page %q", s.Name))
	}
	for i, section := range s.Sections {
		p.Nest(fmt.Sprintf("sections[%d]", i), section.validate())
	}
	return p.Err(fmt.Sprintf("status page %q", s.Name))
}

func (s StatusSection) validate() error {
	var p core.Problems
	title.Check(&p, "title", s.Title)
	core.CheckNames(&p, "monitors", s.Monitors, MaxSectionMonitors)
	core.CheckTags(&p, s.Tags)
	if len(s.Titles) > MaxSectionMonitors {
		p.AtMost("titles", len(s.Titles), MaxSectionMonitors)
		return p.Err("section")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Titles)) {
		field := "titles." + name
		core.CheckName(&p, field, name)
		title.Check(&p, field, s.Titles[name])
		if s.Titles[name] == "" {
			p.Add(field, "", "is empty", "leave it out to show the title of the monitor")
		}
		if len(s.Tags) == 0 && !slices.Contains(s.Monitors, name) {
			p.Add(field, name, "is not a monitor of the section", "name it in monitors, or leave out its title")
		}
	}
	if len(s.Monitors)+len(s.Tags) == 0 {
		p.Add("monitors", "", "is empty, and tags too", "name what the section shows; a page without sections shows all public monitors")
	}
	return p.Err("section")
}

// Version returns the version of the status page.
func (s StatusPage) Version() string { return core.Version(s.Generation, s.UpdatedAt) }

// Shows reports whether a monitor with a name and tags is on the page.
func (s StatusPage) Shows(name string, tags []string, isPublic bool) bool {
	if len(s.Sections) == 0 {
		return isPublic
	}
	return slices.ContainsFunc(s.Sections, func(section StatusSection) bool { return section.Shows(name, tags, isPublic) })
}

// Shows reports whether a monitor with a name and tags is in the section. A section without names and tags shows all public
// monitors.
func (s StatusSection) Shows(name string, tags []string, isPublic bool) bool {
	if len(s.Monitors)+len(s.Tags) == 0 {
		return isPublic
	}
	return slices.Contains(s.Monitors, name) || core.Share(s.Tags, tags)
}

// Label returns the public label of a monitor with a name, title and tags: the title in the first section that shows it, its own
// title, or its name.
func (s StatusPage) Label(name, title string, tags []string, isPublic bool) string {
	for _, section := range s.Sections {
		if section.Shows(name, tags, isPublic) {
			return cmp.Or(section.Titles[name], title, name)
		}
	}
	return core.Or(title, name)
}

// Path returns the public path of the page.
func (s StatusPage) Path() string {
	if s.Namespace == core.DefaultNamespace || s.Namespace == "" {
		return "/status/" + s.Name
	}
	return "/status/" + s.Namespace + "/" + s.Name
}
