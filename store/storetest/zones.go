package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	rules "github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// zones is a bench whose nodes have their own zone data.
type zones struct{ *bench }

// zoneNode returns the same database under a new process on a machine whose data of a zone is that of another zone, from a
// release.
func (b zones) zoneNode(zone, like, release string) *store.Store {
	b.Helper()
	b.machineHas(zone, like)
	st := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Bytes: b.artifacts, ZoneRelease: release})
	ok(b, st.Prepare(b.ctx))
	ok(b, st.FollowZones(b.ctx))
	return st
}

// machineHas gives a zone the clock of another zone.
func (b zones) machineHas(zone, like string) {
	b.Helper()
	data := must(rules.DataOf(like))(b)
	ok(b, rules.AdoptZone(zone, data.TZif))
}

const (
	twoAhead   = "Etc/GMT-2"
	threeAhead = "Etc/GMT-3"
)

func daily(zone string) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { s.Zone, s.Rules = zone, []schedule.Rule{{Cron: "19 0 * * *"}} }
}

// byOldData and byNewData are the due times of a daily rule by either release of its zone.
var (
	byOldData = Epoch.Add(10*time.Hour + 19*time.Minute) // 22:19 UTC, 00:19 two hours ahead
	byNewData = byOldData.Add(-time.Hour)
)

func init() {
	add("new zone data moves the next times that were planned by the old, and says so", caseNewZoneDataMovesTheNextTimesThatWere)
	add("an alert that waits for quiet hours follows the new data of their zone", caseAnAlertThatWaitsForQuietHoursFollowsThe)
	add("a run whose time came earlier with new zone data, while nothing ran, is made up for", caseARunWhoseTimeCameEarlierWithNewZone)
	add("a node with older zone data uses the newer, and what it planned by its own is planned anew", caseANodeWithOlderZoneDataUsesTheNewer)
	add("a verb that opens the database with newer zone data changes nothing, and with older data plans by the newer", caseAVerbThatOpensTheDatabaseWithNewerZone)
	add("a pass over a changed zone that broke off is taken up by the next node", caseAPassOverAChangedZoneThatBrokeOff)
}

func caseNewZoneDataMovesTheNextTimesThatWere(b *bench) {
	const zone = "Test/New"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c")
	b.task("t")
	want(b, "planned", b.schedule("gov", "t", daily(zone)).NextAt.UTC(), byOldData)
	b.schedule("rule", "t", func(s *schedule.Schedule) { s.Rules = []schedule.Rule{{Cron: "CRON_TZ=" + zone + " 19 0 * * *"}} })
	b.schedule("utc", "t", daily("UTC"))
	b.schedule("paused", "t", daily(zone))
	must(b.st.PauseSchedule(b.ctx, "default", "paused", ""))(b)
	beat := must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "beat", Zone: zone, Rules: []schedule.Rule{{Cron: "19 0 * * *"}}, Heartbeat: &monitor.Heartbeat{}}))(b)
	must(b.st.Beat(b.ctx, strings.TrimPrefix(beat.Beat, "/beat/"), monitor.Call{Kind: monitor.CallSuccess}))(b)
	must(b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "web", Zone: zone, Rules: []schedule.Rule{{Cron: "19 0 * * *"}}, Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}}))(b)
	wakes := b.count(`select wake_at from belfry.monitors where name = 'beat'`)

	b.st = zones{b}.zoneNode(zone, threeAhead, "2026b")
	next := func(name string) time.Time { return must(b.st.Schedule(b.ctx, "default", name))(b).NextAt }
	want(b, "next time of the schedule with a zone", next("gov"), byNewData)
	want(b, "next time of the schedule with a zone in its rule", next("rule"), byNewData)
	want(b, "elsewhere", next("utc").Equal(byOldData.Add(2*time.Hour)), true)
	want(b, "paused", next("paused").IsZero(), true)
	want(b, "with the checks of a monitor", b.count(`select count(*) from belfry.schedules where next_at = $1`, byNewData.UnixMicro()), 3)
	must(b.st.LapseMonitors(b.ctx))(b)
	want(b, "heartbeat is expected earlier by microseconds", wakes-b.count(`select wake_at from belfry.monitors where name = 'beat'`), time.Hour.Microseconds())
	log := must(b.st.Audit(b.ctx, access.AuditFilter{Namespace: "default", Noun: "schedule"}))(b)
	var told []string
	for _, a := range log.Items {
		if a.Action == "replan" {
			told = append(told, a.Name)
		}
	}
	want(b, "schedules that are reported as replanned", strings.Join(told, " "), "rule gov")

	b.clock.Move(byNewData.Sub(b.clock.Now()))
	want(b, "fired in time", must(b.st.FireDue(b.ctx))(b).Jobs, 2) // the first check still waits
	b.clock.Move(byOldData.Sub(b.clock.Now()))
	want(b, "jobs at the old time", must(b.st.FireDue(b.ctx))(b).Jobs, 0)
	b.st = zones{b}.zoneNode(zone, threeAhead, "2026b")
	want(b, "next day", next("gov"), byNewData.AddDate(0, 0, 1))
}

func caseAnAlertThatWaitsForQuietHoursFollowsThe(b *bench) {
	const zone = "Test/Quiet"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c")
	w := b.checker()
	night := schedule.Calendar{Name: "night", CalendarSpec: rules.CalendarSpec{Zone: zone, Closings: []rules.Closing{{Weekly: "* 00:00-16:00"}}}}
	must(b.st.SaveCalendar(b.ctx, night))(b)
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Quiet = []string{"night"} })
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	due := func() time.Time {
		alerts{b}.later(time.Second) // the new decision follows when the alert is taken
		return must(b.st.Alerts(b.ctx, alert.Filter{}))(b).Items[0].DueAt
	}
	want(b, "due by the old data", due(), Epoch.Add(2*time.Hour))
	b.st = zones{b}.zoneNode(zone, threeAhead, "2026b")
	want(b, "due by the new data", due(), Epoch.Add(time.Hour))
}

func caseARunWhoseTimeCameEarlierWithNewZone(b *bench) {
	const zone = "Test/Missed"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c")
	b.task("t")
	b.schedule("gov", "t", daily(zone))
	b.clock.Move(byNewData.Add(30 * time.Minute).Sub(b.clock.Now()))
	b.st = zones{b}.zoneNode(zone, threeAhead, "2026b")
	want(b, "jobs", must(b.st.FireDue(b.ctx))(b).Jobs, 1)
	b.clock.Move(byOldData.Sub(b.clock.Now()))
	want(b, "at the old time", must(b.st.FireDue(b.ctx))(b).Jobs, 0)
}

func caseANodeWithOlderZoneDataUsesTheNewer(b *bench) {
	const zone = "Test/Older"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c")
	b.task("t")
	b.schedule("first", "t", daily(zone))
	zones{b}.zoneNode(zone, threeAhead, "2026b")
	zones{b}.machineHas(zone, twoAhead) // the first node's machine again
	want(b, "planned by the old data", b.schedule("second", "t", daily(zone)).NextAt.UTC(), byOldData)
	ok(b, b.st.FollowZones(b.ctx))
	for _, name := range []string{"first", "second"} {
		want(b, name, must(b.st.Schedule(b.ctx, "default", name))(b).NextAt, byNewData)
	}
	want(b, "planned from then on", b.schedule("third", "t", daily(zone)).NextAt.UTC(), byNewData)
	want(b, "zones in the health report", strings.Join(must(b.st.Health(b.ctx))(b).Zones.Adopted, " "), zone)
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c") // a restart
	want(b, "still", must(b.st.Schedule(b.ctx, "default", "first"))(b).NextAt, byNewData)
}

func caseAVerbThatOpensTheDatabaseWithNewerZone(b *bench) {
	const zone = "Test/Verb"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2025c")
	b.task("t")
	b.schedule("gov", "t", daily(zone))
	verb := func(like, release string) *store.Store {
		zones{b}.machineHas(zone, like)
		st := store.New(b.st.DB(), store.Options{Clock: b.clock.Now, Bytes: b.artifacts, ZoneRelease: release})
		ok(b, st.Prepare(b.ctx))
		return st
	}
	verb(threeAhead, "2026b")
	want(b, "zones to be planned", b.count(`select count(*) from belfry.zones where replan_from >= 0`), 0)
	want(b, "release", b.count(`select count(*) from belfry.zones where release = '2026b'`), 0)
	b.st = verb(threeAhead, "2024a")
	want(b, "planned by an older machine", b.schedule("second", "t", daily(zone)).NextAt.UTC(), byOldData)
}

func caseAPassOverAChangedZoneThatBrokeOff(b *bench) {
	const zone = "Test/Broken"
	b.st = zones{b}.zoneNode(zone, twoAhead, "2026b")
	b.task("t")
	done, left := b.schedule("done", "t", daily(zone)), b.schedule("left", "t", daily(zone))
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		if _, err := tx.Exec(b.ctx, `update belfry.zones set replan_from = $2 where name = $1`, zone, done.ID); err != nil {
			return err
		}
		_, err := tx.Exec(b.ctx, `update belfry.schedules set next_at = $1`, byNewData.UnixMicro())
		return err
	}))
	b.st = zones{b}.zoneNode(zone, twoAhead, "2026b")
	want(b, "next time of a replanned schedule", must(b.st.Schedule(b.ctx, "default", "done"))(b).NextAt, byNewData)
	want(b, "next time of a schedule that is left", must(b.st.Schedule(b.ctx, "default", "left"))(b).NextAt, left.NextAt.UTC())
	want(b, "zones left to do", b.count(`select count(*) from belfry.zones where replan_from >= 0`), 0)
}
