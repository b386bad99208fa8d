package console

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/ui/internal/asset"
)

// page is one request of somebody, and what its template sees: fields and
// methods with capitals.
type page struct {
	c   *Console
	w   http.ResponseWriter
	r   *http.Request
	api API

	Token     access.Token // of who is signed in; without a name: nobody
	Namespace string       // that is shown; * for all
	Theme     string       // light, dark, or auto
	Flash     *flash       // what the last action came to
	Now       time.Time
	Data      any // what the handler shows

	status int // to answer with; 0: OK
}

func (c *Console) newPage(w http.ResponseWriter, r *http.Request) *page {
	p := &page{c: c, w: w, r: r, Now: c.opt.Now(), Namespace: core.DefaultNamespace, Theme: "auto"}
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		p.Theme = cookie.Value
	}
	return p
}

// enter finds out who has a secret, and what they look at.
func (p *page) enter(secret string) (err error) {
	if p.api, err = p.c.opt.API(secret); err != nil {
		return err
	}
	if p.Token, err = p.api.Whoami(p.r.Context()); err != nil {
		return err
	}
	p.Namespace = p.home()
	if asked := p.r.URL.Query().Get("namespace"); asked != "" {
		p.Namespace = asked
	}
	return nil
}

// home is the namespace that is meant when nobody names one.
func (p *page) home() string {
	if p.Token.Namespace == core.AnyNamespace {
		return core.DefaultNamespace
	}
	return p.Token.Namespace
}

// show answers with a template and its data.
func (p *page) show(name string, data any) error {
	p.Data = data
	p.takeFlash()
	p.render(name)
	return nil
}

func (p *page) render(name string) {
	var b bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&b, "page", p); err != nil {
		p.c.log.Error("page not rendered", "page", name, "error", err)
		http.Error(p.w, "This page could not be made. The server's log says why.", http.StatusInternalServerError)
		return
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := b.Bytes()
	// What an action answers is sent as it is: it may show a secret, once.
	if p.r.Method == http.MethodGet {
		body = asset.Pack(p.w.Header(), p.r, body)
	}
	if p.status != 0 {
		p.w.WriteHeader(p.status)
	}
	_, _ = p.w.Write(body) // who is not there any more does not read it
}

// done answers an action: it goes on to a page, which says what was done.
// The link is one of [page.Link].
func (p *page) done(link, format string, args ...any) error {
	p.setFlash(flash{Text: fmt.Sprintf(format, args...)})
	return p.seeOther(link)
}

// doneBadly answers an action that did not come to what was wanted.
func (p *page) doneBadly(link, format string, args ...any) error {
	p.setFlash(flash{Text: fmt.Sprintf(format, args...), Bad: true})
	return p.seeOther(link)
}

// seeOther goes on to a page.
func (p *page) seeOther(link string) error {
	http.Redirect(p.w, p.r, link, http.StatusSeeOther)
	return nil
}

// again answers an action with the form that was refused and why, under the
// status that the API has for it. The template shows Err with "problem", and
// its fields with "field".
func (p *page) again(name string, data any, err error) error {
	p.status = p.c.opt.Status(err)
	p.Data = data
	p.render(name)
	return nil
}

type errorData struct {
	Err    error
	Status int
	Back   string
}

// fail answers with a page that says what happened and what next.
func (p *page) fail(err error) {
	p.status = p.c.opt.Status(err)
	switch {
	case p.r.Context().Err() != nil: // the reader has left
		p.c.log.Debug("page abandoned", "path", p.r.URL.Path, "error", err)
	case core.CodeOf(err) == core.Internal:
		p.c.log.Error("page failed", "path", p.r.URL.Path, "error", err)
	}
	d := errorData{Err: err, Status: p.status, Back: p.Link()}
	if from, perr := url.Parse(p.r.Referer()); perr == nil && from.Host == p.r.Host && p.r.Method == http.MethodPost {
		d.Back = localPath(from.RequestURI())
	}
	p.Data = d
	p.render("error")
}

// together runs reads beside each other and waits for all of them.
func together(reads ...func() error) error {
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

// get keeps the answer of a read in to, for [together].
func get[T any](to *T, read func() (T, error)) func() error {
	return func() (err error) {
		*to, err = read()
		return err
	}
}

// Can reports whether who is signed in has a scope. What they cannot do is not
// offered; the API would refuse it anyhow.
func (p *page) Can(scope access.Scope) bool { return access.Allows(p.Token.Scopes, scope) }

// allow refuses a form to who could not send it.
func (p *page) allow(scope access.Scope) error {
	if !p.Can(scope) {
		return core.Errorf(core.Forbidden, "your token may not do that").WithHint("it takes one with the scope %s", scope)
	}
	return nil
}

// CanEverywhere is Can for what belongs to no namespace, such as queues.
func (p *page) CanEverywhere(scope access.Scope) bool {
	return p.Can(scope) && p.Token.Namespace == core.AnyNamespace
}

// pathID is the number of something in the address.
func (p *page) pathID(noun string) (int64, error) {
	text := p.r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, core.InvalidField("id", text, "is not the number of a "+noun, "")
	}
	return id, nil
}

// Link is a path of the console from its parts, with the namespace that is shown.
func (p *page) Link(parts ...any) string {
	var b strings.Builder
	b.WriteString(p.c.prefix)
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(fmt.Sprint(part)))
	}
	if len(parts) == 0 {
		b.WriteString("/")
	}
	if p.Namespace != p.home() {
		b.WriteString("?namespace=" + url.QueryEscape(p.Namespace))
	}
	return b.String()
}

// LinkIn is Link to something of a namespace, whichever is shown.
func (p *page) LinkIn(namespace string, parts ...any) string {
	q := *p
	if namespace != "" {
		q.Namespace = namespace
	}
	return q.Link(parts...)
}

// With is a link with query parameters set, from pairs of name and value. An
// empty value takes one away.
func (p *page) With(link string, pairs ...any) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])
		if value == "" {
			q.Del(name)
		} else {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Here is the address of this page with query parameters set.
func (p *page) Here(pairs ...any) string {
	return p.With(p.c.prefix+p.r.URL.RequestURI(), pairs...)
}

// Asset is the address of a file of the assets.
func (p *page) Asset(name string) string { return p.c.prefix + "/assets/" + readAssets().Link(name) }

// Nav is the navigation.
func (p *page) Nav() []navItem { return p.c.nav }

// NavLink is where an entry of it goes.
func (p *page) NavLink(item navItem) string {
	if item.Path == "" {
		return p.Link()
	}
	return p.Link(item.Path)
}

// At reports whether this page belongs to an entry of the navigation.
func (p *page) At(item navItem) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(p.r.URL.Path, "/"), "/")
	if entry, within := navWithin[first]; within {
		first = entry
	}
	return first == item.Path
}

// Version is Belfry's.
func (p *page) Version() string { return p.c.opt.Version }

// Path is that of the request.
func (p *page) Path() string { return p.r.URL.RequestURI() }

// Query is a parameter of the request's address.
func (p *page) Query(name string) string { return p.r.URL.Query().Get(name) }

// ApiDocs is where the API is described.
func (p *page) ApiDocs() string { return p.c.prefix + "/docs" }
