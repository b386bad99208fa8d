package alerting

import (
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/hook"
)

// HookMenu returns the actions on a hook of the list.
func (p *page) HookMenu() parts.RowMenu {
	operate, admin := p.Can("operate"), p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "zap", Name: "Send a test", Key: "test", To: "/test", Post: true}.If(operate),
		parts.RowItem{Icon: "play", Name: "Retry now", Key: "retry", To: "/resume", Post: true}.If(operate),
		parts.RowItem{Icon: "pause", Name: "Pause", Key: "pause", To: "/pause", Post: true}.If(operate),
		parts.RowItem{Icon: "rotate-ccw", Name: "Resume", Key: "resume", To: "/resume", Post: true}.If(operate),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: "/edit"}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete hook", Text: deleteHookText}.If(admin))
}

// Lacks returns the actions that a hook does not allow now.
func (r hookRow) Lacks() string {
	var keys []string
	if r.Pull {
		keys = append(keys, "test")
	}
	if r.Now.State == hook.Paused || r.Now.State == hook.Disabled {
		return strings.Join(append(keys, "retry", "pause"), " ")
	}
	if !r.Troubled() {
		keys = append(keys, "retry")
	}
	return strings.Join(append(keys, "resume"), " ")
}

// RuleMenu returns the actions on an alert rule of the list.
func (p *page) RuleMenu() parts.RowMenu {
	admin := p.Can("admin")
	return parts.NewRowMenu(p.Path(),
		parts.RowItem{Icon: "pause", Name: "Disable", Key: "off", To: "/off", Post: true}.If(admin),
		parts.RowItem{Icon: "play", Name: "Enable", Key: "on", To: "/on", Post: true}.If(admin),
		parts.RowItem{Icon: "pencil", Name: "Edit", To: ""}.If(admin),
		parts.RowItem{Icon: "trash-2", Name: "Delete…", To: "/delete", Asks: "Delete alert rule", Text: deleteRuleText}.If(admin))
}
