package windows

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/monitor"
)

const deleteText = "Failures send alerts again, and count. What happened within it until now stays as it is."

// RowMenu returns the actions on a maintenance window of the list.
func (p *page) RowMenu() parts.RowMenu {
	admin := p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "pause", Name: "Disable", Key: "off", To: "/off", Post: true}.If(admin),
		parts.RowItem{Icon: "play", Name: "Enable", Key: "on", To: "/on", Post: true}.If(admin),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: ""}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete window", Text: deleteText}.If(admin))
}

func (p *page) switchWindow(off bool) (monitor.Window, error) {
	read := func() (monitor.Window, error) {
		return p.api.Window(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	}
	return forms.Change(p.R.Context(), read, func(w *monitor.Window) { w.Off = off }, p.api.SaveWindow)
}

func disableWindow(p *page) error {
	w, err := p.switchWindow(true)
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("settings", "windows"), p.Link("settings", "windows", w.Name, "on"), "Window %s is disabled: failures send alerts, and count.", w.Name)
}

func enableWindow(p *page) error {
	w, err := p.switchWindow(false)
	if err != nil {
		return err
	}
	return p.Done(p.Link("settings", "windows"), "Window %s is enabled.", w.Name)
}
