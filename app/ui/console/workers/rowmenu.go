package workers

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/job"
)

// RowMenu returns the actions on a worker of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate := p.CanEverywhere("operate")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "list-checks", Name: "Its jobs", To: p.With(p.Link("jobs"), "q", "session:"+parts.RowName)}.If(operate),
		parts.RowItem{Icon: "log-out", Name: "Drain…", Key: "drain", To: "/drain", Asks: "Drain",
			Text: "It finishes the jobs that it runs and claims no more. Only a restart of the worker ends that."}.If(operate))
}

// workerLacks returns the actions that a worker does not allow now.
func workerLacks(w job.WorkerState) string {
	if !w.EndedAt.IsZero() || w.Drain {
		return "drain"
	}
	return ""
}
