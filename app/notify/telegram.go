package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// telegramLimit is the limit of Telegram for a message without markup; here the markup counts too.
const telegramLimit = 4096

var telegramEscape = escaper("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// telegramStyle is Telegram's HTML. It knows few tags, and refuses a message
// with one that is not closed.
var telegramStyle = style{
	text: telegramEscape, code: telegramEscape,
	bold: [2]string{"<b>", "</b>"}, pre: [2]string{"<pre>", "</pre>"}, size: unitsOf,
	link: func(address string) string {
		return fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(address), openText)
	},
}

type telegramMessage struct {
	Chat      string          `json:"chat_id"`
	Text      string          `json:"text"`
	ParseMode string          `json:"parse_mode"`
	Preview   telegramPreview `json:"link_preview_options"`
}

type telegramPreview struct {
	Disabled bool `json:"is_disabled"`
}

// telegram calls the bot's sendMessage.
func (s *Sender) telegram(ctx context.Context, c alert.Channel, m alert.Message) error {
	t := c.Telegram
	api := t.API
	if api == "" {
		api = "https://api.telegram.org"
	}
	token := string(t.Token)
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("/?#%\\", c) }) {
		return permanent("its token is not one of a bot, such as 123456:ABC…")
	}
	a, err := s.postJSON(ctx, strings.TrimRight(api, "/")+"/bot"+token+"/sendMessage", nil, telegramMessage{
		Chat: t.Chat, ParseMode: "HTML", Preview: telegramPreview{true},
		Text: telegramStyle.whole(newCard(m, maxItems), telegramLimit, true),
	})
	if a == nil {
		return err
	}
	return a.telegram(err)
}

// maxItems limits the notifications in texts that are cut as a whole.
const maxItems = 100

// telegram adds the details in the body of an answer to its error.
func (a *answer) telegram(err error) error {
	var said struct {
		OK         bool `json:"ok"`
		Parameters struct {
			RetryAfter float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	unread := json.Unmarshal(a.body, &said) != nil
	switch {
	case err != nil:
		return waits(err, said.Parameters.RetryAfter)
	case unread || !said.OK:
		f := &fault{host: a.host, text: "did not answer as Telegram does"}
		a.quote(f)
		return f
	}
	return nil
}

func telegramSecrets(c alert.Channel) []string {
	secrets := passwordOf(c.Telegram.API)
	if _, key, found := strings.Cut(string(c.Telegram.Token), ":"); found {
		secrets = append(secrets, key)
	}
	return secrets
}
