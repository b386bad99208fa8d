package queues

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/job"
)

// RowMenu returns the actions on a queue of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate, admin := p.CanEverywhere("operate"), p.CanEverywhere("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "list-checks", Name: "Jobs", To: p.With(p.Link("jobs"), "q", "queue:"+parts.RowName)}.If(operate),
		parts.RowItem{Icon: "pause", Name: "Pause…", Key: "pause", To: "/pause", Asks: "Pause queue",
			Text: "Jobs that run go on. No other of its jobs starts, on any worker, until it is resumed."}.If(operate),
		parts.RowItem{Icon: "play", Name: "Resume", Key: "resume", To: "/resume", Post: true}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin))
}

// queueLacks returns the actions that a queue does not allow now.
func queueLacks(q job.Queue) string {
	if q.PausedAt.IsZero() {
		return "resume"
	}
	return "pause"
}
