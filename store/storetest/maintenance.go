package storetest

import (
	"time"

	"github.com/belfry-run/belfry/monitor"
)

func init() {
	add("in maintenance a target that fails has no downtime", caseInMaintenanceATargetThatFailsHasNoDowntime)
}

func caseInMaintenanceATargetThatFailsHasNoDowntime(b *bench) {
	w := b.checker()
	b.monitor("site", func(m *monitor.Monitor) { m.Tags = []string{"web"} })
	w.turn("site", passed)
	from := b.clock.Now().Add(10 * time.Minute)
	must(b.st.SaveWindow(b.ctx, monitor.Window{Name: "deploy", Tags: []string{"web"}, From: from, To: from.Add(time.Hour)}))(b)
	must(b.st.LapseMonitors(b.ctx))(b)
	b.clock.Move(10*time.Minute + time.Second)
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "maintenance", w.look("site").State.Maintenance, "deploy")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "status", w.look("site").Status, monitor.StatusDown)
	b.clock.Move(20 * time.Minute)
	w.turn("site", passed)
	w.turn("site", passed)
	b.clock.Move(from.Add(time.Hour + time.Second).Sub(b.clock.Now()))
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "maintenance", w.look("site").State.Maintenance, "")
	u := must(b.st.Uptime(b.ctx, "default", "site"))(b).Spans[0]
	if u.Down != 0 || u.Maintenance.D() != time.Hour {
		b.Fatalf("uptime: got %+v, want an hour of maintenance and no downtime", u)
	}
}
