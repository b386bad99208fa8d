package frame

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
)

// Link is a path of the console from its parts, with the namespace that is shown.
func (p *Page) Link(parts ...any) string {
	var b strings.Builder
	b.WriteString(p.Site.Prefix)
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
func (p *Page) LinkIn(namespace string, parts ...any) string {
	q := *p
	if namespace != "" {
		q.Namespace = namespace
	}
	return q.Link(parts...)
}

// linkTo is [Page.Link] of a whole path.
func linkTo(p *Page, path string) string {
	var parts []any
	for part := range strings.SplitSeq(path, "/") {
		parts = append(parts, part)
	}
	return p.Link(parts...)
}

// With is a link with query parameters set, from pairs of name and value. An empty value removes a parameter.
func (p *Page) With(link string, pairs ...any) string {
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
func (p *Page) Here(pairs ...any) string {
	return p.With(p.Site.Prefix+p.R.URL.RequestURI(), pairs...)
}

// Elsewhere reports that pages show another namespace than that of the token. A form with method get then names it in a field,
// by the part "in-namespace".
func (p *Page) Elsewhere() bool { return p.Namespace != p.home() }

// TaskLink is the page of a task, or of the monitor that owns it.
func (p *Page) TaskLink(namespace, task string) string {
	if monitor, owned := parts.Owner(task); owned {
		return p.LinkIn(namespace, "monitors", monitor)
	}
	return p.LinkIn(namespace, "tasks", task)
}

// ScheduleLink is the page of a schedule; empty for the schedule of a monitor.
func (p *Page) ScheduleLink(namespace, schedule string) string {
	if _, owned := parts.Owner(schedule); owned || schedule == "" {
		return ""
	}
	return p.LinkIn(namespace, "schedules", schedule)
}

// V1 is a path of the API, for the namespace that is shown.
func (p *Page) V1(parts ...any) string {
	return "/v1" + strings.TrimPrefix(p.Link(parts...), p.Site.Prefix)
}

// APIPath is a path of the API for a command, with the namespace that is shown
// and query parameters from pairs of name and value. Empty ones are left out.
func (p *Page) APIPath(path string, query ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if value := fmt.Sprint(query[i+1]); value != "" {
			q.Set(fmt.Sprint(query[i]), value)
		}
	}
	if p.Namespace != p.home() {
		q.Set("namespace", p.Namespace)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Command is an action by the API and by the command line. The body is JSON,
// or empty.
func (p *Page) Command(method, path, body string, cli ...string) parts.Command {
	var b strings.Builder
	b.WriteString(`curl -H "Authorization: Bearer $BELFRY_TOKEN"`)
	if method != "GET" {
		b.WriteString(" -X " + method)
	}
	if body != "" {
		b.WriteString(" --json " + parts.Quote(body))
	}
	b.WriteString(" " + parts.Quote(p.Site.Base(p.R)+path))
	for i, word := range cli {
		cli[i] = parts.Quote(word)
	}
	text := "belfry " + strings.Join(cli, " ")
	if p.Namespace != core.DefaultNamespace {
		text += " --namespace " + parts.Quote(p.Namespace)
	}
	return parts.Command{Curl: b.String(), CLI: text}
}

// Pager links to the next page of the list at this address. next is the cursor of the answer.
func (p *Page) Pager(next string) parts.Pager {
	var g parts.Pager
	if next != "" {
		g.Next = p.Here("cursor", next)
	}
	if p.Query("cursor") != "" {
		g.First = p.Here("cursor", "")
	}
	return g
}

// When shows an instant, and how long ago it was or how soon it comes. A tooltip shows it in the reader's zone.
func (p *Page) When(t time.Time) parts.Moment { return parts.NewMoment(t, p.Now, p.Times.Zone, false) }

// WhenIn does so in a schedule's zone, unless all times are shown in one.
func (p *Page) WhenIn(zone string, t time.Time) parts.Moment {
	return parts.NewMoment(t, p.Now, p.Times.Of(zone), false)
}

// Said is a text of the API: its instants are shown by [Page.When], and commands as such.
func (p *Page) Said(text string) []parts.Said { return parts.Say(text, p.When) }

// Ago shows how long ago an instant was, or how soon it comes. A tooltip shows the instant.
func (p *Page) Ago(t time.Time) parts.Moment { return parts.NewMoment(t, p.Now, p.Times.Zone, true) }
