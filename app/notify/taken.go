package notify

import (
	"strconv"
	"sync"

	"github.com/belfry-run/belfry/alert"
)

// taken remembers which parts of a message were accepted while others need
// another try: recipients of a mail, events for PagerDuty. It is small and in
// memory: after a restart, or on another node, a part may be sent twice.
type taken struct {
	mu    sync.Mutex
	parts map[string]map[string]bool
	order []string
}

// maxTaken is the maximum number of remembered messages.
const maxTaken = 256

// partsOf is the key of the parts of a message to a channel with its present settings.
func partsOf(c alert.Channel, m alert.Message) string {
	return c.Namespace + "\x00" + c.Name + "\x00" + strconv.FormatInt(c.Generation, 10) + "\x00" + m.Key
}

func (t *taken) has(c alert.Channel, m alert.Message, part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parts[partsOf(c, m)][part]
}

// add remembers a part. A message without a key is not remembered.
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
