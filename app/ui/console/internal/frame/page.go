// Package frame has the common parts of all pages of the console: the request of a person, the frame around a page, answers,
// links, and the routes of an area. [Page] is one request; the page of each area embeds it. A page gets its token from the
// sign-in, and each action checks the scope of that token.
package frame

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/fresh"
	"github.com/belfry-run/belfry/app/ui/internal/asset"
	"github.com/belfry-run/belfry/core"
)

// Page is one request of a person, and the value of its template. Each area embeds
// it in a page of its own.
type Page struct {
	Site *Site
	W    http.ResponseWriter
	R    *http.Request

	Token      access.Token // of the person who is signed in; without a name: none
	Namespace  string       // that is shown; * for all
	Theme      string       // light, dark, or auto
	Times      Times        // how times are shown
	Flash      *flash       // the result of the last action
	Fill       func()       // reads the data of the frame when a page is rendered; nil: none
	Counts     NavCounts    // shown beside entries of the navigation
	Namespaces []string     // to choose from
	Now        time.Time
	Since      string // cursor of the changes from here on
	Data       any    // data of the handler's page

	Status int // to answer with; 0: OK

	view      any // the value of templates: the page of an area, or this one
	templates Templates
}

// NewPage is a request before its person is known.
func (s *Site) NewPage(w http.ResponseWriter, r *http.Request) *Page {
	p := &Page{Site: s, W: w, R: r, Now: s.Now(), Namespace: core.DefaultNamespace, Theme: "auto"}
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		p.Theme = cookie.Value
	}
	p.Times = timesOf(r)
	return p
}

// Of makes the page of an area, which embeds this one, the value of templates.
func (p *Page) Of(view any, templates Templates) {
	p.view, p.templates = view, templates
}

// Enter sets the token of the request. The page then shows the namespaces of the
// token, and of these the one in the address.
func (p *Page) Enter(t access.Token) {
	p.Token = t
	p.Namespace = p.home()
	if asked := p.R.URL.Query().Get("namespace"); asked != "" {
		p.Namespace = asked
	}
}

// home is the namespace by default.
func (p *Page) home() string {
	if p.Token.Namespace == core.AnyNamespace {
		return core.DefaultNamespace
	}
	return p.Token.Namespace
}

// Show answers with a template and its data.
func (p *Page) Show(name string, data any) error {
	p.Data = data
	p.takeFlash()
	p.Render(name)
	return nil
}

// Render answers with a template. Data is set already.
func (p *Page) Render(name string) {
	p.render(p.templates(name), name, p.view)
}

func (p *Page) render(t *template.Template, name string, view any) {
	if p.Fill != nil && p.R.Header.Get(fresh.Asks) == "" { // a live update does not change the frame
		p.Fill()
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", view); err != nil {
		p.Site.Log.Error("page not rendered", "page", name, "error", err)
		http.Error(p.W, "This page could not be made. The server's log says why.", http.StatusInternalServerError)
		return
	}
	body, kind := b.Bytes(), "text/html; charset=utf-8"
	if known, asks := p.R.Header[fresh.Knows]; asks && p.R.Method == http.MethodGet && p.Status == 0 && p.Token.ID != 0 {
		if answer, err := p.Site.fresh.Answer(strconv.FormatInt(p.Token.ID, 10), strings.Join(known, " "), body); err == nil {
			body, kind = answer, "application/json"
		}
	}
	p.W.Header().Set("Content-Type", kind)
	// The answer of a form is not compressed: it may show a secret, which the size of compressed text would help to guess.
	if p.R.Method == http.MethodGet {
		body = asset.Pack(p.W.Header(), p.R, body)
	}
	if p.Status != 0 {
		p.W.WriteHeader(p.Status)
	}
	_, _ = p.W.Write(body) // the client may have closed the connection
}

// Done answers an action with a redirect to a page, which shows the message. The
// link is one of [Page.Link].
func (p *Page) Done(link, format string, args ...any) error {
	p.setFlash(flash{Text: fmt.Sprintf(format, args...)})
	return p.seeOther(link)
}

// DoneUndo is Done for an action that can be undone: by a form without fields to
// the link undo, which is one of [Page.Link] too.
func (p *Page) DoneUndo(link, undo, format string, args ...any) error {
	p.setFlash(flash{Text: fmt.Sprintf(format, args...), Undo: undo})
	return p.seeOther(link)
}

// DoneBadly answers an action that failed or had no effect.
func (p *Page) DoneBadly(link, format string, args ...any) error {
	p.setFlash(flash{Text: fmt.Sprintf(format, args...), Bad: true})
	return p.seeOther(link)
}

// seeOther redirects to a page, or to the page in the field next of the form.
func (p *Page) seeOther(link string) error {
	if next := p.R.PostForm.Get("next"); next != "" {
		link = p.Site.Prefix + LocalPath(strings.TrimPrefix(next, p.Site.Prefix))
	}
	http.Redirect(p.W, p.R, link, http.StatusSeeOther)
	return nil
}

// Again answers an action with the form that was refused and why, under the
// status that the API has for it. The template shows Err with "problem", and
// its fields with "field".
func (p *Page) Again(name string, data any, err error) error {
	p.Status = p.Site.Status(err)
	p.Data = data
	p.Render(name)
	return nil
}

type errorData struct {
	Err    error
	Status int
	Back   string
	More   []More
	Typed  []typed
}

// More is a link to more about an error.
type More struct{ Text, Link string }

// Fail answers with a page that has the error and its hint.
func (p *Page) Fail(err error, more ...More) {
	p.Status = p.Site.Status(err)
	switch {
	case p.R.Context().Err() != nil: // the client has closed the connection
		p.Site.Log.Debug("page abandoned", "path", p.R.URL.Path, "error", err)
	case core.CodeOf(err) == core.Internal:
		p.Site.Log.Error("page failed", "path", p.R.URL.Path, "error", err)
	}
	d := errorData{Err: err, Status: p.Status, Back: p.Link(), More: more}
	if p.R.PostForm.Has("version") || strings.HasSuffix(p.R.URL.Path, "/-new") { // of a definition
		d.Typed = typedIn(p.R.PostForm)
	}
	if from, perr := url.Parse(p.R.Referer()); perr == nil && from.Host == p.R.Host && p.R.Method == http.MethodPost {
		d.Back = LocalPath(from.RequestURI())
	}
	p.Data = d
	p.render(own("error"), "error", p)
}

// Together runs reads concurrently and waits for all of them.
func Together(reads ...func() error) error {
	errs := make([]error, len(reads))
	var all sync.WaitGroup
	for i, read := range reads {
		all.Go(func() { errs[i] = read() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Get keeps the answer of a read in to, for [Together].
func Get[T any](to *T, read func() (T, error)) func() error {
	return func() (err error) {
		*to, err = read()
		return err
	}
}

// Can reports whether the signed-in person has a scope. Actions without it are not shown, and the API refuses them.
func (p *Page) Can(scope access.Scope) bool { return access.Allows(p.Token.Scopes, scope) }

// Allow refuses a form to a person without the scope to send it.
func (p *Page) Allow(scope access.Scope) error {
	if !p.Can(scope) {
		return core.Errorf(core.Forbidden, "your token may not do that").WithHint("it takes one with the scope %s", scope)
	}
	return nil
}

// CanEverywhere is Can for objects of no namespace, such as queues.
func (p *Page) CanEverywhere(scope access.Scope) bool {
	return p.Can(scope) && p.Token.Namespace == core.AnyNamespace
}

// PathID is the ID in the path, such as that of a job.
func (p *Page) PathID(noun string) (int64, error) {
	text := p.R.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, core.Errorf(core.NotFound, "there is no %s %q", noun, text).WithHint("go back to the list")
	}
	return id, nil
}

// Path is that of the request.
func (p *Page) Path() string { return p.R.URL.RequestURI() }

// Query is a parameter of the request's address.
func (p *Page) Query(name string) string { return p.R.URL.Query().Get(name) }
