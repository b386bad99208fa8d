package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/alert"
)

// matrixText is the maximum length of a text, in bytes. An event may have 64 KiB.
const matrixText = 8000

type matrixMessage struct {
	Type string `json:"msgtype"`
	Body string `json:"body"`
}

// matrix sends a message to a room. The transaction id is derived from the message, so that a server that has
// accepted one try ignores the next.
func (s *Sender) matrix(ctx context.Context, c alert.Channel, m alert.Message) error {
	x := c.Matrix
	if strings.ContainsFunc(string(x.Token), isControl) {
		return permanent("its token holds control characters")
	}
	header := http.Header{"Authorization": {"Bearer " + string(x.Token)}}
	address := strings.TrimRight(x.Server, "/") + "/_matrix/client/v3/rooms/" + url.PathEscape(x.Room) + "/send/m.room.message/" + transaction(m)
	_, err := s.request(ctx, http.MethodPut, address, header, encode(matrixMessage{"m.text", bare.whole(newCard(m, maxItems), matrixText, true)}))
	return err
}

// transaction returns the transaction id of a message, the same for every try.
func transaction(m alert.Message) string {
	sum := sha256.Sum256([]byte(m.Key))
	return "belfry-" + hex.EncodeToString(sum[:16])
}
