package console

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

type statusPageAPI interface {
	SaveStatusPage(ctx context.Context, d monitor.StatusPage) (monitor.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (monitor.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.StatusPage], error)
}

var statusPageRoutes = []route{
	{"GET /status-pages", statusPageList},
	{"GET /status-pages/-new", newStatusPage},
	{"POST /status-pages/-new", saveStatusPage},
	{"GET /status-pages/{name}", editStatusPage},
	{"POST /status-pages/{name}", saveStatusPage},
	{"POST /status-pages/{name}/delete", deleteStatusPage},
}

func (p *page) documentFilter() view.DocumentFilter {
	return view.DocumentFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace}
}

func statusPageList(p *page) error {
	all, err := p.api.StatusPages(p.r.Context(), p.documentFilter())
	if err != nil {
		return err
	}
	return p.show("status-pages", all)
}

// PublicPage is where everyone sees a status page.
func (p *page) PublicPage(s monitor.StatusPage) string {
	path := p.c.prefix + "/status/"
	if s.Namespace != core.DefaultNamespace {
		path += url.PathEscape(s.Namespace) + "/"
	}
	return path + url.PathEscape(s.Name)
}

// statusPageShows says what a status page shows.
func statusPageShows(s monitor.StatusPage) string {
	if len(s.Sections) == 0 {
		return "all public monitors"
	}
	names, tags := 0, 0
	for _, section := range s.Sections {
		names += len(section.Monitors)
		tags += len(section.Tags)
	}
	text := plural(len(s.Sections), "section", "sections")
	if names > 0 {
		text += ", " + plural(names, "monitor by name", "monitors by name")
	}
	if tags > 0 {
		text += ", " + plural(tags, "tag", "tags")
	}
	return text
}

// moreSections are empty ones to be filled.
const moreSections = 1

func statusPageGroups(isNew bool, sections int) []inputGroup {
	about := inputGroup{Inputs: []input{
		{Path: "title", Label: "Title", Hint: "Default: the name."},
		{Path: "description", Label: "Description", Kind: asArea},
		{Path: "off", Label: "Disabled", Kind: asCheck, Hint: "The page is not public."},
	}}
	if isNew {
		about.Inputs = append([]input{{Path: "name", Label: "Name", Need: true, Hint: "Part of its address: /status/NAME"}}, about.Inputs...)
	}
	groups := []inputGroup{about}
	for i := range sections {
		at := fmt.Sprintf("sections[%d].", i)
		g := inputGroup{Title: fmt.Sprintf("Section %d", i+1), Inputs: []input{
			{Path: at + "title", Label: "Title"},
			{Path: at + "monitors", Label: "Monitors", Kind: asWords, Hint: "By name, in this order. All of them are shown to everyone, public or not."},
			{Path: at + "tags", Label: "and tags", Kind: asWords, Hint: "All monitors that have one of them."},
		}}
		if i == 0 {
			g.Text = "Without sections a page shows all monitors that are public. A section without monitors and tags is left out."
		}
		groups = append(groups, g)
	}
	return groups
}

func (p *page) statusPageForm(name string, sections int, values url.Values, err error) form {
	sections = min(sections, monitor.MaxSections)
	f := form{
		edit: edit{Version: values.Get("version")}, Title: "New status page", New: name == "", Action: p.Link("status-pages", "-new"), Back: p.Link("status-pages"), Save: "Create status page", Err: err,
		Groups: fill(statusPageGroups(name == "", sections), values, err), Try: "One more section",
		Command: p.Command("PUT", p.apiPath("/v1/status-pages/public"), `{"title":"How we are","sections":[{"title":"Shop","tags":["shop"]}]}`, "status-page", "set", "public", "--title", "How we are"),
	}
	if name != "" {
		f.Title, f.Action, f.Save = "Status page "+name, p.Link("status-pages", name), "Save"
		cmd := p.Command("DELETE", p.apiPath("/v1/status-pages/"+url.PathEscape(name)), "", "status-page", "delete", name)
		f.Delete = &confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete status page " + name + "?", Text: "Its address leads nowhere then. The monitors stay.",
			Action: p.Link("status-pages", name, "delete"), Cmd: &cmd}
	}
	return f
}

type statusPageData struct {
	form
	Page monitor.StatusPage
}

func newStatusPage(p *page) error {
	return p.show("status-page", statusPageData{form: p.statusPageForm("", 1, nil, nil)})
}

func editStatusPage(p *page) error {
	s, err := p.api.StatusPage(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	n := len(s.Sections) + moreSections
	return p.show("status-page", statusPageData{p.statusPageForm(s.Name, n, versioned(documentOf(s).values(inputsOf(statusPageGroups(false, n))), s), nil), s})
}

func saveStatusPage(p *page) error {
	name := p.r.PathValue("name")
	n := 0
	for ; n < monitor.MaxSections && p.r.PostForm.Has(fmt.Sprintf("sections[%d].title", n)); n++ {
		continue
	}
	if p.r.PostFormValue("do") == "try" {
		return p.show("status-page", statusPageData{p.statusPageForm(name, n+1, p.r.PostForm, nil), monitor.StatusPage{Namespace: p.Namespace, Name: name}})
	}
	doc := jsonThing{}
	err := doc.read(statusPageGroups(name == "", 0)[0].Inputs, p.r.PostForm)
	s := monitor.StatusPage{}
	if err == nil {
		err = doc.to(&s)
	}
	for i := range n {
		at := fmt.Sprintf("sections[%d].", i)
		section := monitor.StatusSection{
			Title: strings.TrimSpace(p.r.PostForm.Get(at + "title")), Monitors: partsOf(p.r.PostForm.Get(at+"monitors"), ", \t\r\n"), Tags: partsOf(p.r.PostForm.Get(at+"tags"), ", \t\r\n"),
		}
		if len(section.Monitors)+len(section.Tags) > 0 {
			s.Sections = append(s.Sections, section)
		}
	}
	s.Namespace = p.Namespace
	if name != "" {
		s.Name = name
	} else if err == nil {
		err = isFree(s.Name, "status page", func() error { _, err := p.api.StatusPage(p.r.Context(), p.Namespace, s.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveStatusPage(p.expecting(), s)
	}
	if err != nil {
		e, shown := meanwhile(p, p.api, err, "status_page", name, p.Link("status-pages", name), s, func() (monitor.StatusPage, error) {
			return p.api.StatusPage(p.r.Context(), p.Namespace, name)
		})
		d := statusPageData{p.statusPageForm(name, max(n, 1), p.r.PostForm, shown), s}
		d.edit = e
		return p.again("status-page", d, err)
	}
	return p.done(p.Link("status-pages", s.Name), "Status page %s is saved.", s.Name)
}

// isFree refuses the name of a new thing that is taken: to save it would
// replace the other one.
func isFree(name, noun string, read func() error) error {
	if name == "" {
		return core.InvalidField("name", "", "is missing", "")
	}
	switch err := read(); {
	case core.CodeOf(err) == core.NotFound:
		return nil
	case err != nil:
		return err
	}
	e := core.Errorf(core.Conflict, "there is a %s %q already", noun, name).WithHint("edit that one, or choose another name")
	e.Fields = []core.FieldError{{Field: "name", Value: name, Message: "is taken"}}
	return e
}

func deleteStatusPage(p *page) error {
	name := p.r.PathValue("name")
	if err := p.api.DeleteStatusPage(p.r.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.done(p.Link("status-pages"), "Status page %s is deleted.", name)
}
