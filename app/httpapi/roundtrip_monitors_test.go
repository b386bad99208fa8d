package httpapi

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func pageOf[T any](v T) core.Page[T] { return core.Page[T]{Items: []T{v}, Next: "a1", Looked: 7} }

// shownView is a monitor as it is answered.
func shownView() view.MonitorView {
	v := apitest.Filled[view.MonitorView]()
	v.Monitor = v.Redacted()
	return v
}

// monitorCalls are those about monitors and who is told of them.
func monitorCalls(c *client.Client) []exchange {
	at := apitest.Filled[time.Time]()
	paging := core.Paging{Limit: 7, Cursor: "a/b+c=&"}
	results := view.ResultFilter{Paging: paging, Namespace: "ns", Monitor: "n", Outcome: "fail", Since: at, Until: at}
	series := view.SeriesQuery{Namespace: "ns", Monitor: "n", From: at, To: at.Add(time.Hour), Step: core.Duration(5 * time.Minute)}
	update := monitor.Update{State: monitor.IncidentIdentified, Text: "a full disk", Public: true}
	incidents := view.IncidentFilter{Paging: paging, Namespace: "*", Monitor: "m", Open: true, Over: true}
	versions := view.VersionFilter{Paging: paging, Namespace: "ns", Monitor: "n"}
	alerts := alert.Filter{Paging: paging, Namespace: "*", Channel: "c", Monitor: "m", Incident: 7, State: "failed", ID: 9}
	monitors := view.MonitorFilter{Paging: paging, Namespace: "*", Status: "down", Kind: "heartbeat", Tag: "g", Search: "n&"}
	calls := []exchange{
		{[]any{"CreateMonitor", apitest.Filled[monitor.Monitor]()}, shownView(),
			func(ctx context.Context) (any, error) { return c.CreateMonitor(ctx, apitest.Filled[monitor.Monitor]()) }},
		{[]any{"UpdateMonitor", apitest.Filled[monitor.Monitor]()}, shownView(),
			func(ctx context.Context) (any, error) { return c.UpdateMonitor(ctx, apitest.Filled[monitor.Monitor]()) }},
		{[]any{"DeleteMonitor", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteMonitor(ctx, "ns", "n") }},
		{[]any{"Monitor", "ns", "n"}, shownView(),
			func(ctx context.Context) (any, error) { return c.Monitor(ctx, "ns", "n") }},
		{[]any{"Monitors", monitors}, pageOf(shownView()),
			func(ctx context.Context) (any, error) { return c.Monitors(ctx, monitors) }},
		{[]any{"CountMonitors", view.MonitorFilter{Namespace: "*", Status: "down", Kind: "heartbeat", Tag: "g", Search: "n&"}}, apitest.Filled[view.MonitorCount](),
			func(ctx context.Context) (any, error) { return c.CountMonitors(ctx, monitors) }},
		{[]any{"Bars", monitor.BarsQuery{Namespace: "ns", Monitors: []string{"a", "b"}, Span: "24h"}}, apitest.Filled[[]monitor.Bars](),
			func(ctx context.Context) (any, error) {
				return c.Bars(ctx, monitor.BarsQuery{Namespace: "ns", Monitors: []string{"a", "b"}, Span: "24h"})
			}},
		{[]any{"PauseMonitor", "ns", "n", at, "because"}, shownView(),
			func(ctx context.Context) (any, error) { return c.PauseMonitor(ctx, "ns", "n", at, "because") }},
		{[]any{"PauseMonitor", "ns", "n", time.Time{}, ""}, shownView(),
			func(ctx context.Context) (any, error) { return c.PauseMonitor(ctx, "ns", "n", time.Time{}, "") }},
		{[]any{"ResumeMonitor", "ns", "n"}, shownView(),
			func(ctx context.Context) (any, error) { return c.ResumeMonitor(ctx, "ns", "n") }},
		{[]any{"CheckMonitor", "ns", "n"}, apitest.Filled[job.Job](),
			func(ctx context.Context) (any, error) { return c.CheckMonitor(ctx, "ns", "n") }},
		{[]any{"Results", results}, apitest.Filled[core.Page[view.MonitorResult]](),
			func(ctx context.Context) (any, error) { return c.Results(ctx, results) }},
		{[]any{"Series", series}, apitest.Filled[monitor.Series](),
			func(ctx context.Context) (any, error) { return c.Series(ctx, series) }},
		{[]any{"Uptime", "ns", "n"}, apitest.Filled[view.UptimeReport](),
			func(ctx context.Context) (any, error) { return c.Uptime(ctx, "ns", "n") }},
		{[]any{"Timeline", "ns", "n", at}, apitest.Filled[[]monitor.Span](),
			func(ctx context.Context) (any, error) { return c.Timeline(ctx, "ns", "n", at) }},
		{[]any{"Incidents", incidents}, apitest.Filled[core.Page[monitor.Incident]](),
			func(ctx context.Context) (any, error) { return c.Incidents(ctx, incidents) }},
		{[]any{"Incident", "*", int64(9)}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.Incident(ctx, "*", 9) }},
		{[]any{"AcknowledgeIncident", "*", int64(9), "mine"}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.AcknowledgeIncident(ctx, "*", 9, "mine") }},
		{[]any{"AcknowledgeIncident", "ns", int64(9), ""}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.AcknowledgeIncident(ctx, "ns", 9, "") }},
		{[]any{"UnacknowledgeIncident", "ns", int64(9)}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.UnacknowledgeIncident(ctx, "ns", 9) }},
		{[]any{"AssignIncident", "ns", int64(9), "ann"}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.AssignIncident(ctx, "ns", 9, "ann") }},
		{[]any{"UnassignIncident", "*", int64(9)}, apitest.Filled[monitor.Incident](),
			func(ctx context.Context) (any, error) { return c.UnassignIncident(ctx, "*", 9) }},
		{[]any{"UpdateIncident", "ns", int64(9), update}, apitest.Filled[monitor.Update](),
			func(ctx context.Context) (any, error) { return c.UpdateIncident(ctx, "ns", 9, update) }},
		{[]any{"PageVersions", versions}, apitest.Filled[core.Page[monitor.PageVersion]](),
			func(ctx context.Context) (any, error) { return c.PageVersions(ctx, versions) }},
		{[]any{"PageVersion", "ns", "n", int64(3)}, apitest.Filled[monitor.PageVersion](),
			func(ctx context.Context) (any, error) { return c.PageVersion(ctx, "ns", "n", 3) }},
		{[]any{"PageVersion", "ns", "n", int64(0)}, apitest.Filled[monitor.PageVersion](),
			func(ctx context.Context) (any, error) { return c.PageVersion(ctx, "ns", "n", 0) }},
		{[]any{"PageVersion", "ns", "n", int64(-1)}, apitest.Filled[monitor.PageVersion](),
			func(ctx context.Context) (any, error) { return c.PageVersion(ctx, "ns", "n", -1) }},
		{[]any{"AcceptPage", "ns", "n", int64(3)}, apitest.Filled[monitor.PageVersion](),
			func(ctx context.Context) (any, error) { return c.AcceptPage(ctx, "ns", "n", 3) }},
		{[]any{"Alerts", alerts}, apitest.Filled[core.Page[alert.Alert]](),
			func(ctx context.Context) (any, error) { return c.Alerts(ctx, alerts) }},
		{[]any{"AlertTries", "*", int64(9)}, apitest.Filled[[]alert.Try](),
			func(ctx context.Context) (any, error) { return c.AlertTries(ctx, "*", 9) }},
	}
	return append(calls, documentCalls(c, view.DocumentFilter{Paging: paging, Namespace: "*"})...)
}

func documentCalls(c *client.Client, all view.DocumentFilter) []exchange {
	found := all
	found.Part = "Екип"
	channel := apitest.Filled[alert.Channel]()
	hooked := apitest.Filled[hook.Hook]()
	hookEvents := hook.Filter{Paging: all.Paging, Namespace: "ns", Hook: "n", State: hook.Sent, Type: "job.*"}
	window := monitor.Window{From: time.Now().Add(time.Hour).UTC().Truncate(time.Second), To: time.Now().Add(2 * time.Hour).UTC().Truncate(time.Second)}
	return []exchange{
		{[]any{"SaveChannel", channel}, channel.Redacted(),
			func(ctx context.Context) (any, error) { return c.SaveChannel(ctx, channel) }},
		{[]any{"DeleteChannel", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteChannel(ctx, "ns", "n") }},
		{[]any{"Channel", "ns", "n"}, channel.Redacted(),
			func(ctx context.Context) (any, error) { return c.Channel(ctx, "ns", "n") }},
		{[]any{"Channels", found}, pageOf(channel.Redacted()),
			func(ctx context.Context) (any, error) { return c.Channels(ctx, found) }},
		{[]any{"SaveAlertRule", apitest.Filled[alert.Rule]()}, apitest.Filled[alert.Rule](),
			func(ctx context.Context) (any, error) { return c.SaveAlertRule(ctx, apitest.Filled[alert.Rule]()) }},
		{[]any{"DeleteAlertRule", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteAlertRule(ctx, "ns", "n") }},
		{[]any{"AlertRule", "ns", "n"}, apitest.Filled[alert.Rule](),
			func(ctx context.Context) (any, error) { return c.AlertRule(ctx, "ns", "n") }},
		{[]any{"AlertRules", found}, apitest.Filled[core.Page[alert.Rule]](),
			func(ctx context.Context) (any, error) { return c.AlertRules(ctx, found) }},
		{[]any{"SaveHook", hooked}, hooked.Redacted(),
			func(ctx context.Context) (any, error) { return c.SaveHook(ctx, hooked) }},
		{[]any{"DeleteHook", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteHook(ctx, "ns", "n") }},
		{[]any{"Hook", "ns", "n"}, hooked.Redacted(),
			func(ctx context.Context) (any, error) { return c.Hook(ctx, "ns", "n") }},
		{[]any{"ListHooks", found}, pageOf(hooked.Redacted()),
			func(ctx context.Context) (any, error) { return c.ListHooks(ctx, found) }},
		{[]any{"PauseHook", "ns", "n", true}, hooked.Redacted(),
			func(ctx context.Context) (any, error) { return c.PauseHook(ctx, "ns", "n", true) }},
		{[]any{"PauseHook", "ns", "n", false}, hooked.Redacted(),
			func(ctx context.Context) (any, error) { return c.PauseHook(ctx, "ns", "n", false) }},
		{[]any{"HookStatus", "ns", "n"}, apitest.Filled[hook.Status](),
			func(ctx context.Context) (any, error) { return c.HookStatus(ctx, "ns", "n") }},
		{[]any{"HookStatuses", all}, apitest.Filled[core.Page[hook.Standing]](),
			func(ctx context.Context) (any, error) { return c.HookStatuses(ctx, all) }},
		{[]any{"PullEvents", "ns", "n", "1.2", 3 * time.Second}, apitest.Filled[hook.Pulled](),
			func(ctx context.Context) (any, error) { return c.PullEvents(ctx, "ns", "n", "1.2", 3*time.Second) }},
		{[]any{"AckEvents", "ns", "n", "1.2"}, apitest.Filled[hook.Standing](),
			func(ctx context.Context) (any, error) { return c.AckEvents(ctx, "ns", "n", "1.2") }},
		{[]any{"HookEvents", hookEvents}, apitest.Filled[core.Page[hook.Recorded]](),
			func(ctx context.Context) (any, error) { return c.HookEvents(ctx, hookEvents) }},
		{[]any{"ReplayHook", "ns", "n", hook.Replay{Type: "job.*", ID: 9}}, apitest.Filled[hook.Replayed](),
			func(ctx context.Context) (any, error) {
				return c.ReplayHook(ctx, "ns", "n", hook.Replay{Type: "job.*", ID: 9})
			}},
		{[]any{"SaveWindow", apitest.Filled[monitor.Window]()}, apitest.Filled[monitor.Window](),
			func(ctx context.Context) (any, error) { return c.SaveWindow(ctx, apitest.Filled[monitor.Window]()) }},
		{[]any{"DeleteWindow", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteWindow(ctx, "ns", "n") }},
		{[]any{"Window", "ns", "n"}, apitest.Filled[monitor.Window](),
			func(ctx context.Context) (any, error) { return c.Window(ctx, "ns", "n") }},
		{[]any{"Windows", found}, apitest.Filled[core.Page[monitor.Window]](),
			func(ctx context.Context) (any, error) { return c.Windows(ctx, found) }},
		{[]any{""}, []monitor.ActiveWindow{{Name: "preview", From: window.From, To: window.To}},
			func(ctx context.Context) (any, error) { return c.PreviewWindow(ctx, window, time.Time{}, 3) }},
		{[]any{"Announcements", view.AnnouncementFilter{Paging: all.Paging, Namespace: "ns", StatusPage: "n", Current: true}}, apitest.Filled[core.Page[public.Announcement]](),
			func(ctx context.Context) (any, error) {
				return c.Announcements(ctx, view.AnnouncementFilter{Paging: all.Paging, Namespace: "ns", StatusPage: "n", Current: true})
			}},
		{[]any{"Announcement", "ns", "n", int64(9)}, apitest.Filled[public.Announcement](),
			func(ctx context.Context) (any, error) { return c.Announcement(ctx, "ns", "n", 9) }},
		{[]any{"CreateAnnouncement", public.Announcement{Namespace: "ns", Page: "n", Title: "t"}}, apitest.Filled[public.Announcement](),
			func(ctx context.Context) (any, error) {
				return c.CreateAnnouncement(ctx, public.Announcement{Namespace: "ns", Page: "n", Title: "t"})
			}},
		{[]any{"UpdateAnnouncement", public.Announcement{Namespace: "ns", Page: "n", ID: 9, Title: "t"}}, apitest.Filled[public.Announcement](),
			func(ctx context.Context) (any, error) {
				return c.UpdateAnnouncement(ctx, public.Announcement{Namespace: "ns", Page: "n", ID: 9, Title: "t"})
			}},
		{[]any{"EndAnnouncement", "ns", "n", int64(9)}, apitest.Filled[public.Announcement](),
			func(ctx context.Context) (any, error) { return c.EndAnnouncement(ctx, "ns", "n", 9) }},
		{[]any{"Subscribers", view.SubscriberFilter{Paging: all.Paging, Namespace: "ns", StatusPage: "n"}}, apitest.Filled[core.Page[public.Subscriber]](),
			func(ctx context.Context) (any, error) {
				return c.Subscribers(ctx, view.SubscriberFilter{Paging: all.Paging, Namespace: "ns", StatusPage: "n"})
			}},
		{[]any{"CountSubscribers", "ns", "n"}, apitest.Filled[view.SubscriberCounts](),
			func(ctx context.Context) (any, error) { return c.CountSubscribers(ctx, "ns", "n") }},
		{[]any{"RemoveSubscriber", "ns", "n", int64(9)}, nil,
			func(ctx context.Context) (any, error) { return nil, c.RemoveSubscriber(ctx, "ns", "n", 9) }},
		{[]any{"SaveStatusPage", apitest.Filled[public.StatusPage]()}, apitest.Filled[public.StatusPage](),
			func(ctx context.Context) (any, error) {
				return c.SaveStatusPage(ctx, apitest.Filled[public.StatusPage]())
			}},
		{[]any{"DeleteStatusPage", "ns", "n"}, nil,
			func(ctx context.Context) (any, error) { return nil, c.DeleteStatusPage(ctx, "ns", "n") }},
		{[]any{"StatusPage", "ns", "n"}, apitest.Filled[public.StatusPage](),
			func(ctx context.Context) (any, error) { return c.StatusPage(ctx, "ns", "n") }},
		{[]any{"StatusPages", found}, apitest.Filled[core.Page[public.StatusPage]](),
			func(ctx context.Context) (any, error) { return c.StatusPages(ctx, found) }},
	}
}

// whatTheServerComputes are calls whose answers come from more than one of the
// service.
func whatTheServerComputes(t *testing.T, b *bench) {
	t.Helper()
	c, at := b.client, apitest.Filled[time.Time]()
	window := monitor.Window{Name: "n", From: at, To: at.Add(time.Hour)}.WithDefaults()
	b.when("Window", func(context.Context, []any) (any, error) { return window, nil })
	next, err := c.WindowNext(t.Context(), "ns", "n", at.Add(-time.Hour), 2)
	if err != nil {
		t.Error(err)
	}
	same(t, "window", b.last(), []any{"Window", "ns", "n"})
	same(t, "next of it", next, []monitor.ActiveWindow{{Name: "n", From: at, To: at.Add(time.Hour)}})

	texts := map[int64]string{1: "one\ntwo\n", 2: "one\n2\n", 3: "one\n2\n3\n"}
	b.when("PageVersion", func(_ context.Context, args []any) (any, error) {
		seq := args[2].(int64)
		switch {
		case seq < 0:
			seq = 1
		case seq == 0:
			seq = 3
		}
		return monitor.PageVersion{Seq: seq, Text: texts[seq], Baseline: seq == 1}, nil
	})
	for _, call := range []struct {
		from, to int64
		want     [4]int // numbers of the versions, lines added and removed
		do       func() (wire.PageDiff, error)
	}{
		{2, 3, [4]int{2, 3, 1, 0}, func() (wire.PageDiff, error) { return c.PageDiff(t.Context(), "ns", "n", 2, 3) }},
		{-1, 2, [4]int{1, 2, 1, 1}, func() (wire.PageDiff, error) { return c.PageDiff(t.Context(), "ns", "n", -1, 2) }},
		{-1, 0, [4]int{1, 3, 2, 1}, func() (wire.PageDiff, error) { return c.LastChange(t.Context(), "ns", "n") }},
	} {
		d, err := call.do()
		if err != nil || d.From.Text != "" || d.To.Text != "" || len(d.Hunks) != 1 {
			t.Errorf("diff of %d and %d: %+v %v", call.from, call.to, d, err)
		}
		same(t, "diff", [4]int{int(d.From.Seq), int(d.To.Seq), d.Added, d.Removed}, call.want)
	}

	tried, err := c.Try(t.Context(), wire.Trial{Namespace: "ns", Monitor: "n"})
	if err != nil {
		t.Error(err)
	}
	same(t, "try", tried.CheckResult, apitest.Filled[task.CheckResult]())
	tested, err := c.TestChannel(t.Context(), "ns", "n")
	if err != nil || !tested.OK {
		t.Errorf("test: %+v %v", tested, err)
	}
	if tested, err = c.TestHook(t.Context(), "ns", "n"); err != nil || !tested.OK {
		t.Errorf("test of a hook: %+v %v", tested, err)
	}
}
