package notify

import (
	"context"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// Limits of a Slack message. Slack allows 100 attachments and 40,000 characters,
// which is more than people read.
const (
	slackItems = 20
	slackText  = 3000
	slackTotal = 12000
)

type slackMessage struct {
	Text        string            `json:"text"`
	Attachments []slackAttachment `json:"attachments,omitempty"`
}

type slackAttachment struct {
	Color     string   `json:"color"`
	Fallback  string   `json:"fallback"`
	Title     string   `json:"title,omitempty"`
	TitleLink string   `json:"title_link,omitempty"`
	Text      string   `json:"text,omitempty"`
	Markdown  []string `json:"mrkdwn_in"`
}

// slackStyle escapes links and mentions of Slack, and keeps code within its
// fence.
var slackStyle = style{
	text: fenceless(mentionless(escaper("&", "&amp;", "<", "&lt;", ">", "&gt;"))),
	code: fenceless(mentionless(escaper("&", "&amp;", "<", "&lt;", ">", "&gt;"))),
	bold: [2]string{"*", "*"}, pre: [2]string{"```\n", "\n```"}, size: unitsOf,
}

// fenceless separates backticks that would begin or end a block of code.
func fenceless(write token) token {
	return func(s string) (string, int) {
		if strings.HasPrefix(s, "```") {
			return "`\u200b", 1
		}
		return write(s)
	}
}

// mentionless separates an @ from the words that mention all members: Mattermost
// finds them in any text.
func mentionless(write token) token {
	return func(s string) (string, int) {
		for _, word := range []string{"@channel", "@here", "@all", "@everyone"} {
			if len(s) >= len(word) && strings.EqualFold(s[:len(word)], word) {
				return "@\u200b", 1
			}
		}
		return write(s)
	}
}

// slack posts a line and attachments. Slack and compatible services show them
// with a bar in the color of the severity.
func (s *Sender) slack(ctx context.Context, c alert.Channel, m alert.Message) error {
	_, err := s.postJSON(ctx, string(c.Slack.URL), nil, slackMessageOf(newCard(m, slackItems)))
	return err
}

func slackMessageOf(c card) slackMessage {
	st := slackStyle
	title := fit(c.title, 2*maxTitle, st.text, st.size)
	msg := slackMessage{Text: title}
	add := func(severity, head, text string) {
		if head == "" && text == "" {
			return
		}
		a := slackAttachment{Color: fmt.Sprintf("#%06x", color(severity)), Fallback: title, Title: head, Text: text, Markdown: []string{"text"}}
		msg.Attachments = append(msg.Attachments, a)
	}
	if c.text != "" {
		add(c.severity, "", fit(c.text, slackText, st.text, st.size))
	}
	share := min(slackText, slackTotal/max(1, len(c.items)))
	for _, it := range c.items {
		add(it.severity, fit(it.title, 2*maxTitle, st.text, st.size), st.body(it, share))
	}
	if c.more > 0 {
		add(c.severity, "", fmt.Sprintf("%s and %d more", ellipsis, c.more))
	}
	if c.url != "" {
		add(c.severity, openText, "")
		msg.Attachments[len(msg.Attachments)-1].TitleLink = c.url
	}
	return msg
}

// openText is the text of the link to the whole message.
const openText = "Open in Belfry"
