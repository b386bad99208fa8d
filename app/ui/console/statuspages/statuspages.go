package statuspages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

type statusPageAPI interface {
	SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error)
	Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error)
}

var statusPageRoutes = routes{
	"GET /status-pages":                statusPageList,
	"GET /status-pages/-new":           newStatusPage,
	"POST /status-pages/-new":          saveStatusPage,
	"GET /status-pages/{name}":         editStatusPage,
	"GET /status-pages/{name}/logo":    statusPageLogo,
	"POST /status-pages/{name}":        saveStatusPage,
	"POST /status-pages/{name}/off":    disableStatusPage,
	"POST /status-pages/{name}/on":     enableStatusPage,
	"POST /status-pages/{name}/delete": deleteStatusPage,
}

func statusPageList(p *page) error {
	all, err := p.api.StatusPages(p.R.Context(), forms.DocumentFilter(p.Page))
	if err != nil {
		return err
	}
	return p.Show("status-pages", all)
}

// PublicPage is where everyone sees a status page.
func (p *page) PublicPage(s public.StatusPage) string {
	path := p.Site.Prefix + "/status/"
	if s.Namespace != core.DefaultNamespace {
		path += url.PathEscape(s.Namespace) + "/"
	}
	return path + url.PathEscape(s.Name)
}

// BadgeMarkdown is the badge of a page for a text elsewhere.
func (p *page) BadgeMarkdown(s public.StatusPage) string {
	page := p.Site.Base(p.R) + strings.TrimPrefix(p.PublicPage(s), p.Site.Prefix)
	return fmt.Sprintf("[![%s](%s/badge.svg)](%s)", cmp.Or(s.Title, s.Name), page, page)
}

// statusPageShows describes the contents of a status page.
func statusPageShows(s public.StatusPage) string {
	if len(s.Sections) == 0 {
		return "all public monitors"
	}
	names, tags := 0, 0
	for _, section := range s.Sections {
		names += len(section.Monitors)
		tags += len(section.Tags)
	}
	text := parts.Plural(len(s.Sections), "section", "sections")
	if names > 0 {
		text += ", " + parts.Plural(names, "monitor by name", "monitors by name")
	}
	if tags > 0 {
		text += ", " + parts.Plural(tags, "tag", "tags")
	}
	return text
}

// moreSections are empty ones to be filled.
const moreSections = 1

func statusPageGroups(isNew bool, sections int, logo string, hasURL bool) []forms.InputGroup {
	needs := ""
	if !hasURL {
		needs = " This node has no public URL: visitors cannot subscribe until public_url is set."
	}
	about := forms.InputGroup{Inputs: []forms.Input{
		{Path: "title", Label: "Title", Hint: "Default: the name."},
		{Path: "description", Label: "Description", Kind: forms.AsArea},
		{Path: "off", Label: "Disabled", Kind: forms.AsCheck, Hint: "The page is not public."},
		{Path: "subscribe.mail", Label: "Subscriptions by mail", Hint: "Channel of kind email through which visitors are notified, once they have confirmed. Empty: none." + needs},
		{Path: "subscribe.webhooks", Label: "Subscriptions by webhook", Kind: forms.AsCheck, Hint: "Visitors may name an address that is called." + needs},
	}}
	if isNew {
		about.Inputs = append([]forms.Input{{Path: "name", Label: "Name", Need: true, Hint: "Part of its address: /status/NAME"}}, about.Inputs...)
	}
	look := forms.InputGroup{Title: "Look", Inputs: []forms.Input{
		{Path: "logo", Label: "Logo", Kind: forms.AsImage, Source: logo, Hint: "A PNG or JPEG of at most 32 KiB, drawn for a light ground. Its metadata is removed."},
		{Path: "accent", Label: "Accent", Hint: "Colour of links and buttons, such as #0b5cad. Text in it has to be readable: a contrast of 4.5."},
		{Path: "accent_dark", Label: "Accent in the dark theme", Hint: "Default: the nearest colour that is readable there."},
	}}
	groups := []forms.InputGroup{about, look}
	for i := range sections {
		at := fmt.Sprintf("sections[%d].", i)
		g := forms.InputGroup{Title: fmt.Sprintf("Section %d", i+1), Inputs: []forms.Input{
			{Path: at + "title", Label: "Title"},
			{Path: at + "monitors", Label: "Monitors", Kind: forms.AsWords, Hint: "By name, in this order. All of them are shown to everyone, public or not."},
			{Path: at + "tags", Label: "Tags", Kind: forms.AsWords, Hint: "All monitors that have one of them."},
			{Path: at + "titles", Label: "Other titles", Kind: forms.AsPairs, Hint: "By name of monitor. Default: the monitor's own title."},
		}}
		if i == 0 {
			g.Text = "Without sections a page shows all monitors that are public. A section without monitors, tags and other titles is left out."
		}
		groups = append(groups, g)
	}
	return groups
}

// offerMail offers the channels of kind email. A failed read leaves them out.
func (p *page) offerMail(groups []forms.InputGroup) []forms.InputGroup {
	inputs := groups[0].Inputs
	i := slices.IndexFunc(inputs, func(in forms.Input) bool { return in.Path == "subscribe.mail" })
	found, _ := p.api.Channels(p.R.Context(), view.DocumentFilter{Namespace: p.Namespace, Paging: core.Paging{Limit: mailOffers}})
	inputs[i].Titles = map[string]string{}
	for _, c := range found.Items {
		if c.Email != nil {
			inputs[i].Offers, inputs[i].Titles[c.Name] = append(inputs[i].Offers, c.Name), c.Title
		}
	}
	return groups
}

// mailOffers bounds the channels among which those of mail are looked for.
const mailOffers = 200

func (p *page) statusPageForm(name string, sections int, values url.Values, err error) forms.Form {
	sections = min(sections, public.MaxSections)
	logo := ""
	if name != "" {
		logo = p.Link("status-pages", name, "logo")
	}
	f := forms.Form{
		Files: true, AsText: forms.AsText{Has: true},
		Edit: forms.Edit{Version: values.Get("version")}, Title: "New status page", New: name == "", Action: p.Link("status-pages", "-new"), Back: p.Link("status-pages"), Save: "Create status page", Err: err,
		Groups: forms.Fill(p.offerMail(statusPageGroups(name == "", sections, logo, p.Site.Public)), values, err), Try: "One more section",
		Command: p.Command("PUT", p.APIPath("/v1/status-pages/public"), `{"title":"How we are","sections":[{"title":"Shop","tags":["shop"]}]}`, "status-page", "set", "public", "--title", "How we are"),
	}
	if name != "" {
		f.Title, f.Action, f.Save = "Status page "+cmp.Or(values.Get("title"), name), p.Link("status-pages", name), "Save"
		cmd := p.Command("DELETE", p.APIPath("/v1/status-pages/"+url.PathEscape(name)), "", "status-page", "delete", name)
		f.Delete = &parts.Confirm{ID: "delete", Button: "Delete", Danger: true, Title: "Delete status page " + name + "?", Text: deleteText,
			Action: p.Link("status-pages", name, "delete"), Cmd: &cmd}
	}
	return f
}

type statusPageData struct {
	forms.Form
	Page public.StatusPage
}

func newStatusPage(p *page) error {
	return p.Show("status-page", statusPageData{Form: p.statusPageForm("", 1, nil, nil)})
}

func editStatusPage(p *page) error {
	s, err := p.api.StatusPage(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Show("status-page", statusPageData{p.statusPageForm(s.Name, len(s.Sections)+moreSections, statusPageValues(s, s.Logo), nil), s})
}

// statusPageValues are the values of a status page for its form, whose logo is kept if it is the saved one.
func statusPageValues(s public.StatusPage, saved string) url.Values {
	values := forms.Versioned(forms.DocumentOf(s).Values(forms.InputsOf(statusPageGroups(false, len(s.Sections)+moreSections, "", true))), s)
	if s.Logo != "" && s.Logo == saved {
		values.Set("logo", forms.Kept)
	}
	return values
}

func saveStatusPage(p *page) error {
	name := p.R.PathValue("name")
	n := 0
	for ; n < public.MaxSections && p.R.PostForm.Has(fmt.Sprintf("sections[%d].title", n)); n++ {
		continue
	}
	before := p.R.PostForm.Get("logo")
	if err := forms.Uploaded(p.R, "logo", public.MaxLogo); err != nil {
		return err
	}
	if p.R.PostFormValue("do") == "try" && !p.R.PostForm.Has("definition") {
		s, err := readStatusPage(p.R.PostForm, name, n)
		return p.Show("status-page", statusPageData{p.statusPageForm(name, n+1, p.R.PostForm, nil), p.typedPage(name, s, err)})
	}
	s, text, shown, err := forms.ReadEither(p.Page, "status page", name == "", func() (public.StatusPage, error) { return readStatusPage(p.R.PostForm, name, n) })
	if shown {
		if err == nil {
			n = len(s.Sections) + moreSections
		}
		d := statusPageData{p.statusPageForm(name, max(n, 1), forms.ValuesOf(p.Page, text, err, s, statusPageGroups(name == "", n, "", true)), err), p.typedPage(name, s, err)}
		d.AsText = text
		return forms.ShowAgain(p.Page, "status-page", d, err)
	}
	if s.Logo == forms.Kept && name != "" {
		is, failed := p.api.StatusPage(p.R.Context(), p.Namespace, name)
		s.Logo, err = is.Logo, cmp.Or(failed, err)
	}
	s.Namespace = p.Namespace
	if name != "" {
		s.Name = name
	} else if err == nil {
		err = forms.IsFree(s.Name, "status page", func() error { _, err := p.api.StatusPage(p.R.Context(), p.Namespace, s.Name); return err })
	}
	if err == nil {
		_, err = p.api.SaveStatusPage(forms.Expecting(p.Page), s)
	}
	if err != nil {
		if slices.ContainsFunc(parts.FaultsOf(err), func(f core.FieldError) bool { return f.Field == "logo" }) {
			p.R.PostForm.Set("logo", before)
		}
		var now public.StatusPage
		e, both, said := forms.Meanwhile(p.Page, p.api, err, "status_page", name, p.Link("status-pages", name), s, func() (_ public.StatusPage, err error) {
			now, err = p.api.StatusPage(p.R.Context(), p.Namespace, name)
			return now, err
		})
		values := forms.Filled(p.Page, &text, both, func(s public.StatusPage) url.Values { return statusPageValues(s, now.Logo) })
		if both != nil {
			n = len(both.Sections) + moreSections
		}
		d := statusPageData{p.statusPageForm(name, max(n, 1), values, said), s}
		d.Edit, d.AsText = e, text
		return p.Again("status-page", d, err)
	}
	return p.Done(p.Link("status-pages", s.Name), "Status page %s is saved.", s.Name)
}

// typedPage is the page that a form is about, as it was typed where that could be read.
func (p *page) typedPage(name string, s public.StatusPage, err error) public.StatusPage {
	if err != nil {
		s = public.StatusPage{}
	}
	s.Namespace, s.Name = p.Namespace, name
	return s
}

// readStatusPage makes a status page of a form with n sections.
func readStatusPage(form url.Values, name string, n int) (s public.StatusPage, err error) {
	doc := forms.Document{}
	err = doc.Read(forms.InputsOf(statusPageGroups(name == "", 0, "", true)), form)
	err = cmp.Or(err, doc.To(&s))
	for i := range n {
		at := fmt.Sprintf("sections[%d].", i)
		section := public.StatusSection{
			Title: strings.TrimSpace(form.Get(at + "title")), Monitors: forms.PartsOf(form.Get(at+"monitors"), ", \t\r\n"), Tags: forms.PartsOf(form.Get(at+"tags"), ", \t\r\n"),
		}
		titles := forms.Document{}
		err = forms.Both(err, titles.Read([]forms.Input{{Path: at + "titles", Kind: forms.AsPairs}}, form))
		if pairs, is := titles.At(at + "titles").(map[string]any); is && len(pairs) > 0 {
			section.Titles = map[string]string{}
			for name, title := range pairs {
				section.Titles[name] = fmt.Sprint(title)
			}
		}
		if len(section.Monitors)+len(section.Tags)+len(section.Titles) > 0 { // titles of nothing are refused, and not lost
			s.Sections = append(s.Sections, section)
		}
	}
	return s, err
}

// statusPageLogo is the logo as it is saved, also of a page that is not public.
func statusPageLogo(p *page) error {
	s, err := p.api.StatusPage(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	logo, err := s.Image()
	if err == nil && s.Logo == "" {
		err = core.Errorf(core.NotFound, "status page %q has no logo", s.Name)
	}
	if err != nil {
		return err
	}
	h := p.W.Header()
	h.Set("Content-Type", logo.Type)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(p.W, p.R, "", time.Time{}, bytes.NewReader(logo.Bytes))
	return nil
}

func deleteStatusPage(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteStatusPage(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("status-pages"), "Status page %s is deleted.", name)
}
