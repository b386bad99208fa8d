package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	rules "github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/views"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// alerts is a bench with rules and channels.
type alerts struct{ *bench }

// channel saves a webhook and a rule that routes everything to it.
func (b alerts) channel(name string, change ...func(*alert.Rule)) {
	b.Helper()
	must(b.st.SaveChannel(b.ctx, alert.Channel{Name: name, Webhook: &alert.WebhookChannel{URL: "https://example.org/hook"}}))(b)
	r := alert.Rule{Name: "to-" + name, Channels: []string{name}}
	for _, fn := range change {
		fn(&r)
	}
	must(b.st.SaveAlertRule(b.ctx, r))(b)
}

// deliver takes the messages that are due now, settles them, and returns their titles.
func (b alerts) deliver(told view.DeliveryResult) (titles []string) {
	b.Helper()
	for _, t := range must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages {
		titles = append(titles, t.Message.Title)
		ok(b, b.st.SettleAlerts(b.ctx, t, told))
	}
	return titles
}

// later moves the clock and delivers.
func (b alerts) later(d time.Duration) []string {
	b.Helper()
	b.clock.Move(d)
	return b.deliver(view.DeliveryResult{})
}

func (b alerts) alerts(f alert.Filter) (out string) {
	b.Helper()
	all := must(b.st.Alerts(b.ctx, f))(b).Items
	slices.Reverse(all)
	for _, a := range all {
		out += fmt.Sprintf("%s %s %s\n", a.Channel, a.Notification.Type, a.State)
	}
	return out
}

// quietDays returns a calendar of whole days, counted from today.
func quietDays(now time.Time, first, last int) schedule.Calendar {
	day := func(n int) string { return now.UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	return schedule.Calendar{Name: "night", CalendarSpec: rules.CalendarSpec{Closings: []rules.Closing{{Dates: day(first) + ".." + day(last)}}}}
}

func init() {
	add("an outage is told once, and its end, to each channel", caseAnOutageIsToldOnce)
	add("a channel without a failed try is taken before channels that fail", caseAChannelWithoutAFailedTryIsTakenBefore)
	add("a message whose try a stop cut off is due at once, and the try does not count", caseAMessageWhoseTryWasCutOff)
	add("a message that is not taken is tried again under its key, and then given up", caseAMessageThatIsNotTakenIsTriedAgain)
	add("alerts that come together are sent in one message", caseAlertsTogetherAreOneMessage)
	add("reminders come while an outage lasts", caseRemindersComeWhileAnOutageLasts)
	add("one reminder stands for those whose times passed in quiet hours", caseOneReminderStandsForThoseOfQuietHours)
	add("while what a monitor depends on is down, no notification is sent for it", caseWhileWhatAMonitorDependsOnIsDown)
	add("failed jobs and missed schedules go through the same channels", caseFailedJobsAndMissedSchedulesGoThroughTheSame)
	add("an outage whose one message was cut off is sent again", caseAnOutageWhoseOneMessageWasCutOff)
	add("a monitor that is muted sends the end of an outage whose start was sent, and nothing else", caseAMutedMonitorSendsTheEnd)
	add("alerts whose channel or monitor is gone are not sent", caseAlertsWhoseChannelOrMonitorIsGoneAreTold)
	add("gauges and counters of monitors and alerts are what happened", caseGaugesAndCountersOfMonitorsAndAlertsAreWhat)
	// Quiet hours hold the alert of an outage, and then an edit concerns it.
	for _, edit := range []struct {
		name  string
		to    func(b *bench)
		want  []string // messages
		state string   // alerts of the outage
		why   string   // reason of the first alert
	}{
		{"whose calendar opens is sent at once", func(b *bench) {
			must(b.st.SaveCalendar(b.ctx, quietDays(b.clock.Now(), 2, 3)))(b)
		}, []string{"site is down"}, "hook down sent\n", ""},
		{"whose calendar is edited and stays shut waits for its new end", func(b *bench) {
			must(b.st.SaveCalendar(b.ctx, quietDays(b.clock.Now(), -1, 1)))(b)
		}, nil, "hook down pending\n", "quiet hours until "},
		{"whose rule loses its quiet hours is sent at once", func(b *bench) {
			must(b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "to-hook", Channels: []string{"hook"}}))(b)
		}, []string{"site is down"}, "hook down sent\n", ""},
		{"whose rule has another channel goes there", func(b *bench) {
			alerts{b}.channel("phone", func(r *alert.Rule) { r.Off = true })
			must(b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "to-hook", Channels: []string{"phone"}, Group: -1}))(b)
		}, []string{"site is down"}, "hook down suppressed\nphone down sent\n", "alert rule to-hook no longer sends it here"},
		{"whose rule is deleted is not sent", func(b *bench) {
			ok(b, b.st.DeleteAlertRule(b.ctx, "default", "to-hook"))
		}, nil, "hook down suppressed\n", "alert rule to-hook was deleted"},
		{"whose rule is pruned is not sent", func(b *bench) {
			m := must(b.st.Export(b.ctx, "default"))(b)
			m.AlertRules = nil
			must(b.st.Apply(b.ctx, m, view.ApplyOptions{Prune: true}))(b)
		}, nil, "hook down suppressed\n", "alert rule to-hook was deleted"},
	} {
		add("an alert in quiet hours "+edit.name, func(b *bench) {
			w := b.checker()
			must(b.st.SaveCalendar(b.ctx, quietDays(b.clock.Now(), -1, 9)))(b)
			alerts{b}.channel("hook", func(r *alert.Rule) { r.Quiet = []string{"night"} })
			b.monitor("site")
			w.turn("site", failed)
			w.turn("site", failed)
			want(b, "messages in quiet hours", len(alerts{b}.later(time.Minute)), 0)
			edit.to(b)
			var titles []string
			for range 3 { // an alert for another channel is written in one pass and taken in the next
				titles = append(titles, alerts{b}.later(time.Second)...)
			}
			want(b, "messages", fmt.Sprint(titles), fmt.Sprint(edit.want))
			want(b, "alerts", alerts{b}.alerts(alert.Filter{Monitor: "site"}), edit.state)
			all := must(b.st.Alerts(b.ctx, alert.Filter{}))(b).Items
			first := all[len(all)-1]
			if !strings.HasPrefix(first.Reason, edit.why) {
				b.Fatalf("reason of the first alert: got %q, want %q", first.Reason, edit.why)
			}
			if ends := b.clock.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2); edit.want == nil && first.State == alert.Pending && !first.DueAt.Equal(ends) {
				b.Fatalf("due time of the first alert: got %s, want %s", first.DueAt, ends)
			}
		})
	}
	add("channels never show their secrets", caseChannelsNeverShowTheirSecrets)
}

func caseAnOutageIsToldOnce(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook")
	alerts{b}.channel("other", func(r *alert.Rule) { r.On = []alert.NotificationType{alert.NotificationDown} })
	b.monitor("site")
	w.turn("site", passed)
	w.turn("site", failed)
	want(b, "alerts before it is confirmed", alerts{b}.alerts(alert.Filter{}), "")
	w.turn("site", failed)
	want(b, "alerts", alerts{b}.alerts(alert.Filter{}), "hook down pending\nother down pending\n")
	want(b, "notifications within the group's wait", len(alerts{b}.deliver(view.DeliveryResult{})), 0)
	if titles := (alerts{b}).later(31 * time.Second); len(titles) != 2 || !strings.Contains(titles[0], "site") {
		b.Fatalf("messages after the group's wait: got %q, want 2, the first of site", titles)
	}
	want(b, "second notifications of one outage", len(alerts{b}.later(time.Hour)), 0)
	w.turn("site", passed)
	w.turn("site", passed)
	if titles := (alerts{b}).deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.Contains(titles[0], "up") {
		b.Fatalf("messages of the recovery: got %q, want 1 with \"up\"", titles)
	}
	want(b, "alerts", alerts{b}.alerts(alert.Filter{Monitor: "site"}), "hook down sent\nother down sent\nhook up sent\n")
	over := view.IncidentFilter{Over: true}
	outage := must(b.st.Incidents(b.ctx, over))(b).Items
	want(b, "outages that are over", len(outage), 1)
	want(b, "alerts of the outage", alerts{b}.alerts(alert.Filter{Incident: outage[0].ID}), "hook down sent\nother down sent\nhook up sent\n")
	want(b, "alerts of another", alerts{b}.alerts(alert.Filter{Incident: outage[0].ID + 1}), "")
	tries := must(b.st.AlertTries(b.ctx, "default", must(b.st.Alerts(b.ctx, alert.Filter{}))(b).Items[0].ID))(b)
	want(b, "tries", len(tries), 1)
	want(b, "one try", tries[0].Error, "")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "outages that are over while one is not", docOf(must(b.st.Incidents(b.ctx, over))(b).Items), docOf(outage))
}

func caseAChannelWithoutAFailedTryIsTakenBefore(b *bench) {
	w := b.checker()
	at := func(r *alert.Rule) { r.Group = -1 }
	for i := range 3 {
		alerts{b}.channel(fmt.Sprint("dead", i), at)
	}
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "messages that fail", len(alerts{b}.deliver(view.DeliveryResult{Error: "no answer"})), 3)
	alerts{b}.channel("healthy", at)
	b.monitor("other")
	w.turn("other", failed)
	w.turn("other", failed)
	b.clock.Move(6 * time.Second)
	first := must(b.st.TakeAlerts(b.ctx, "", 1))(b).Messages
	want(b, "messages", len(first), 1)
	want(b, "the channel", first[0].Channel.Name, "healthy")
}

func caseAMessageWhoseTryWasCutOff(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	first := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(first), 1)
	ok(b, b.st.SettleAlerts(b.ctx, first[0], view.DeliveryResult{Error: "context canceled", Cut: true}))
	again := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages after it was cut off", len(again), 1)
	want(b, "key", again[0].Message.Key, first[0].Message.Key)
	want(b, "tries before", again[0].Tries, 0)
	// A stop that comes after the end of its claim frees nothing of the next.
	b.clock.Move(view.AlertTaken)
	third := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages after the claim", len(third), 1)
	ok(b, b.st.SettleAlerts(b.ctx, again[0], view.DeliveryResult{Error: "context canceled", Cut: true}))
	want(b, "messages that another node has", len(must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages), 0)
	ok(b, b.st.SettleAlerts(b.ctx, third[0], view.DeliveryResult{}))
	want(b, "alerts", alerts{b}.alerts(alert.Filter{}), "hook down sent\n")
	want(b, "tries", len(must(b.st.AlertTries(b.ctx, "default", 1))(b)), 1)
}

func caseAMessageThatIsNotTakenIsTriedAgain(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	first := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(first), 1)
	want(b, "taken by another node meanwhile", len(must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages), 0)
	b.clock.Move(view.AlertTaken + time.Second) // the node died
	again := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(again), 1)
	want(b, "key", again[0].Message.Key, first[0].Message.Key)
	ok(b, b.st.SettleAlerts(b.ctx, again[0], view.DeliveryResult{Error: "503"}))
	want(b, "messages at once", len(must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages), 0)
	b.clock.Move(6 * time.Second)
	third := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(third), 1)
	want(b, "key", third[0].Message.Key, first[0].Message.Key)
	want(b, "tries before", third[0].Tries, 1)
	ok(b, b.st.SettleAlerts(b.ctx, third[0], view.DeliveryResult{Error: "429", RetryAfter: core.Duration(time.Hour)}))
	want(b, "messages", len(alerts{b}.later(30*time.Minute)), 0)
	b.clock.Move(31 * time.Minute)
	want(b, "messages", len(alerts{b}.deliver(view.DeliveryResult{Error: "400", Permanent: true})), 1)
	want(b, "alerts", alerts{b}.alerts(alert.Filter{State: alert.Failed}), "hook down failed\n")
	want(b, "tries", len(must(b.st.AlertTries(b.ctx, "default", 1))(b)), 3)
	wantCode(b, second(b.st.AlertTries(b.ctx, "other", 1)), core.NotFound)
}

func caseAlertsTogetherAreOneMessage(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook")
	for i := range 5 {
		b.monitor(fmt.Sprintf("site-%d", i), func(m *monitor.Monitor) { m.Rules = []schedule.Rule{{Cron: "* * * * *"}} })
	}
	for range 2 {
		b.clock.Move(time.Minute)
		w.fire()
		w.promote()
		for _, j := range w.checks() {
			w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { m := failed; f.Check = &m })
		}
	}
	want(b, "alerts", strings.Count(alerts{b}.alerts(alert.Filter{}), "pending"), 5)
	titles := alerts{b}.later(31 * time.Second)
	want(b, "messages", fmt.Sprint(titles), "[5 down]")
}

func caseRemindersComeWhileAnOutageLasts(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group, r.Remind, r.RemindMax = -1, core.Duration(10*time.Minute), 2 })
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "down", len(alerts{b}.deliver(view.DeliveryResult{})), 1)
	var told int
	for range 12 * 8 {
		for _, title := range (alerts{b}).later(5 * time.Minute) {
			if !strings.Contains(title, "still down") {
				b.Fatalf("message during the outage: got %q, want a reminder", title)
			}
			told++
		}
	}
	if told != 2 {
		b.Fatalf("reminders: got %d, want 2:\n%+v", told, must(b.st.Alerts(b.ctx, alert.Filter{}))(b).Items)
	}
	w.turn("site", passed)
	w.turn("site", passed)
	want(b, "notifications of the recovery", len(alerts{b}.deliver(view.DeliveryResult{})), 1)
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "down", len(alerts{b}.deliver(view.DeliveryResult{})), 1)
	w.turn("site", passed)
	w.turn("site", passed)
	alerts{b}.deliver(view.DeliveryResult{})
	want(b, "reminders of what is over", len(alerts{b}.later(time.Hour)), 0)
}

func caseOneReminderStandsForThoseOfQuietHours(b *bench) {
	w := b.checker()
	midnight := b.clock.Now().UTC().Truncate(24 * time.Hour)
	must(b.st.SaveCalendar(b.ctx, quietDays(midnight, 2, 2)))(b)
	both := func(r *alert.Rule) {
		r.Group, r.Remind, r.RemindMax, r.Quiet = -1, core.Duration(40*time.Minute), 20, []string{"night"}
	}
	alerts{b}.channel("hook", both)
	alerts{b}.channel("phone", both)
	b.clock.Move(midnight.AddDate(0, 0, 2).Add(-time.Hour).Sub(b.clock.Now())) // reminders after 40 min, then at 2, 4:40, 10, 20:40 and 42 h
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "down", len(alerts{b}.deliver(view.DeliveryResult{})), 2)
	sent := func(what string, span time.Duration, wanted int) {
		b.Helper()
		n := 0
		for range span / (10 * time.Minute) {
			n += len(alerts{b}.later(10 * time.Minute))
		}
		want(b, what, n, wanted)
	}
	sent("reminders before", time.Hour, 2)
	sent("reminders in quiet hours", 23*time.Hour+50*time.Minute, 0)
	sent("reminders at their end", time.Hour, 2)
	sent("reminders until the next is due", 16*time.Hour, 0)
	sent("the next", 3*time.Hour, 2)
}

func caseWhileWhatAMonitorDependsOnIsDown(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook")
	b.monitor("router")
	b.monitor("site", func(m *monitor.Monitor) { m.DependsOn = []string{"router"} })
	for range 4 {
		for _, name := range []string{"router", "site"} {
			w.turn(name, failed)
		}
	}
	for _, title := range (alerts{b}).later(time.Minute) {
		if strings.Contains(title, "site") {
			b.Fatalf("message while the parent is down: got %q, want none of site", title)
		}
	}
	want(b, "alerts of the other", alerts{b}.alerts(alert.Filter{Monitor: "site"}), "hook down pending\n")
	for range 4 {
		for _, name := range []string{"router", "site"} {
			w.turn(name, passed)
		}
	}
	for range 10 {
		for _, title := range (alerts{b}).later(time.Minute) {
			if strings.Contains(title, "site") {
				b.Fatalf("message after the parent is up: got %q, want none of site", title)
			}
		}
	}
	want(b, "alerts of the other", alerts{b}.alerts(alert.Filter{Monitor: "site"}), "hook down suppressed\nhook up suppressed\n")
}

func caseFailedJobsAndMissedSchedulesGoThroughTheSame(b *bench) {
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 2 })
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	want(b, "alerts before the last attempt", alerts{b}.alerts(alert.Filter{}), "")
	b.clock.Move(time.Hour)
	b.renew(s)
	s = b.session("t")
	b.promote()
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	if titles := (alerts{b}).deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.Contains(titles[0], "failed") {
		b.Fatalf("messages of the failed job: got %q, want 1 with \"failed\"", titles)
	}
	b.schedule("tick", "t", every(time.Minute), func(sc *schedule.Schedule) { sc.Catchup = schedule.CatchupNone })
	b.clock.Move(time.Hour)
	b.fire()
	if titles := (alerts{b}).deliver(view.DeliveryResult{}); len(titles) != 1 || !strings.Contains(titles[0], "missed") {
		b.Fatalf("messages of the missed run: got %q, want 1 with \"missed\"", titles)
	}
}

func caseAlertsWhoseChannelOrMonitorIsGoneAreTold(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook")
	alerts{b}.channel("gone")
	b.monitor("site")
	b.monitor("other")
	for _, name := range []string{"site", "other"} {
		for w.look(name).Status != monitor.StatusDown {
			w.turn(name, failed)
		}
	}
	ok(b, b.st.DeleteAlertRule(b.ctx, "default", "to-gone"))
	ok(b, b.st.DeleteChannel(b.ctx, "default", "gone"))
	ok(b, b.st.DeleteMonitor(b.ctx, "default", "other"))
	want(b, "messages", len(alerts{b}.later(time.Minute)), 1)
	want(b, "left", strings.Count(alerts{b}.alerts(alert.Filter{}), "pending"), 0)
	want(b, "sent", alerts{b}.alerts(alert.Filter{State: alert.Sent}), "hook down sent\n")
}

func caseGaugesAndCountersOfMonitorsAndAlertsAreWhat(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	alerts{b}.channel("later", func(r *alert.Rule) { r.Group = core.Duration(time.Hour) })
	for _, name := range []string{"a", "b", "c", "new", "paused"} {
		b.monitor(name, func(m *monitor.Monitor) { m.Rules = []schedule.Rule{{Cron: "0 0 1 1 *"}} })
	}
	check := func(name string, m task.CheckResult) {
		b.clock.Move(time.Second)
		must(b.st.CheckMonitor(b.ctx, "default", name))(b)
		b.promote()
		for _, j := range w.checks() {
			if j.Job.Task == task.OwnedName(name) { // each monitor is checked once when it is created
				w.finish(w.session, j, job.OutcomeOK, func(f *job.Finish) { f.Check = &m })
			}
		}
	}
	check("a", passed)
	check("b", failed)
	check("b", failed)
	written := b.clock.Now().UTC()
	check("c", passed)
	check("c", ours)
	must(b.st.PauseMonitor(b.ctx, "default", "paused", time.Time{}, ""))(b)
	b.clock.Move(10 * time.Second)
	g := must(b.st.Gauges(b.ctx, 10, 10))(b)
	want(b, "monitors by status", fmt.Sprint(g.Monitors), "map[down:1 new:1 paused:1 up:2]")
	want(b, "monitors", fmt.Sprint(g.States), "[{default a true} {default b false} {default c true}]")
	want(b, "backlog", fmt.Sprint(g.Channels), fmt.Sprint([]views.ChannelGauge{{Namespace: "default", Channel: "hook", Pending: 1, OldestAt: written}, {Namespace: "default", Channel: "later", Pending: 1}}))
	bounded := must(b.st.Gauges(b.ctx, 2, 1))(b)
	want(b, "bounded", fmt.Sprint(len(bounded.States), len(bounded.Channels), bounded.Monitors[monitor.StatusUp]), "2 1 2")
	for what, n := range map[string]int{"check http ok": 2, "check http fail": 2, "check http error": 1, "latency http": 160} {
		want(b, what, b.tally.of(what), n)
	}
	alerts{b}.deliver(view.DeliveryResult{Error: "503"})
	g = must(b.st.Gauges(b.ctx, 10, 10))(b)
	want(b, "oldest while it is tried again", g.Channels[0].OldestAt, written)
	b.clock.Move(10 * time.Second)
	alerts{b}.deliver(view.DeliveryResult{})
	g = must(b.st.Gauges(b.ctx, 10, 10))(b)
	want(b, "backlog when it is sent", len(g.Channels), 1)
	b.clock.Move(time.Hour)
	alerts{b}.deliver(view.DeliveryResult{Error: "404", Permanent: true})
	for what, n := range map[string]int{"tried webhook pending": 1, "tried webhook sent": 1, "tried webhook failed": 1} {
		want(b, what, b.tally.of(what), n)
	}
	want(b, "backlog in the end", len(must(b.st.Gauges(b.ctx, 10, 10))(b).Channels), 0)
}

func caseChannelsNeverShowTheirSecrets(b *bench) {
	c := must(b.st.SaveChannel(b.ctx, alert.Channel{Name: "chat", Telegram: &alert.TelegramChannel{Token: "123456:hush-hush-hush-hush-hush-hush-hush", Chat: "1"}}))(b)
	want(b, "saved", c.Telegram.Token, core.Redacted)
	want(b, "read", must(b.st.Channel(b.ctx, "default", "chat"))(b).Telegram.Token, core.Redacted)
	c.Description = "ours"
	must(b.st.SaveChannel(b.ctx, c))(b)
	want(b, "kept", must(b.st.ChannelSecrets(b.ctx, "default", "chat"))(b).Telegram.Token, core.Secret("123456:hush-hush-hush-hush-hush-hush-hush"))
	want(b, "rows of the audit that show it", b.count(`select count(*) from belfry.audit where coalesce(after, '') like '%hush%' or coalesce(before, '') like '%hush%'`), 0)
	c.Name = "copy"
	wantCode(b, second(b.st.SaveChannel(b.ctx, c)), core.Invalid, "telegram.token")
	wantCode(b, second(b.st.SaveChannel(b.ctx, alert.Channel{Name: "none"})), core.Invalid)
}

func caseAnOutageWhoseOneMessageWasCutOff(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook")
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	w.turn("site", passed)
	w.turn("site", passed)
	first := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages", len(first), 1)
	// The node dies here: the alert of the end alone reports the start, and no try is recorded.
	b.clock.Move(view.AlertTaken)
	again := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
	want(b, "messages after it was cut off", len(again), 1)
	want(b, "key of the message that is sent again", again[0].Message.Key, first[0].Message.Key)
	ok(b, b.st.SettleAlerts(b.ctx, again[0], view.DeliveryResult{}))
	want(b, "alerts", alerts{b}.alerts(alert.Filter{Monitor: "site"}), "hook down suppressed\nhook up sent\n")
}

func caseAMutedMonitorSendsTheEnd(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.monitor("site")
	outage := func(outcome task.CheckResult) {
		w.turn("site", outcome)
		w.turn("site", outcome)
	}
	outage(failed)
	want(b, "start", fmt.Sprint(alerts{b}.deliver(view.DeliveryResult{})), "[site is down]")
	m := must(b.st.Monitor(b.ctx, "default", "site"))(b).Monitor
	m.Muted = true
	must(b.st.UpdateMonitor(b.ctx, m))(b)
	outage(passed)
	want(b, "end", fmt.Sprint(alerts{b}.later(time.Minute)), "[site is up again]")
	outage(failed)
	outage(passed)
	want(b, "messages of an outage while it is muted", len(alerts{b}.later(time.Minute)), 0)
}
