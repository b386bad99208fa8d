package notify

import (
	"context"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// gotifyText is the maximum length of a text, in bytes. Gotify itself has no limit.
const gotifyText = 4000

type gotifyMessage struct {
	Title    string         `json:"title"`
	Message  string         `json:"message"`
	Priority int            `json:"priority"`
	Extras   map[string]any `json:"extras,omitempty"`
}

// gotify posts a message of the application whose token the channel has.
func (s *Sender) gotify(ctx context.Context, c alert.Channel, m alert.Message) error {
	g := c.Gotify
	if strings.ContainsFunc(string(g.Token), isControl) {
		return permanent("its token holds control characters")
	}
	header := http.Header{"X-Gotify-Key": {string(g.Token)}}
	_, err := s.postJSON(ctx, strings.TrimRight(g.Server, "/")+"/message", header, gotifyMessageOf(newCard(m, maxItems)))
	return err
}

// gotifyMessageOf sets the priority for apps of Gotify: 8 and more make a sound and a banner, 4 to 7 a sound.
func gotifyMessageOf(c card) gotifyMessage {
	msg := gotifyMessage{Title: c.title, Priority: map[string]int{critical: 8, warning: 5, ok: 4}[c.severity]}
	if c.url != "" {
		msg.Extras = map[string]any{"client::notification": map[string]any{"click": map[string]string{"url": c.url}}}
	}
	c.url = "" // a tap opens it
	if msg.Message = bare.whole(c, gotifyText, false); msg.Message == "" {
		msg.Message = msg.Title // Gotify refuses a message without a text
	}
	if msg.Priority == 0 {
		msg.Priority = 2 // silent
	}
	return msg
}
