package monitors

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

func pauseFields(span, reason string, err error) []parts.Field {
	return []parts.Field{
		parts.NewField("for", "For how long", "text", span, "Such as 2h or 3d. Empty: until it is resumed.", err),
		parts.NewField("reason", "Reason", "text", reason, "Shown to everyone, and kept in the audit.", err),
	}
}

// pausedUntil is the end of a pause that lasts so long from now on.
func (p *page) pausedUntil(span string) (until time.Time, err error) {
	if span = strings.TrimSpace(span); span == "" {
		return until, nil
	}
	d, err := core.ParseDuration(span)
	if err != nil || d <= 0 {
		return until, core.InvalidField("for", span, "is not a length of time", "such as 2h or 3d")
	}
	return p.Now.Add(d.D()), nil
}

func pauseMonitor(p *page) error {
	until, err := p.pausedUntil(p.R.PostFormValue("for"))
	if err != nil {
		return err
	}
	v, err := p.api.PauseMonitor(p.R.Context(), p.Namespace, p.R.PathValue("name"), until, p.R.PostFormValue("reason"))
	if err != nil {
		return err
	}
	return p.DoneUndo(p.Link("monitors", v.Name), p.Link("monitors", v.Name, "resume"), "Monitor %s is paused.", v.Name)
}

func resumeMonitor(p *page) error {
	v, err := p.api.ResumeMonitor(p.R.Context(), p.Namespace, p.R.PathValue("name"))
	if err != nil {
		return err
	}
	return p.Done(p.Link("monitors", v.Name), "Monitor %s is resumed. Its next check tells its state.", v.Name)
}

func checkMonitor(p *page) error {
	name := p.R.PathValue("name")
	j, err := p.api.CheckMonitor(p.R.Context(), p.Namespace, name)
	if err != nil {
		return err
	}
	return p.Done(p.Link("monitors", name), "Monitor %s is being checked, as job %d. The result shows up here.", name, j.ID)
}

func deleteMonitor(p *page) error {
	name := p.R.PathValue("name")
	if err := p.api.DeleteMonitor(p.R.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.Done(p.Link("monitors"), "Monitor %s is deleted. Its incidents are kept.", name)
}

// PauseMonitor asks before a monitor is paused.
func (p *page) PauseMonitor(v view.MonitorView) parts.Confirm {
	body, _ := json.Marshal(map[string]string{"for": "2h", "reason": "why"}) // plain words
	cmd := p.Command("POST", p.APIPath("/v1/monitors/"+url.PathEscape(v.Name)+"/pause"), string(body), "monitor", "pause", v.Name, "--for", "2h", "--reason", "why")
	return parts.Confirm{
		ID: "pause", Button: "Pause", Title: "Pause monitor " + v.Name + "?",
		Text:   "No checks and no alerts until you resume it. The time does not count for its uptime, and an open incident ends.",
		Action: p.Link("monitors", v.Name, "pause"), Fields: pauseFields("", "", nil), Cmd: &cmd,
	}
}

// DeleteMonitor asks before a monitor is deleted.
func (p *page) DeleteMonitor(v view.MonitorView) parts.Confirm {
	cmd := p.Command("DELETE", p.APIPath("/v1/monitors/"+url.PathEscape(v.Name)), "", "monitor", "delete", v.Name)
	return parts.Confirm{
		ID: "delete", Button: "Delete", Danger: true, Title: "Delete monitor " + v.Name + "?",
		Text:   "Its results, its uptime and the versions of its page are gone then, for good. Its incidents are kept.",
		Action: p.Link("monitors", v.Name, "delete"), Cmd: &cmd,
	}
}

// MonitorCommand is an action on a monitor, without this page.
func (p *page) MonitorCommand(name, verb string) parts.Command {
	return p.Command("POST", p.APIPath("/v1/monitors/"+url.PathEscape(name)+"/"+verb), "", "monitor", verb, name)
}

// rowMenu returns the actions on a monitor of the list.
func rowMenu(p *page) parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "zap", Name: "Check now", Key: "check", To: "/check", Post: true}.If(operate),
		parts.RowItem{Icon: "pause", Name: "Pause", Key: "pause", To: "/pause", Post: true}.If(operate),
		parts.RowItem{Icon: "rotate-ccw", Name: "Resume", Key: "resume", To: "/resume", Post: true}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete monitor",
			Text: "Its results, its uptime and the versions of its page are gone then, for good. Its incidents are kept."}.If(admin))
}

// lacks returns the actions that a monitor does not allow now.
func lacks(v view.MonitorView) string {
	switch {
	case !v.State.PausedAt.IsZero():
		return "check pause"
	case v.Heartbeat != nil:
		return "check resume"
	}
	return "resume"
}
