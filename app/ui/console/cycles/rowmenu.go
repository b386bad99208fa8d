package cycles

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/cycle"
)

// RowMenu is what can be done with a cycle of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "play", Name: "Run now", Key: "run", To: "/run", Post: true}.If(operate),
		parts.RowItem{Icon: "x", Name: "Cancel the run…", Key: "cancel", To: "/cancel", Asks: "Cancel the run of",
			Text: "The member that runs is asked to end, and no other one starts. What is done stays done."}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin))
}

// cycleLacks is what cannot be done with a cycle now.
func cycleLacks(s cycle.Status) string {
	if s.Run != nil {
		return "run"
	}
	return "cancel"
}
