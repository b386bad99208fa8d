package settings

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

type databaseAPI interface {
	DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error)
}

var databaseRoutes = routes{"GET /settings/database": databasePage}

type databaseData struct {
	view.DatabaseHealth
}

func databasePage(p *page) error {
	d, err := p.api.DatabaseHealth(p.R.Context())
	if err != nil {
		return err
	}
	return p.Show("database", databaseData{d})
}

// since is for how long something has been so.
func (d databaseData) since(at time.Time) string {
	if at.IsZero() {
		return "–"
	}
	return core.SpanText(max(0, d.Now.Sub(at)))
}

// tone is bad for a number whose check has failed.
func (d databaseData) tone(check string) string {
	for _, c := range d.Checks {
		if c.Name == check && !c.OK {
			return "bad"
		}
	}
	return ""
}

// Bad is how many checks ask for an operator.
func (d databaseData) Bad() (n int) {
	for _, c := range d.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

// Numbers are the figures at the top of the page, for the database in use.
func (d databaseData) Numbers(p *page) []parts.Stat {
	first := parts.NewStat("Oldest waiting", d.since(d.ReadyAt), "", "", d.tone("backlog"))
	if d.ReadyQueue != "" {
		first.Note, first.Link = "in "+d.ReadyQueue, p.Link("queues", d.ReadyQueue)
	}
	all := []parts.Stat{
		parts.NewStat("On disk", core.SizeText(d.Size), "", "", ""), first,
		parts.NewStat("Scheduler lag", d.since(d.DueAt), "", "", d.tone("schedules")),
		parts.NewStat("History goes back", d.since(d.OldestAt), "of "+core.SpanText(d.Retention.Age), "", d.tone("history")),
	}
	if d.Most > 0 {
		oldest := "–"
		if d.Transaction != nil {
			oldest = d.since(d.Transaction.Since)
		}
		all = append(all,
			parts.NewStat("Dead rows", parts.NumberText(d.dead()), "", "", d.tone("dead rows")),
			parts.NewStat("Oldest transaction", oldest, "", "", d.tone("oldest transaction")),
			parts.NewStat("Connections", parts.NumberText(d.Connections), "of "+parts.NumberText(d.Most), "", d.tone("connections")))
	}
	if f := d.File; f != nil {
		all = append(all,
			parts.NewStat("Write-ahead log", core.SizeText(f.WAL), "", "", d.tone("write-ahead log")),
			parts.NewStat("Free within the file", core.SizeText(f.Free*f.PageSize), "used before it grows", "", ""))
	}
	return all
}

func (d databaseData) dead() (n int64) {
	for _, t := range d.Tables {
		n += t.Dead
	}
	return n
}

// Server reports that the database is one, whose tables say more.
func (d databaseData) Server() bool { return d.Most > 0 }

// CheckWord is the word for a check's chip.
func (d databaseData) CheckWord(c core.Check) string { return parts.YesNo(c.OK, "ok", "bad") }

// DatabaseCommand is the same without this page. The command looks at the rest
// of the installation too.
func (p *page) DatabaseCommand() parts.Command { return p.Command("GET", "/v1/database", "", "doctor") }
