package notify

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// Limits of a card in Teams, which accepts 28 KB.
const (
	teamsBytes = 24 << 10
	teamsItems = 20
	teamsLines = 30 // of one notification
	teamsLine  = 500
)

type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string        `json:"$schema"`
	Type    string        `json:"type"`
	Version string        `json:"version"`
	Teams   teamsWidth    `json:"msteams"`
	Body    []teamsBlock  `json:"body"`
	Actions []teamsAction `json:"actions,omitempty"`
}

type teamsWidth struct {
	Width string `json:"width"`
}

type teamsAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// teamsBlock is a RichTextBlock: unlike a TextBlock it reads no Markdown, so
// there is nothing to escape.
type teamsBlock struct {
	Type      string     `json:"type"`
	Separator bool       `json:"separator,omitempty"`
	Spacing   string     `json:"spacing,omitempty"`
	Inlines   []teamsRun `json:"inlines"`
}

type teamsRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Size   string `json:"size,omitempty"`
	Weight string `json:"weight,omitempty"`
	Color  string `json:"color,omitempty"`
	Font   string `json:"fontType,omitempty"`
	Subtle bool   `json:"isSubtle,omitempty"`
}

// teams posts an adaptive card in the form that workflows for incoming webhooks
// accept.
func (s *Sender) teams(ctx context.Context, c alert.Channel, m alert.Message) error {
	_, err := s.postJSON(ctx, string(c.Teams.URL), nil, teamsMessageOf(newCard(m, teamsItems)))
	return err
}

func teamsMessageOf(c card) teamsMessage {
	t := &teamsBody{room: teamsBytes}
	t.add(teamsRun{Text: c.title, Size: "Large", Weight: "Bolder", Color: teamsColor(c.severity)}, false)
	t.lines(c.text, teamsRun{}, false)
	for i, it := range c.items {
		if t.room < 1<<10 {
			c.more += len(c.items) - i
			break
		}
		t.item(it)
	}
	if c.more > 0 {
		t.room = 1 << 10
		t.add(teamsRun{Text: fmt.Sprintf("%s and %d more", ellipsis, c.more)}, false)
	}
	content := teamsCard{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Teams: teamsWidth{"Full"}, Body: t.blocks}
	if c.url != "" {
		content.Actions = []teamsAction{{Type: "Action.OpenUrl", Title: openText, URL: c.url}}
	}
	return teamsMessage{Type: "message", Attachments: []teamsAttachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: content}}}
}

// teamsBody collects blocks while there is room.
type teamsBody struct {
	blocks []teamsBlock
	room   int // in bytes of JSON
}

func (t *teamsBody) item(it item) {
	apart := true
	if it.title != "" {
		t.add(teamsRun{Text: it.title, Weight: "Bolder", Color: teamsColor(it.severity)}, true)
		apart = false
	}
	t.lines(lineOf(it.facts), teamsRun{Subtle: true}, apart)
	t.lines(it.text, teamsRun{}, false)
	t.lines(it.diff, teamsRun{Font: "Monospace"}, false)
}

// lines writes a block for each line: not every client shows a line break within a run.
func (t *teamsBody) lines(text string, as teamsRun, apart bool) {
	if text == "" {
		return
	}
	all := strings.Split(text, "\n")
	for i, s := range all[:min(len(all), teamsLines)] {
		if s == "" {
			continue
		}
		if as.Text = clip(s, teamsLine); i == teamsLines-1 && len(all) > teamsLines {
			as.Text = ellipsis
		}
		t.add(as, apart)
		apart = false
	}
}

func (t *teamsBody) add(run teamsRun, apart bool) {
	run.Type = "TextRun"
	b := teamsBlock{Type: "RichTextBlock", Separator: apart, Inlines: []teamsRun{run}}
	if !apart && len(t.blocks) > 0 {
		b.Spacing = "Small"
	}
	if n := len(encode(b)) + 1; n <= t.room {
		t.blocks, t.room = append(t.blocks, b), t.room-n
	}
}

func teamsColor(severity string) string {
	switch severity {
	case critical:
		return "Attention"
	case warning:
		return "Warning"
	case ok:
		return "Good"
	}
	return "Accent"
}
