package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// Limits of a Discord message: the number of its embeds, and the size of all their texts.
const (
	discordEmbeds      = 10
	discordTitle       = 256
	discordDescription = 4096
	discordTotal       = 6000
)

type discordMessage struct {
	Embeds   []discordEmbed  `json:"embeds"`
	Mentions discordMentions `json:"allowed_mentions"`
}

// discordMentions with an empty list means that no text can mention a
// user.
type discordMentions struct {
	Parse []string `json:"parse"`
}

type discordEmbed struct {
	Title       string `json:"title,omitempty"`
	URL         string `json:"url,omitempty"`
	Description string `json:"description,omitempty"`
	Color       int    `json:"color"`
}

var discordStyle = style{
	text: outsideLinks(escaper(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "[", `\[`, "]", `\]`,
		"<", `\<`, ">", `\>`, "#", `\#`, "@", "@\u200b")),
	code: fenceless(asIs),
	bold: [2]string{"**", "**"}, pre: [2]string{"```diff\n", "\n```"}, size: unitsOf,
}

// maxLink is the length up to which an address within a text stays unescaped.
const maxLink = 200

// outsideLinks leaves addresses unescaped: Discord finds links before markup, and
// a backslash would become part of the link.
func outsideLinks(write token) token {
	return func(s string) (string, int) {
		if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
			s := s[:min(len(s), maxLink)]
			n := strings.IndexFunc(s, func(c rune) bool {
				return c <= ' ' || c == '<' || c == '`' || c == '|' || c == '@' || c == '\\' || c > '~'
			})
			switch {
			case n >= 0:
				return s[:n], n
			case len(s) < maxLink:
				return s, len(s)
			}
		}
		return write(s)
	}
}

func (s *Sender) discord(ctx context.Context, c alert.Channel, m alert.Message) error {
	a, err := s.postJSON(ctx, string(c.Discord.URL), nil, discordMessageOf(newCard(m, maxItems)))
	if a == nil {
		return err
	}
	var said struct {
		RetryAfter float64 `json:"retry_after"`
	}
	_ = json.Unmarshal(a.body, &said)
	return waits(err, said.RetryAfter)
}

func discordMessageOf(c card) discordMessage {
	st := discordStyle
	msg := discordMessage{Mentions: discordMentions{Parse: []string{}}}
	room := discordTotal
	shown := c.items[:min(len(c.items), discordEmbeds-1)]
	c.more += len(c.items) - len(shown)

	head := discordEmbed{Title: fit(c.title, discordTitle, st.text, st.size), URL: c.url, Color: color(c.severity)}
	room -= st.size(head.Title)
	const counted = 50 // room for the number of omitted notifications, and for lines between
	parts := []string{fit(c.text, min(room/(1+len(shown)), discordDescription-counted), st.text, st.size)}
	if len(shown) == 1 && shown[0].title == "" { // the heading already describes it
		parts = append(parts, st.body(shown[0], min(discordDescription, room)-st.size(parts[0])-counted))
		shown = nil
	}
	if c.more > 0 {
		parts = append(parts, fmt.Sprintf("%s and %d more", ellipsis, c.more))
	}
	head.Description = joined("\n\n", parts...)
	room -= st.size(head.Description)
	msg.Embeds = append(msg.Embeds, head)

	for i, it := range shown {
		share := room / (len(shown) - i)
		e := discordEmbed{Title: fit(it.title, min(discordTitle, share/2), st.text, st.size), Color: color(it.severity)}
		e.Description = st.body(it, min(discordDescription, share-st.size(e.Title)))
		room -= st.size(e.Title) + st.size(e.Description)
		msg.Embeds = append(msg.Embeds, e)
	}
	return msg
}
