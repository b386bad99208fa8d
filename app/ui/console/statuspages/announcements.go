package statuspages

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

type announcementAPI interface {
	forms.Things
	Announcements(ctx context.Context, f view.AnnouncementFilter) (core.Page[public.Announcement], error)
	Announcement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error)
	CreateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error)
	UpdateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error)
	EndAnnouncement(ctx context.Context, namespace, page string, id int64) (public.Announcement, error)
}

var announcementRoutes = routes{
	"GET /status-pages/{name}/announcements":           announcementList,
	"GET /status-pages/{name}/announcements/-new":      newAnnouncement,
	"POST /status-pages/{name}/announcements/-new":     saveAnnouncement,
	"GET /status-pages/{name}/announcements/{id}":      editAnnouncement,
	"POST /status-pages/{name}/announcements/{id}":     saveAnnouncement,
	"POST /status-pages/{name}/announcements/{id}/end": endAnnouncement,
}

// announcementsData is the announcements of a status page.
type announcementsData struct {
	Name string // of the page
	Page public.StatusPage
	All  core.Page[public.Announcement]
}

func announcementList(p *page) error {
	d := announcementsData{Name: p.R.PathValue("name")}
	ctx := p.R.Context()
	if err := frame.Together(
		frame.Get(&d.Page, func() (public.StatusPage, error) { return p.api.StatusPage(ctx, p.Namespace, d.Name) }),
		frame.Get(&d.All, func() (core.Page[public.Announcement], error) {
			return p.api.Announcements(ctx, view.AnnouncementFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, StatusPage: d.Name})
		}),
	); err != nil {
		return err
	}
	return p.Show("announcements", d)
}

// ShownFrom is when an announcement begins to be shown.
func (p *page) ShownFrom(a public.Announcement) parts.Moment {
	if a.From.IsZero() {
		return p.When(a.CreatedAt)
	}
	return p.When(a.From)
}

// AnnouncementTabs are the views of a status page.
func (p *page) AnnouncementTabs(name, at string) []parts.Tab {
	return []parts.Tab{
		parts.NewTab("Page", p.Link("status-pages", name), at == "page", ""),
		parts.NewTab("Announcements", p.Link("status-pages", name, "announcements"), at == "announcements", ""),
		parts.NewTab("Subscribers", p.Link("status-pages", name, "subscribers"), at == "subscribers", ""),
	}
}

// EndAnnouncement asks before an announcement is ended.
func (p *page) EndAnnouncement(a public.Announcement) parts.Confirm {
	id := strconv.FormatInt(a.ID, 10)
	cmd := p.Command("POST", p.APIPath("/v1/status-pages/"+url.PathEscape(a.Page)+"/announcements/"+id+"/end"), "", "announcement", "end", a.Page, id)
	return parts.Confirm{
		ID: "end-" + id, Button: "End", Title: "End the announcement?", Text: "“" + a.Title + "” is no longer shown. It stays in the list.",
		Action: p.Link("status-pages", a.Page, "announcements", a.ID, "end"), Cmd: &cmd,
	}
}

var announcementInputs = []forms.InputGroup{
	{Inputs: []forms.Input{
		{Path: "title", Label: "Title", Need: true, Hint: "One line that everyone sees."},
		{Path: "text", Label: "Text", Kind: forms.AsArea},
		{Path: "level", Label: "Level", Kind: forms.AsChoice, Options: []string{"info", "notice", "warning"},
			Names: map[string]string{"info": "Info: good to know", "notice": "Notice: planned work or a change", "warning": "Warning: something is wrong"}},
	}},
	{Title: "When it is shown", Grid: true, Inputs: []forms.Input{
		{Path: "from", Label: "From", Kind: forms.AsTime, Hint: "Empty: at once."},
		{Path: "until", Label: "Until", Kind: forms.AsTime, Hint: "Empty: until it is ended."},
		{Path: "zone", Label: "Zone", Hint: "Of these times."},
	}},
}

type announcementData struct {
	forms.Form
	Page string
	A    public.Announcement // zero: a new one
}

func (p *page) announcementForm(a public.Announcement, values url.Values, err error) announcementData {
	name := p.R.PathValue("name")
	body, _ := json.Marshal(map[string]string{"title": "Mail is late", "level": "warning"}) // plain words
	d := announcementData{Page: name, A: a, Form: forms.Form{
		Edit: forms.Edit{Version: values.Get("version")}, Title: "New announcement", New: a.ID == 0, Action: p.Link("status-pages", name, "announcements", "-new"),
		Back: p.Link("status-pages", name, "announcements"), Save: "Announce", Err: err,
		Groups:  forms.Fill(announcementInputs, values, err),
		Command: p.Command("POST", p.APIPath("/v1/status-pages/"+url.PathEscape(name)+"/announcements"), string(body), "announcement", "create", name, "Mail is late", "--level", "warning"),
	}}
	forms.Offer(p.Page, p.api, d.Groups, map[string]string{"zone": "zones"})
	if a.ID != 0 {
		d.Title, d.Action, d.Save = fmt.Sprintf("Announcement %d", a.ID), p.Link("status-pages", name, "announcements", a.ID), "Save"
	}
	return d
}

// zone is that of times in the form, until the person names another.
func (p *page) zone() string {
	if p.Times.Zone == nil || p.Times.Zone == time.Local {
		return "UTC"
	}
	return p.Times.Zone.String()
}

func newAnnouncement(p *page) error {
	if _, err := p.api.StatusPage(p.R.Context(), p.Namespace, p.R.PathValue("name")); err != nil {
		return err
	}
	return p.Show("announcement", p.announcementForm(public.Announcement{}, url.Values{"level": {"info"}, "zone": {p.zone()}}, nil))
}

func (p *page) announcement() (public.Announcement, error) {
	id, err := p.PathID("announcement")
	if err != nil {
		return public.Announcement{}, err
	}
	return p.api.Announcement(p.R.Context(), p.Namespace, p.R.PathValue("name"), id)
}

// zoned is an announcement as a document of the form, whose times are of a zone.
func zoned(a public.Announcement, zone string) forms.Document {
	doc := forms.DocumentOf(a)
	doc["zone"] = zone
	return doc
}

func editAnnouncement(p *page) error {
	a, err := p.announcement()
	if err != nil {
		return err
	}
	return p.Show("announcement", p.announcementForm(a, announcementValues(a, p.zone()), nil))
}

// announcementValues are the values of an announcement for its form, whose times are of a zone.
func announcementValues(a public.Announcement, zone string) url.Values {
	return forms.Versioned(zoned(a, zone).Values(forms.InputsOf(announcementInputs)), a)
}

func saveAnnouncement(p *page) error {
	var a public.Announcement
	doc := forms.Document{}
	isNew := p.R.PathValue("id") == ""
	if !isNew {
		var err error
		if a, err = p.announcement(); err != nil {
			return err
		}
		doc = zoned(a, p.R.PostFormValue("zone"))
	}
	err := doc.Read(forms.InputsOf(announcementInputs), p.R.PostForm)
	delete(doc, "zone")
	typed := public.Announcement{}
	err = cmp.Or(err, doc.To(&typed))
	typed.Namespace, typed.Page, typed.ID = p.Namespace, p.R.PathValue("name"), a.ID
	saved := typed
	if err == nil && isNew {
		saved, err = p.api.CreateAnnouncement(p.R.Context(), typed)
	} else if err == nil {
		saved, err = p.api.UpdateAnnouncement(forms.Expecting(p.Page), typed)
	}
	if err != nil {
		e, both, shown := forms.Meanwhile(p.Page, p.api, err, "announcement", fmt.Sprintf("%s/%d", typed.Page, a.ID), p.Link("status-pages", typed.Page, "announcements", a.ID), typed, func() (public.Announcement, error) { return p.announcement() })
		values := forms.Filled(p.Page, &forms.AsText{}, both, func(a public.Announcement) url.Values { return announcementValues(a, p.R.PostFormValue("zone")) })
		d := p.announcementForm(a, values, shown)
		d.Edit = e
		return p.Again("announcement", d, err)
	}
	return p.Done(p.Link("status-pages", saved.Page, "announcements"), "Announcement %d is %s.", saved.ID, saved.State)
}

func endAnnouncement(p *page) error {
	id, err := p.PathID("announcement")
	if err != nil {
		return err
	}
	a, err := p.api.EndAnnouncement(p.R.Context(), p.Namespace, p.R.PathValue("name"), id)
	if err != nil {
		return err
	}
	return p.Done(p.Link("status-pages", a.Page, "announcements"), "Announcement %d is over.", a.ID)
}
