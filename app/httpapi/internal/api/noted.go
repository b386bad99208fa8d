package api

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

// Recorder writes audit rows of calls that changed no definition. The service
// of the API may be one.
type Recorder interface {
	RecordAudit(ctx context.Context, rows []access.Audit) error
}

// Bounds of audit rows for each minute and node. A flood of requests raises the
// counts in rows, not the number of rows.
const (
	notedFor       = time.Minute
	maxStrangers   = 32  // rows for addresses without a valid token
	maxNoted       = 256 // other rows
	otherAddresses = "other addresses"
	recordTimeout  = 10 * time.Second
)

// noted is an event whose repetitions are counted.
type noted struct{ namespace, Actor, Action, Noun, Name, note string }

// notes gathers the events of a minute, and then records them.
type notes struct {
	To   Recorder // nil: nothing is recorded
	Fail func(error)

	mu        sync.Mutex
	counts    map[noted]int
	order     []noted
	strangers int
	others    int
	lost      int
	timer     *time.Timer
}

// Add counts an event that happened so many times. A stranger is a caller without a valid token.
func (n *notes) Add(what noted, times int, stranger bool) {
	if n.To == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.counts[what]; !known {
		switch {
		case stranger && n.strangers >= maxStrangers:
			what.Name = otherAddresses
		case !stranger && n.others >= maxNoted:
			n.lost += times
			return
		case stranger:
			n.strangers++
		default:
			n.others++
		}
	}
	if n.counts == nil {
		n.counts = map[noted]int{}
		n.timer = time.AfterFunc(notedFor, n.Flush)
	}
	if n.counts[what] == 0 {
		n.order = append(n.order, what)
	}
	n.counts[what] += times
}

// Flush records the gathered events.
func (n *notes) Flush() {
	n.mu.Lock()
	rows := make([]access.Audit, 0, len(n.order)+1)
	for _, what := range n.order {
		note := what.note
		if times := n.counts[what]; times > 1 {
			note = fmt.Sprintf("%d times within a minute: %s", times, note)
		}
		rows = append(rows, access.Audit{Namespace: what.namespace, Actor: what.Actor, Action: what.Action, Noun: what.Noun, Name: what.Name, Note: note})
	}
	if n.lost > 0 {
		rows = append(rows, access.Audit{Actor: "belfry", Action: "omit", Noun: "audit", Note: fmt.Sprintf("%d more requests within a minute are not listed one by one", n.lost)})
	}
	if n.timer != nil {
		n.timer.Stop()
	}
	n.counts, n.order, n.strangers, n.others, n.lost, n.timer = nil, nil, 0, 0, 0, nil
	n.mu.Unlock()
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	if err := n.To.RecordAudit(ctx, rows); err != nil {
		n.Fail(err)
	}
}

// noteRefusal records a request that was refused for a missing token or scope.
func (a *API) noteRefusal(c *Call, p *wire.Problem) {
	switch {
	case c.r == nil:
	case p.Status == 401 || p.Status == 429:
		a.notes.Add(noted{Actor: "unknown", Action: "refuse", Noun: "token", Name: addressText(c.addr), note: "no token or a wrong one"}, 1, true)
	case p.Code == core.Forbidden && c.Token.Name != "":
		a.notes.Add(noted{namespace: ownerOf(c.Token), Actor: c.Token.Actor(), Action: "refuse", Noun: "request", Name: routeOf(c.r), note: "from " + addressText(c.addr)}, 1, false)
	}
}

// NoteEnqueue records who enqueued jobs of a task.
func (a *API) NoteEnqueue(c *Call, jobs []job.Enqueued) {
	through := "through the API"
	if isInProcess(c.r.Context()) {
		through = "through the web interface"
	}
	for _, e := range jobs {
		if !e.Existing {
			a.notes.Add(noted{namespace: e.Job.Namespace, Actor: c.Token.Actor(), Action: "enqueue", Noun: "task", Name: e.Job.Task, note: through}, 1, false)
		}
	}
}

// ownerOf returns the namespace whose audit lists a token, or "".
func ownerOf(t access.Token) string {
	if t.Namespace == core.AnyNamespace {
		return ""
	}
	return t.Namespace
}

// addressText names the source of a request: an IPv4 address or an IPv6 /64.
func addressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return "unknown"
	}
	if n := network(addr); addr.Is6() {
		return n.String()
	}
	return addr.String()
}
