package cycles

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/cycle"
)

// RowMenu returns the actions on a cycle of the list.
func (p *page) RowMenu() parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "play", Name: "Run now", Key: "run", To: "/run", Post: true}.If(operate),
		parts.RowItem{Icon: "x", Name: "Cancel the run…", Key: "cancel", To: "/cancel", Asks: "Cancel the run of",
			Text: "The running member is asked to end, and no other member starts. Finished members stay finished."}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin))
}

// cycleLacks returns the actions that a cycle does not allow now.
func cycleLacks(s cycle.Status) string {
	if s.Run != nil {
		return "run"
	}
	return "cancel"
}
