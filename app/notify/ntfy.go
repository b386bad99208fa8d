package notify

import (
	"context"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// Limits of ntfy, in bytes. ntfy turns a longer text into a file, which people do not open.
const (
	ntfyText  = 4000
	ntfyTitle = 250
)

type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click,omitempty"`
}

// ntfy publishes as JSON to the server's root: a header cannot hold a title with
// non-ASCII letters.
func (s *Sender) ntfy(ctx context.Context, c alert.Channel, m alert.Message) error {
	n := c.Ntfy
	server := n.Server
	if server == "" {
		server = "https://ntfy.sh"
	}
	header := http.Header{}
	if n.Token != "" {
		if strings.ContainsFunc(string(n.Token), isControl) {
			return permanent("its token holds control characters")
		}
		header.Set("Authorization", "Bearer "+string(n.Token))
	}
	_, err := s.postJSON(ctx, strings.TrimRight(server, "/")+"/", header, ntfyMessageOf(n.Topic, newCard(m, maxItems)))
	return err
}

func ntfyMessageOf(topic string, c card) ntfyMessage {
	msg := ntfyMessage{Topic: topic, Title: cut(c.title, ntfyTitle), Priority: 3, Click: c.url}
	c.url = "" // a tap opens it
	if msg.Message = bare.whole(c, ntfyText, false); msg.Message == "" {
		msg.Message = msg.Title // for an empty text, ntfy shows "triggered"
	}
	switch c.severity {
	case critical:
		msg.Priority, msg.Tags = 5, []string{"rotating_light"}
	case warning:
		msg.Priority, msg.Tags = 4, []string{"warning"}
	case ok:
		msg.Tags = []string{"white_check_mark"}
	default:
		msg.Tags = []string{"information_source"}
	}
	return msg
}
