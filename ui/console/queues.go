package console

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/belfry-run/belfry"
)

type queueAPI interface {
	Queues(ctx context.Context) ([]belfry.QueueStats, error)
	Queue(ctx context.Context, name string) (belfry.QueueStats, error)
	PauseQueue(ctx context.Context, name, reason string) (belfry.Queue, error)
	ResumeQueue(ctx context.Context, name string) (belfry.Queue, error)
}

var queueRoutes = []route{
	{"GET /queues", queueList},
	{"GET /queues/{name}", queuePage},
	{"POST /queues/{name}/pause", pauseQueue},
	{"POST /queues/{name}/resume", resumeQueue},
}

func queueList(p *page) error {
	all, err := p.api.Queues(p.r.Context())
	if err != nil {
		return err
	}
	return p.show("queues", all)
}

func queuePage(p *page) error {
	q, err := p.api.Queue(p.r.Context(), p.r.PathValue("name"))
	if err != nil {
		return err
	}
	return p.show("queue", q)
}

func pauseQueue(p *page) error {
	q, err := p.api.PauseQueue(p.r.Context(), p.r.PathValue("name"), p.r.PostFormValue("reason"))
	if err != nil {
		return err
	}
	return p.done(p.Link("queues", q.Name), "Queue %s is paused: no more of its jobs start.", q.Name)
}

func resumeQueue(p *page) error {
	q, err := p.api.ResumeQueue(p.r.Context(), p.r.PathValue("name"))
	if err != nil {
		return err
	}
	return p.done(p.Link("queues", q.Name), "Queue %s goes on.", q.Name)
}

// Queues are those that this page lists.
func (p *page) Queues() []belfry.QueueStats {
	switch d := p.Data.(type) {
	case homeData:
		return d.Queues
	case []belfry.QueueStats:
		return d
	}
	return nil
}

// QueueState is the word for a queue's chip.
func (p *page) QueueState(q belfry.Queue) string {
	if q.PausedAt.IsZero() {
		return "active"
	}
	return "paused"
}

// PauseQueue asks before a queue is paused.
func (p *page) PauseQueue(q belfry.Queue) confirm {
	reason, _ := json.Marshal(map[string]string{"reason": "why"}) // plain words
	cmd := p.Command("POST", "/v1/queues/"+url.PathEscape(q.Name)+"/pause", string(reason), "queue", "pause", q.Name, "--reason", "why")
	return confirm{
		ID: "pause", Button: "Pause", Title: "Pause queue " + q.Name + "?",
		Text:   "Jobs that run go on. No other of its jobs starts, on any worker, until it is resumed.",
		Action: p.Link("queues", q.Name, "pause"),
		Fields: []field{newField("reason", "Why", "text", "", "Shown to everyone, and kept in the audit.", nil)},
		Cmd:    &cmd,
	}
}

// ResumeQueueCommand is resuming, without this page.
func (p *page) ResumeQueueCommand(q belfry.Queue) command {
	return p.Command("POST", "/v1/queues/"+url.PathEscape(q.Name)+"/resume", "", "queue", "resume", q.Name)
}
