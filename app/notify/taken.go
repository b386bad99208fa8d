package notify

import (
	"strconv"
	"sync"

	"github.com/belfry-run/belfry/alert"
)

// taken remembers which parts of a message were taken where the rest has to be
// tried again: recipients of a mail, events for PagerDuty. It lives in memory
// and is small: after a restart, or on another node, a part may go twice.
type taken struct {
	mu    sync.Mutex
	parts map[string]map[string]bool
	order []string
}

// maxTaken is how many messages are remembered.
const maxTaken = 256

// partsOf names the parts of a message to a channel as it is set now.
func partsOf(c alert.Channel, m alert.Message) string {
	return c.Namespace + "\x00" + c.Name + "\x00" + strconv.FormatInt(c.Generation, 10) + "\x00" + m.Key
}

func (t *taken) has(c alert.Channel, m alert.Message, part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parts[partsOf(c, m)][part]
}

// add remembers a part. A message without a key is not known again.
func (t *taken) add(c alert.Channel, m alert.Message, part string) {
	if m.Key == "" {
		return
	}
	message := partsOf(c, m)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil {
		t.parts = map[string]map[string]bool{}
	}
	if t.parts[message] == nil {
		t.parts[message] = map[string]bool{}
		t.order = append(t.order, message)
	}
	t.parts[message][part] = true
	for len(t.order) > maxTaken {
		delete(t.parts, t.order[0])
		t.order = t.order[1:]
	}
}
