package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/mail"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-run/belfry/alert"
)

// Limits of a mail.
const (
	mailSubject = 200
	mailItems   = 100
	mailText    = 100 << 10
)

// mail writes the message as text and as HTML. The Message-ID is derived from
// the key of the message, so that a mail program shows a duplicate once.
func (s *Sender) mail(from *mail.Address, to []*mail.Address, m alert.Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(to...)
	c := newCard(m, mailItems)
	msg.Subject(clip(c.title, mailSubject))
	msg.SetDateWithValue(s.options.Now())
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	if m.Key != "" {
		msg.SetMessageIDWithValue(idOf("message", m.Namespace, m.Channel, m.Key) + "@" + domain)
	} else {
		msg.SetMessageID()
	}
	if thread := threadOf(m); thread != "" {
		msg.SetGenHeader(gomail.HeaderReferences, "<"+thread+"@"+domain+">")
	}
	msg.SetUserAgent(s.agent)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // suppresses automatic replies
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	text, data := bare.whole(c, mailText, true)+"\n", c.page()
	if leave := link(m.Unsubscribe); leave != "" {
		msg.SetGenHeader("List-Unsubscribe", "<"+leave+">") // RFC 8058
		msg.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
		text += "\n-- \n" + leaveText + " " + leave + "\n"
		data.Leave, data.LeaveText, data.Open = leave, leaveText, "Open the status page"
		if m.Challenge != "" {
			data.Open = "Confirm the subscription"
		}
	}
	msg.SetBodyString(gomail.TypeTextPlain, text)
	var page strings.Builder
	if err := mailPage.Execute(&page, data); err != nil {
		return nil, err
	}
	msg.AddAlternativeString(gomail.TypeTextHTML, page.String())
	return msg, nil
}

// threadOf returns the thread id that the begin, reminders and end of an outage share.
func threadOf(m alert.Message) string {
	if len(m.Notifications) == 0 || m.Notifications[0].Incident == 0 {
		return ""
	}
	n := m.Notifications[0]
	for _, other := range m.Notifications {
		if other.Namespace != n.Namespace || other.Monitor != n.Monitor || other.Incident != n.Incident {
			return ""
		}
	}
	return idOf("incident", n.Namespace, n.Monitor, strconv.FormatInt(n.Incident, 10))
}

func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "belfry." + hex.EncodeToString(sum[:16])
}

type mailPageData struct {
	Title, Text, URL, Open, Color, More string
	Items                               []mailPageItem
	Leave, LeaveText                    string // how to unsubscribe
}

const leaveText = "You get this because this address was subscribed to a status page. Unsubscribe:"

type mailPageItem struct {
	Title, Facts, Text, Diff, Color string
}

func (c card) page() mailPageData {
	p := mailPageData{Title: c.title, Text: c.text, URL: c.url, Open: openText, Color: cssColor(c.severity)}
	for _, it := range c.items {
		p.Items = append(p.Items, mailPageItem{it.title, lineOf(it.facts), it.text, it.diff, cssColor(it.severity)})
	}
	if c.more > 0 {
		p.More = fmt.Sprintf("%s and %d more", ellipsis, c.more)
	}
	return p
}

func cssColor(severity string) string { return fmt.Sprintf("#%06x", color(severity)) }

var mailPage = template.Must(template.New("mail").Parse(`<!doctype html>
<html><head><meta charset="utf-8"><title>{{.Title}}</title></head>
<body style="font-family:sans-serif;color:#1d2939">
<h2 style="font-size:18px;border-left:4px solid {{.Color}};padding-left:10px">{{.Title}}</h2>
{{- with .Text}}
<p style="white-space:pre-wrap">{{.}}</p>{{end}}
{{- range .Items}}
<div style="border-left:4px solid {{.Color}};padding-left:10px;margin:16px 0">
{{- with .Title}}
<h3 style="font-size:15px;margin:0">{{.}}</h3>{{end}}
{{- with .Facts}}
<p style="color:#667085;margin:4px 0">{{.}}</p>{{end}}
{{- with .Text}}
<p style="white-space:pre-wrap;margin:4px 0">{{.}}</p>{{end}}
{{- with .Diff}}
<pre style="background:#f2f4f7;padding:8px">{{.}}</pre>{{end}}
</div>
{{- end}}
{{- with .More}}
<p>{{.}}</p>{{end}}
{{- if .URL}}
<p><a href="{{.URL}}">{{.Open}}</a></p>{{end}}
{{- if .Leave}}
<p style="color:#667085;font-size:13px">{{.LeaveText}} <a href="{{.Leave}}">{{.Leave}}</a></p>{{end}}
</body></html>
`))
