package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a pause, a deletion and another target close what a channel was told, and nothing else", caseAMonitorThatIsLeftAloneClosesWhatWasTold)
	add("what closes an alert is sent though its monitor is deleted then, and not where its begin was not sent", caseWhatClosesAnAlertOutlivesItsMonitor)
}

// A pager that an outage opened would ring on: nothing else is to come of it.
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
				case "slow": // its group is not sent in time
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

func caseWhatClosesAnAlertOutlivesItsMonitor(b *bench) {
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
