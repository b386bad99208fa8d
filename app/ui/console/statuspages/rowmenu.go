package statuspages

import (
	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/public"
)

const deleteText = "Its address leads nowhere then. The monitors stay."

// RowMenu returns the actions on a status page of the list.
func (p *page) RowMenu() parts.RowMenu {
	admin := p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "bell", Name: "Announcements", To: "/announcements"}.If(admin),
		parts.RowItem{Icon: "circle-user", Name: "Subscribers", To: "/subscribers"}.If(admin),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: ""}.If(admin),
		parts.RowItem{Icon: "pause", Name: "Disable…", Key: "off", To: "/off", Asks: "Disable status page", Text: "Its address leads nowhere until it is enabled."}.If(admin),
		parts.RowItem{Icon: "play", Name: "Enable", Key: "on", To: "/on", Post: true}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete status page", Text: deleteText}.If(admin))
}

func (p *page) switchStatusPage(off bool) (public.StatusPage, error) {
	read := func() (public.StatusPage, error) {
		return p.api.StatusPage(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	}
	return forms.Change(p.R.Context(), read, func(s *public.StatusPage) { s.Off = off }, p.api.SaveStatusPage)
}

func disableStatusPage(p *page) error {
	s, err := p.switchStatusPage(true)
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("status-pages"), p.Link("status-pages", s.Name, "on"), "Status page %s is disabled: it is not public.", s.Name)
}

func enableStatusPage(p *page) error {
	s, err := p.switchStatusPage(false)
	if err != nil {
		return err
	}
	return p.Done(p.Link("status-pages"), "Status page %s is enabled.", s.Name)
}
