package monitor

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// StatusPage shows monitors of a namespace to everyone.
type StatusPage struct {
	Namespace   string          `json:"namespace,omitempty" doc:"Owner; default: default"`
	Name        string          `json:"name" doc:"Part of its address; unique in the namespace"`
	Title       string          `json:"title,omitempty" doc:"Default: the name"`
	Description string          `json:"description,omitempty"`
	Sections    []StatusSection `json:"sections,omitempty" doc:"Default: one with all monitors that are public"`
	Off         bool            `json:"off,omitempty" doc:"Nobody sees it"`

	ID         int64     `json:"id,omitempty" readOnly:"true"`
	Generation int64     `json:"generation,omitempty" readOnly:"true"`
	CreatedAt  time.Time `json:"created_at,omitzero" readOnly:"true"`
	UpdatedAt  time.Time `json:"updated_at,omitzero" readOnly:"true"`
}

// StatusSection is a group of monitors on a status page. What it names is
// shown to everyone.
type StatusSection struct {
	Title    string   `json:"title,omitempty"`
	Monitors []string `json:"monitors,omitempty" doc:"By name"`
	Tags     []string `json:"tags,omitempty" doc:"And all that have one of these"`
}

const MaxSections = 50

const MaxSectionMonitors = 500

// WithDefaults fills what was left out.
func (s StatusPage) WithDefaults() StatusPage {
	s.Namespace = core.Or(s.Namespace, core.DefaultNamespace)
	s.Title = core.Or(s.Title, s.Name)
	return s
}

// Validate says everything that is wrong with a status page that has its
// defaults. Whether what it names exists is found when it is shown.
func (s StatusPage) Validate(_ time.Time) error {
	var p core.Problems
	core.CheckDocument(&p, s.Namespace, s.Name, s.Description)
	checkTitle(&p, "title", s.Title)
	if len(s.Sections) > MaxSections {
		p.Addf("sections", len(s.Sections), "has more than %d entries", MaxSections)
		return p.Err(fmt.Sprintf("status page %q", s.Name))
	}
	for i, section := range s.Sections {
		p.Nest(fmt.Sprintf("sections[%d]", i), section.validate())
	}
	return p.Err(fmt.Sprintf("status page %q", s.Name))
}

func (s StatusSection) validate() error {
	var p core.Problems
	checkTitle(&p, "title", s.Title)
	core.CheckNames(&p, "monitors", s.Monitors, MaxSectionMonitors)
	core.CheckTags(&p, s.Tags)
	if len(s.Monitors)+len(s.Tags) == 0 {
		p.Add("monitors", "", "is empty, and tags too", "name what the section shows; a page without sections shows all public monitors")
	}
	return p.Err("section")
}

// checkTitle wants one line of text.
func checkTitle(p *core.Problems, field, title string) {
	if clean, cut := core.CleanText(title, core.MaxTitle); cut || core.OneLine(clean) != title {
		p.Add(field, title, fmt.Sprintf("is not one line of at most %d bytes", core.MaxTitle), "")
	}
}
