package monitors

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// bulkMonitors is something to be done to many monitors: to those that are
// named, or to all that a filter finds.
type bulkMonitors struct {
	Do       string
	Names    []string // as namespace/name
	Filter   view.MonitorFilter
	All      bool // that the filter finds
	Monitors []view.MonitorView
	More     bool // there are more than can be done at once
	For      string
	Reason   string
	Fields   []parts.Field
	Err      error
	Left     []bulkLeft
	Done     int
}

// bulkLeft is a monitor that it was not done to.
type bulkLeft struct {
	Namespace, Name string
	Err             error
}

// Verb is the action, as the label of a button.
func (b bulkMonitors) Verb() string {
	return map[string]string{"pause": "Pause", "resume": "Resume", "check": "Check"}[b.Do]
}

// Said is the result of the action.
func (b bulkMonitors) Said() string {
	return map[string]string{"pause": "paused", "resume": "resumed", "check": "being checked"}[b.Do]
}

const (
	maxBulkMonitors  = 500
	bulkMonitorsSpan = 20 * time.Second
)

func (p *page) readBulkMonitors(from url.Values) (b bulkMonitors, err error) {
	b = bulkMonitors{Do: from.Get("do"), Names: from["m"], All: from.Has("all"), For: from.Get("for"), Reason: from.Get("reason")}
	if b.Verb() == "" {
		return b, core.InvalidField("do", b.Do, "is nothing that can be done to many monitors", "one of pause, resume, check")
	}
	if !p.Can(access.ScopeOperate) {
		return b, core.Errorf(core.Forbidden, "your token may not %s monitors", b.Do).WithHint("it takes one with the scope operate")
	}
	b.Filter = view.MonitorFilter{
		Paging: core.Paging{Limit: maxBulkMonitors}, Namespace: p.Namespace,
		Status: monitor.Status(from.Get("status")), Kind: task.Kind(from.Get("kind")), Tag: from.Get("tag"), Search: from.Get("search"),
	}
	if !b.All && len(b.Names) == 0 {
		return b, core.InvalidField("m", "", "is missing: no monitor was selected", "go back and select some")
	}
	if len(b.Names) > maxBulkMonitors {
		return b, core.InvalidField("m", fmt.Sprint(len(b.Names)), fmt.Sprintf("are more than %d monitors", maxBulkMonitors), "")
	}
	return b, b.find(p)
}

func (b *bulkMonitors) find(p *page) error {
	if b.All {
		found, err := p.api.Monitors(p.R.Context(), b.Filter)
		b.Monitors, b.More = found.Items, found.Next != ""
		return err
	}
	for _, name := range b.Names {
		namespace, name, _ := strings.Cut(name, "/")
		v, err := p.api.Monitor(p.R.Context(), namespace, name)
		if err != nil {
			return err
		}
		b.Monitors = append(b.Monitors, v)
	}
	return nil
}

// fields are the optional inputs.
func (b *bulkMonitors) fields() {
	if b.Do == "pause" {
		b.Fields = pauseFields(b.For, b.Reason, b.Err)
	}
}

// monitorsDryRun shows which monitors it would be, and asks.
func monitorsDryRun(p *page) error {
	b, err := p.readBulkMonitors(p.R.URL.Query())
	if err != nil {
		return err
	}
	b.fields()
	return p.Show("monitors-bulk", b)
}

// monitorsBulk does it to one after the other, and says to which it could not.
func monitorsBulk(p *page) error {
	b, err := p.readBulkMonitors(p.R.PostForm)
	if err != nil {
		return err
	}
	until, err := p.pausedUntil(b.For)
	if err != nil {
		b.Err = err
		b.fields()
		return p.Again("monitors-bulk", b, err)
	}
	began := time.Now()
	for i, v := range b.Monitors {
		if time.Since(began) > bulkMonitorsSpan {
			for _, v := range b.Monitors[i:] {
				b.Left = append(b.Left, bulkLeft{v.Namespace, v.Name, core.Errorf(core.Unavailable, "there was no more time")})
			}
			break
		}
		if err := b.do(p, v, until); err != nil {
			b.Left = append(b.Left, bulkLeft{v.Namespace, v.Name, err})
			continue
		}
		b.Done++
	}
	if len(b.Left) == 0 {
		return p.Done(p.Link("monitors"), "%s %s.", parts.Plural(b.Done, "monitor is", "monitors are"), b.Said())
	}
	b.Monitors = nil
	return p.Show("monitors-bulk", b)
}

func (b *bulkMonitors) do(p *page, v view.MonitorView, until time.Time) (err error) {
	ctx := p.R.Context()
	switch b.Do {
	case "pause":
		_, err = p.api.PauseMonitor(ctx, v.Namespace, v.Name, until, b.Reason)
	case "resume":
		_, err = p.api.ResumeMonitor(ctx, v.Namespace, v.Name)
	default:
		_, err = p.api.CheckMonitor(ctx, v.Namespace, v.Name)
	}
	return err
}

// BulkMonitorsCommand is the same by the command line, as far as the command line takes
// names.
func (p *page) BulkMonitorsCommand(b bulkMonitors) parts.Command {
	words := []string{"monitor", b.Do}
	name := "NAME"
	for _, v := range b.Monitors[:min(len(b.Monitors), 20)] {
		words = append(words, v.Name)
		name = v.Name
	}
	return p.Command("POST", p.APIPath("/v1/monitors/"+name+"/"+b.Do), "", words...)
}
