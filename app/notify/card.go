package notify

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// card is a message that is prepared for a channel: its texts are plain, and
// nothing is repeated.
type card struct {
	title    string
	text     string
	url      string // http, https or empty
	severity string
	items    []item
	more     int // notifications that are not among the items
}

// item is one notification of a card.
type item struct {
	title    string // empty if it is the card's
	severity string
	facts    []fact
	text     string
	diff     string
}

// fact is a name and a value.
type fact struct{ name, value string }

// Limits of a card, before those of a channel. The link shows the whole message.
const (
	maxTitle = 250
	maxText  = 3000
	maxFact  = 200
	maxURL   = 1000
	maxTags  = 10
)

// newCard returns a card with at most so many notifications.
func newCard(m alert.Message, most int) card {
	c := card{title: headline(m), url: link(m.URL), severity: severityOf(m)}
	if len(m.Notifications) == 0 { // with notifications, the text only repeats them
		c.text = clip(plain(m.Text), maxText)
	}
	for _, n := range m.Notifications[:min(len(m.Notifications), most)] {
		c.items = append(c.items, newItem(n))
	}
	c.more = len(m.Notifications) - len(c.items)
	if len(m.Notifications) == 1 && len(c.items) == 1 && c.items[0].title == c.title {
		c.items[0].title = ""
	}
	return c
}

func headline(m alert.Message) string {
	title := m.Title
	if strings.TrimSpace(title) == "" && len(m.Notifications) > 0 {
		title = titleOf(m.Notifications[0])
	}
	if title = clip(line(title), maxTitle); title == "" {
		return "Belfry"
	}
	return title
}

// titleOf returns the title of a notification, or else a description of its type.
func titleOf(n alert.Notification) string {
	if title := line(n.Title); title != "" {
		return title
	}
	return line(strings.ReplaceAll(string(n.Type), "_", " ") + " " + subjectOf(n))
}

// subjectOf is the thing that a notification is about.
func subjectOf(n alert.Notification) string {
	for _, name := range []string{n.Monitor, n.Task, n.Schedule} {
		if name != "" {
			return name
		}
	}
	return n.Namespace
}

// link returns an address if it may be shown as a link, or "".
func link(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(u.String()) > maxURL {
		return ""
	}
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", `"`, "%22", "'", "%27", "`", "%60", " ", "%20", ")", "%29").Replace(line(u.String()))
}

func newItem(n alert.Notification) item {
	return item{
		title: clip(titleOf(n), maxTitle), severity: n.Type.Severity(), facts: unsaid(n),
		text: clip(plain(n.Text), maxText), diff: clip(plain(n.Diff), maxText),
	}
}

// unsaid returns the facts of a notification that its title and text do not contain.
func unsaid(n alert.Notification) []fact {
	said := words(titleOf(n)) + words(n.Text)
	return slices.DeleteFunc(factsOf(n), func(f fact) bool { return strings.Contains(said, words(f.value)) })
}

func factsOf(n alert.Notification) []fact {
	var facts []fact
	add := func(name, value string) {
		if value = clip(line(value), maxFact); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	in := ""
	if n.Namespace != "" && n.Namespace != "default" {
		in = n.Namespace + "/"
	}
	named := func(what, name string) {
		if name != "" {
			add(what, in+name)
		}
	}
	named("Monitor", n.Monitor)
	named("Task", n.Task)
	named("Schedule", n.Schedule)
	add("Target", n.Target)
	add("About", n.About)
	if n.JobID != 0 {
		add("Job", strconv.FormatInt(n.JobID, 10))
	}
	add("Code", string(n.Code))
	add("At", moment(n.At))
	if !n.Since.Equal(n.At) {
		add("Since", moment(n.Since))
	}
	if n.Lasted > 0 {
		add("Lasted", core.Duration(time.Duration(n.Lasted).Round(time.Second)).String())
	}
	if n.Count > 0 {
		add("Reminder", strconv.Itoa(n.Count))
	}
	add("Tags", strings.Join(n.Tags[:min(len(n.Tags), maxTags)], ", "))
	return facts
}

// words returns a text between spaces, without the marks that end sentences, for
// searches of whole words.
func words(s string) string {
	all := strings.Fields(line(s))
	for i, w := range all {
		all[i] = strings.TrimRight(w, ".,:;")
	}
	return " " + strings.Join(all, " ") + " "
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return core.Stamp(t)
}

// The severities of a message.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
	ok       = "ok"
)

// worst first.
var severities = []string{critical, warning, info, ok}

func severityOf(m alert.Message) string {
	if slices.Contains(severities, m.Severity) {
		return m.Severity
	}
	worst := len(severities)
	for _, n := range m.Notifications {
		worst = min(worst, slices.Index(severities, n.Type.Severity()))
	}
	if worst == len(severities) {
		return info
	}
	return severities[worst]
}

// eventOf names the event of a message: the type of its notifications if they
// share one.
func eventOf(m alert.Message) string {
	if len(m.Notifications) == 0 {
		return "message"
	}
	for _, n := range m.Notifications {
		if n.Type != m.Notifications[0].Type {
			return "mixed"
		}
	}
	return line(string(m.Notifications[0].Type))
}

// color of a severity, as 0xRRGGBB.
func color(severity string) int {
	switch severity {
	case critical:
		return 0xd92d20
	case warning:
		return 0xf79009
	case ok:
		return 0x12b76a
	}
	return 0x2e90fa
}
