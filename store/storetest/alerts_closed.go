package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a pause, a deletion and another target close what a channel was told, and nothing else", caseAMonitorThatIsLeftAloneClosesWhatWasTold)
	add("the end of an alert is sent after its monitor is deleted, and only where its start was sent", caseTheEndOfAnAlertOutlivesItsMonitor)
	add("the end of a problem other than an outage goes where its start was sent, and not through a newer rule", caseTheEndOfAProblemGoesToItsStart)
}

// A pager that was opened by an outage would ring on: no further message follows.
func caseAMonitorThatIsLeftAloneClosesWhatWasTold(b *bench) {
	for _, end := range []struct {
		name, headline string
		leave          func(name string)
	}{
		{"paused", "paused was paused", func(name string) { must(b.st.PauseMonitor(b.ctx, "default", name, time.Time{}, ""))(b) }},
		{"deleted", "deleted was deleted", func(name string) { ok(b, b.st.DeleteMonitor(b.ctx, "default", name)) }},
		{"edited", "edited was pointed at another target", func(name string) {
			m := must(b.st.Monitor(b.ctx, "default", name))(b).Monitor
			m.Check.HTTP.URL += "elsewhere"
			must(b.st.UpdateMonitor(b.ctx, m))(b)
		}},
	} {
		w := b.checker()
		for _, channel := range []string{"told", "slow", "ends", "reminded"} {
			alerts{b}.channel(end.name+"-"+channel, func(r *alert.Rule) {
				r.Monitors = []string{end.name}
				switch channel {
				case "told":
					r.Group = -1
				case "slow": // the group of this rule is not sent in time
					r.Group = core.Duration(10 * time.Minute)
				case "ends":
					r.On = []alert.NotificationType{alert.NotificationUp}
				case "reminded":
					r.On, r.Remind = []alert.NotificationType{alert.NotificationStale}, core.Duration(time.Minute)
				}
			})
		}
		b.monitor(end.name)
		for w.look(end.name).Status != monitor.StatusDown {
			w.turn(end.name, failed)
		}
		incident := w.look(end.name).State.Incident
		want(b, end.name+": down", fmt.Sprint(alerts{b}.deliver(view.DeliveryResult{})), fmt.Sprintf("[%s is down]", end.name))
		want(b, end.name+": reminded", len(alerts{b}.later(2*time.Minute)), 1)
		end.leave(end.name)
		want(b, end.name, fmt.Sprint(alerts{b}.deliver(view.DeliveryResult{})), fmt.Sprintf("[%s %[1]s]", end.headline))
		alerts{b}.later(time.Hour)
		want(b, end.name+": in all", alerts{b}.alerts(alert.Filter{Incident: incident, State: alert.Sent}),
			fmt.Sprintf("%[1]s-told down sent\n%[1]s-reminded reminder sent\n%[1]s-reminded closed sent\n%[1]s-told closed sent\n", end.name))
	}
}

func caseTheEndOfAnAlertOutlivesItsMonitor(b *bench) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	remove := func(name string) { ok(b, b.st.DeleteMonitor(b.ctx, "default", name)) }
	pause := func(name string) { must(b.st.PauseMonitor(b.ctx, "default", name, time.Time{}, ""))(b) }
	down := func(name string) {
		b.monitor(name)
		for w.look(name).Status != monitor.StatusDown {
			w.turn(name, failed)
		}
		want(b, name, fmt.Sprint(alerts{b}.deliver(view.DeliveryResult{})), fmt.Sprintf("[%s is down]", name))
	}
	down("closed")
	pause("closed")
	remove("closed")
	want(b, "paused and deleted at once", fmt.Sprint(alerts{b}.later(time.Hour)), "[closed was paused]")
	down("over")
	for w.look("over").Status != monitor.StatusUp {
		w.turn("over", passed)
	}
	remove("over")
	want(b, "recovered and deleted at once", fmt.Sprint(alerts{b}.later(time.Hour)), "[over is up again]")

	grouped := must(b.st.AlertRule(b.ctx, "default", "to-hook"))(b)
	grouped.Group = core.Duration(10 * time.Minute)
	must(b.st.SaveAlertRule(b.ctx, grouped))(b)
	for name, leave := range map[string]func(string){"removed": remove, "left": pause} {
		b.monitor(name)
		for !w.look(name).State.Stale {
			w.turn(name, ours)
		}
		leave(name)
		want(b, "what was not sent of "+name, fmt.Sprint(alerts{b}.later(time.Hour)), "[]")
	}
}

// Only outages have an incident. The other problems are known by their monitor.
func caseTheEndOfAProblemGoesToItsStart(b *bench) {
	w := b.checker()
	of := func(name, channel string) {
		alerts{b}.channel(name+"-"+channel, func(r *alert.Rule) {
			r.Group, r.Monitors, r.On = -1, []string{name}, []alert.NotificationType{alert.NotificationStale, alert.NotificationFresh}
		})
	}
	stale := func(name string) {
		for !w.look(name).State.Stale {
			w.turn(name, ours)
		}
		want(b, name+" begins", slices.Contains(alerts{b}.deliver(view.DeliveryResult{}), name+" cannot be checked"), true)
	}
	remove := func(name string) { ok(b, b.st.DeleteMonitor(b.ctx, "default", name)) }
	pause := func(name string) { must(b.st.PauseMonitor(b.ctx, "default", name, time.Time{}, ""))(b) }
	for name, leave := range map[string]func(string){"removed": remove, "left": pause} {
		b.monitor(name)
		of(name, "told")
		stale(name)
		of(name, "new")
		leave(name)
		alerts{b}.later(time.Hour)
		want(b, name, alerts{b}.alerts(alert.Filter{Channel: name + "-told", State: alert.Sent}), fmt.Sprintf("%[1]s-told stale sent\n%[1]s-told closed sent\n", name))
		want(b, name+": the new channel", alerts{b}.alerts(alert.Filter{Channel: name + "-new", State: alert.Sent}), "")
	}

	// A channel that was told of the problem before this one was not told of this one.
	b.monitor("again")
	of("again", "told")
	of("again", "once")
	stale("again")
	for w.look("again").State.Stale {
		w.turn("again", passed)
	}
	alerts{b}.deliver(view.DeliveryResult{})
	rule := must(b.st.AlertRule(b.ctx, "default", "to-again-once"))(b)
	for _, off := range []bool{true, false} {
		rule.Off = off
		rule = must(b.st.SaveAlertRule(b.ctx, rule))(b)
		if off {
			stale("again")
		}
	}
	pause("again")
	alerts{b}.later(time.Hour)
	want(b, "again", alerts{b}.alerts(alert.Filter{Channel: "again-told", State: alert.Sent}),
		"again-told stale sent\nagain-told fresh sent\nagain-told stale sent\nagain-told closed sent\n")
	want(b, "again: told before", alerts{b}.alerts(alert.Filter{Channel: "again-once", State: alert.Sent}), "again-once stale sent\nagain-once fresh sent\n")
}
