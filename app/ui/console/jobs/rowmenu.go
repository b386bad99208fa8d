package jobs

import (
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/job"
)

// RowMenu returns the actions on a job of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate := p.Can("operate")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "scroll-text", Name: "Log", To: "#log"}.If(operate),
		parts.RowItem{Icon: "rotate-ccw", Name: "Retry", Key: "retry", To: "/retry", Post: true}.If(operate),
		parts.RowItem{Icon: "repeat", Name: "Run again", Key: "again", To: "/again", Post: true}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Run with other input…", Key: "again", To: p.With(p.Link("jobs", "-new"), "like", parts.RowName)}.If(operate),
		parts.RowItem{Icon: "x", Name: "Cancel…", Key: "cancel", To: "/cancel", Asks: "Cancel", Text: "It does not start. If it runs, its worker is told to stop it, and kills it after the time that its task gives."}.If(operate))
}

// jobLacks returns the actions that a job does not allow now.
func jobLacks(j job.Job) string {
	var lacks []string
	d := jobData{Job: j}
	if !d.CanCancel() {
		lacks = append(lacks, "cancel")
	}
	if !d.CanRetry() {
		lacks = append(lacks, "retry")
	}
	if _, owned := parts.Owner(j.Task); owned {
		lacks = append(lacks, "again")
	}
	return strings.Join(lacks, " ")
}
