package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestVerdicts(t *testing.T) {
	three := Monitor{Confirm: Confirm{Failures: 3}, Recover: Recover{Passes: 3}}
	once := Monitor{Confirm: Confirm{Failures: 1}, Recover: Recover{Passes: 1}}
	timed := Monitor{Confirm: Confirm{For: core.Duration(3 * time.Minute)}, Recover: Recover{For: core.Duration(2 * time.Minute)}}
	both := Monitor{Confirm: Confirm{Failures: 2, For: core.Duration(3 * time.Minute)}}
	verdicts(t, []verdictRow{
		{"new", Monitor{}, "10:00 lapse", "new since 10:00 | 10:00 unknown | |"},
		{"new and good: up, and nobody is told", Monitor{}, "10:01 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"new and degraded: up", Monitor{}, "10:01 degraded", "up degraded since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"new and failed: counts", Monitor{}, "10:01 fail", "new since 10:00 | 10:00 unknown | |"},
		{"new, failed, good: up from the good one", Monitor{}, "10:01 fail; 10:02 ok", "up since 10:02 | 10:00 unknown, 10:02 up | |"},
		{"new and failed twice: down, and told", Monitor{}, "10:01 fail; 10:02 fail", "down since 10:01 | 10:00 unknown, 10:01 down | 10:01- | down 10:02"},
		{"new and in error: nothing is known", Monitor{}, "10:01 error", "new since 10:00 | 10:00 unknown | |"},
		{"up and failed: confirming", Monitor{}, "10:01 ok; 10:02 fail", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"a blip is no downtime", Monitor{}, "10:01 ok; 10:02 fail; 10:03 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"two blips are none", Monitor{}, "10:01 ok; 10:02 fail; 10:03 ok; 10:04 fail; 10:05 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"confirmed: down from the first failure", Monitor{}, "10:01 ok; 10:02 fail; 10:03 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:03"},
		{"down goes on", Monitor{}, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:03"},
		{"down and good: recovering", Monitor{}, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 ok", "recovering since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:03"},
		{"not recovered: the same incident", Monitor{}, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 ok; 10:05 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:03"},
		{"recovered: up from the first success", Monitor{}, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 ok; 10:05 ok", "up since 10:04 | 10:00 unknown, 10:01 up, 10:02 down, 10:04 up | 10:02-10:04 recovered | down 10:03 up 10:05"},
		{"recovered at the second try", Monitor{}, "10:01 fail; 10:02 fail; 10:03 ok; 10:04 fail; 10:05 ok; 10:06 ok", "up since 10:05 | 10:00 unknown, 10:01 down, 10:05 up | 10:01-10:05 recovered | down 10:02 up 10:06"},
		{"degraded counts as good", Monitor{}, "10:01 fail; 10:02 fail; 10:03 degraded; 10:04 ok", "up since 10:03 | 10:00 unknown, 10:01 down, 10:03 up | 10:01-10:03 recovered | down 10:02 up 10:04"},
		{"two outages", Monitor{Confirm: once.Confirm, Recover: once.Recover, Flap: Flap{Off: true}}, "10:01 ok; 10:02 fail; 10:03 ok; 10:04 fail; 10:05 ok", "up since 10:05 | 10:00 unknown, 10:01 up, 10:02 down, 10:03 up, 10:04 down, 10:05 up | 10:02-10:03 recovered 10:04-10:05 recovered | down 10:02 up 10:03 down 10:04 up 10:05"},
		{"an error leaves up alone", Monitor{}, "10:01 ok; 10:02 error", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"an error does not confirm", Monitor{}, "10:01 ok; 10:02 fail; 10:03 error", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"nor does it end a row of failures", Monitor{}, "10:01 ok; 10:02 fail; 10:03 error; 10:04 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:04"},
		{"nor does it recover", Monitor{}, "10:01 fail; 10:02 fail; 10:03 ok; 10:04 error", "recovering since 10:01 | 10:00 unknown, 10:01 down | 10:01- | down 10:02"},
		{"a late check says nothing", Monitor{}, "10:02 ok; 10:01 fail; 10:01 fail", "up since 10:02 | 10:00 unknown, 10:02 up | |"},
		{"a check from before it was there says nothing", Monitor{}, "09:59 fail; 09:59:30 fail", "new since 10:00 | 10:00 unknown | |"},
		{"three of three", three, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 fail; 10:05 ok; 10:06 ok; 10:07 ok", "up since 10:05 | 10:00 unknown, 10:01 up, 10:02 down, 10:05 up | 10:02-10:05 recovered | down 10:04 up 10:07"},
		{"two of three", three, "10:01 ok; 10:02 fail; 10:03 fail", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"a time not yet reached", timed, "10:01 ok; 10:02 fail; 10:03 fail; 10:04 fail", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"a time reached", timed, "10:01 ok; 10:02 fail; 10:05 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down, 10:03 unknown, 10:05 down | 10:02- | down 10:05"},
		{"time alone does not confirm", timed, "10:01 ok; 10:02 fail; 10:20 lapse", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"a time back", timed, "10:01 fail; 10:03 fail; 10:04 fail; 10:05 ok; 10:06 ok; 10:07 ok", "up since 10:05 | 10:00 unknown, 10:01 down, 10:05 up | 10:01-10:05 recovered | down 10:04 up 10:07"},
		{"both: the count alone is not enough", both, "10:01 ok; 10:02 fail; 10:03 fail", "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"both", both, "10:01 ok; 10:02 fail; 10:04 fail; 10:05 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down | 10:02- | down 10:05"},
	})
}

func TestGapsAreNotObserved(t *testing.T) {
	verdicts(t, []verdictRow{
		{"one missing check is no gap", Monitor{}, "10:01 ok; 10:03 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"to the last second", Monitor{}, "10:01 ok; 10:03:10 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"two are", Monitor{}, "10:01 ok; 10:04 ok", "up since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:04 up | |"},
		{"errors observe nothing", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 ok", "up since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:04 up | |"},
		{"down over a gap", Monitor{}, "10:01 fail; 10:02 fail; 10:10 fail", "down since 10:01 | 10:00 unknown, 10:01 down, 10:03 unknown, 10:10 down | 10:01- | down 10:02"},
		{"a gap while it is confirmed stays one", Monitor{}, "10:01 ok; 10:02 fail; 10:10 fail", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down, 10:03 unknown, 10:10 down | 10:02- | down 10:10"},
		{"a gap while it recovers stays one", Monitor{}, "10:01 fail; 10:02 fail; 10:03 ok; 10:10 ok", "up since 10:03 | 10:00 unknown, 10:01 down, 10:03 up, 10:04 unknown, 10:10 up | 10:01-10:03 recovered | down 10:02 up 10:10"},
		{"back after a gap", Monitor{}, "10:01 fail; 10:02 fail; 10:10 ok; 10:11 ok", "up since 10:10 | 10:00 unknown, 10:01 down, 10:03 unknown, 10:10 up | 10:01-10:10 recovered | down 10:02 up 10:11"},
		{"an hourly one", Monitor{Every: core.Duration(time.Hour)}, "10:01 ok; 12:00 ok; 15:00 ok", "up since 10:01 | 10:00 unknown, 10:01 up, 13:00 unknown, 15:00 up | |"},
		{"paused long after the last check", Monitor{}, "10:01 ok; 10:30 pause; 10:40 resume; 10:41 ok", "up since 10:41 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:30 paused, 10:40 unknown, 10:41 up | |"},
		{"a window within a gap", Monitor{}, "window 10:10 10:20; 10:01 ok; 10:10 lapse; 10:20 lapse; 10:30 ok", "up since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:10 maintenance, 10:20 unknown, 10:30 up | |"},
		{"pointed elsewhere within a gap", Monitor{}, "10:01 ok; 10:10 retarget; 10:11 ok", "up since 10:11 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:11 up | |"},
	})
}

func TestMaintenance(t *testing.T) {
	const down = "window 10:05 10:10; 10:01 ok; 10:02 fail; 10:03 fail; 10:04 fail; "
	verdicts(t, []verdictRow{
		{"begins and ends by itself", Monitor{}, "window 10:05 10:10; 10:01 ok; 10:05 lapse; 10:10 lapse", "up since 10:01 | 10:00 unknown, 10:01 up, 10:05 maintenance, 10:10 up | |"},
		{"noticed late, it has its own times", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:05:30 lapse; 10:05:40 ok; 10:06 ok; 10:10:20 lapse", "up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | |"},
		{"noticed by a check", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 ok; 10:08 ok; 10:10:10 ok", "up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | |"},
		{"a failure in it is recorded and not told", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 fail; 10:07 fail; 10:08 ok; 10:09 ok; 10:11 ok",
			"up since 10:08 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | 10:06-10:08 recovered in maintenance |"},
		{"still down when it ends: told then", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 fail; 10:07 fail; 10:09 fail; 10:10 lapse",
			"down since 10:06 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 down | 10:06- in maintenance | down 10:10"},
		{"recovering when it ends: told if it fails again", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 fail; 10:07 fail; 10:09 ok; 10:10 lapse; 10:11 fail",
			"down since 10:06 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 down | 10:06- in maintenance | down 10:11"},
		{"recovering when it ends: not told if it does not", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 fail; 10:07 fail; 10:09 ok; 10:10 lapse; 10:11 ok",
			"up since 10:09 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | 10:06-10:09 recovered in maintenance |"},
		{"down before it", Monitor{}, down + "10:05 lapse; 10:06 fail; 10:08 fail; 10:10 lapse", "down since 10:02 | 10:00 unknown, 10:01 up, 10:02 down, 10:05 maintenance, 10:10 down | 10:02- | down 10:03"},
		{"down before it and back in it: those who know are told", Monitor{}, down + "10:05 lapse; 10:06 ok; 10:07 ok; 10:10 lapse", "up since 10:06 | 10:00 unknown, 10:01 up, 10:02 down, 10:05 maintenance, 10:10 up | 10:02-10:06 recovered | down 10:03 up 10:07"},
		{"failing before it, confirmed in it", Monitor{}, "window 10:05 10:10; 10:03 ok; 10:04:50 fail; 10:06 fail; 10:08 fail; 10:10 lapse",
			"down since 10:04:50 | 10:00 unknown, 10:03 up, 10:04:50 down, 10:05 maintenance, 10:10 down | 10:04:50- | down 10:10"},
		{"failing in it, confirmed after it", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:06 ok; 10:08 ok; 10:09 fail; 10:10 lapse; 10:11 fail",
			"down since 10:09 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 down | 10:09- in maintenance | down 10:11"},
		{"new in it", Monitor{}, "window 09:00 10:10; 10:01 fail; 10:02 fail; 10:09 fail; 10:10 lapse", "down since 10:01 | 10:00 maintenance, 10:10 down | 10:01- in maintenance | down 10:10"},
		{"one after the other", Monitor{}, "window 10:05 10:07; window 10:07 10:10; 10:04 ok; 10:05 lapse; 10:07 lapse; 10:10 lapse", "up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | |"},
		{"one over the other", Monitor{}, "window 10:05 10:08; window 10:07 10:10; 10:04 ok; 10:05 lapse; 10:07 lapse; 10:08 lapse; 10:10 lapse", "up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 up | |"},
		{"open, and taken away", Monitor{}, "window 10:05; 10:04 ok; 10:05 lapse; 10:09 unwindow; 10:09 lapse", "up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:09 up | |"},
		{"a pause in it", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:05 lapse; 10:06 pause; 10:08 resume; 10:09 ok; 10:10 lapse", "up since 10:09 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:06 paused, 10:08 maintenance, 10:10 up | |"},
		{"it ends in a pause", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:05 lapse; 10:06 pause; 10:12 resume", "new since 10:12 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:06 paused, 10:12 unknown | |"},
		{"it begins in a pause", Monitor{}, "window 10:05 10:20; 10:04 ok; 10:04:30 pause; 10:12 resume", "new maintenance since 10:12 | 10:00 unknown, 10:04 up, 10:04:30 paused, 10:12 maintenance | |"},
		{"stale and slow are not told in it", Monitor{}, "window 10:05 10:10; 10:04 ok; 10:05 error; 10:06 error; 10:07 error; 10:10 lapse; 10:11 ok",
			"up since 10:04 | 10:00 unknown, 10:04 up, 10:05 maintenance, 10:10 unknown, 10:11 up | | stale 10:10 fresh 10:11"},
	})
}

func TestPausesOfMonitors(t *testing.T) {
	verdicts(t, []verdictRow{
		{"up, paused", Monitor{}, "10:01 ok; 10:02 pause", "up paused since 10:02 | 10:00 unknown, 10:01 up, 10:02 paused | |"},
		{"checks in it say nothing", Monitor{}, "10:01 ok; 10:02 pause; 10:03 fail; 10:04 fail", "up paused since 10:02 | 10:00 unknown, 10:01 up, 10:02 paused | |"},
		{"paused twice", Monitor{}, "10:01 ok; 10:02 pause; 10:03 pause 10:10; 10:10 lapse", "new since 10:10 | 10:00 unknown, 10:01 up, 10:02 paused, 10:10 unknown | |"},
		{"resumed and up: the outage is closed by the pause", Monitor{}, "10:01 ok; 10:02 pause; 10:05 resume; 10:06 ok", "up since 10:06 | 10:00 unknown, 10:01 up, 10:02 paused, 10:05 unknown, 10:06 up | |"},
		{"resumed and down: told at once", Monitor{}, "10:01 ok; 10:02 pause; 10:05 resume; 10:06 fail; 10:07 fail", "down since 10:06 | 10:00 unknown, 10:01 up, 10:02 paused, 10:05 unknown, 10:06 down | 10:06- | down 10:07"},
		{"down, paused: the incident is over", Monitor{}, "10:01 fail; 10:02 fail; 10:03 pause", "down paused since 10:03 | 10:00 unknown, 10:01 down, 10:03 paused | 10:01-10:03 paused | down 10:02 closed 10:03"},
		{"down, paused, resumed and up: the outage is closed by the pause", Monitor{}, "10:01 fail; 10:02 fail; 10:03 pause; 10:04 resume; 10:05 ok; 10:06 ok", "up since 10:05 | 10:00 unknown, 10:01 down, 10:03 paused, 10:04 unknown, 10:05 up | 10:01-10:03 paused | down 10:02 closed 10:03"},
		{"down, paused, resumed and down: another one", Monitor{}, "10:01 fail; 10:02 fail; 10:03 pause; 10:04 resume; 10:05 fail; 10:06 fail", "down since 10:05 | 10:00 unknown, 10:01 down, 10:03 paused, 10:04 unknown, 10:05 down | 10:01-10:03 paused 10:05- | down 10:02 closed 10:03 down 10:06"},
		{"failures before a pause do not count after it", Monitor{}, "10:01 ok; 10:02 fail; 10:03 pause; 10:04 resume; 10:05 fail", "new since 10:04 | 10:00 unknown, 10:01 up, 10:03 paused, 10:04 unknown | |"},
		{"a check begun before the end of a pause says nothing", Monitor{}, "10:01 ok; 10:02 pause; 10:05 resume; 10:04:59 fail", "new since 10:05 | 10:00 unknown, 10:01 up, 10:02 paused, 10:05 unknown | |"},
		{"a timed one ends by itself", Monitor{}, "10:01 ok; 10:02 pause 10:10; 10:09:59 lapse; 10:10:03 lapse; 10:11 ok", "up since 10:11 | 10:00 unknown, 10:01 up, 10:02 paused, 10:10 unknown, 10:11 up | |"},
		{"a timed one is ended by a check", Monitor{}, "10:01 ok; 10:02 pause 10:10; 10:11 ok", "up since 10:11 | 10:00 unknown, 10:01 up, 10:02 paused, 10:10 unknown, 10:11 up | |"},
		{"a timed one is resumed late", Monitor{}, "10:01 ok; 10:02 pause 10:10; 10:12 resume", "new since 10:10 | 10:00 unknown, 10:01 up, 10:02 paused, 10:10 unknown | |"},
		{"resumed without a pause", Monitor{}, "10:01 ok; 10:02 resume", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"resumed at once", Monitor{}, "10:01 ok; 10:02 pause; 10:02 resume; 10:03 ok", "up since 10:03 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:03 up | |"},
	})
}

func TestEditsOfMonitors(t *testing.T) {
	verdicts(t, []verdictRow{
		{"an edit keeps what is known", Monitor{}, "10:01 fail; 10:02 fail; 10:03 edit; 10:04 ok; 10:05 ok", "up since 10:04 | 10:00 unknown, 10:01 down, 10:04 up | 10:01-10:04 recovered | down 10:02 up 10:05"},
		{"another target begins anew", Monitor{}, "10:01 ok; 10:02 retarget; 10:03 fail; 10:04 fail", "down since 10:03 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:03 down | 10:03- | down 10:04"},
		{"another target ends an outage", Monitor{}, "10:01 fail; 10:02 fail; 10:03 retarget; 10:04 ok", "up since 10:04 | 10:00 unknown, 10:01 down, 10:03 unknown, 10:04 up | 10:01-10:03 edited | down 10:02 closed 10:03"},
		{"a check of the target before says nothing", Monitor{}, "10:01 ok; 10:02 retarget; 10:01:30 fail", "new since 10:02 | 10:00 unknown, 10:01 up, 10:02 unknown | |"},
		{"another target while it is paused", Monitor{}, "10:01 ok; 10:02 pause; 10:03 retarget; 10:04 resume; 10:05 ok", "up since 10:05 | 10:00 unknown, 10:01 up, 10:02 paused, 10:04 unknown, 10:05 up | |"},
		{"muted: nobody is told", Monitor{}, "10:01 mute; 10:02 fail; 10:03 fail; 10:04 ok; 10:05 ok", "up since 10:04 | 10:00 unknown, 10:02 down, 10:04 up | 10:02-10:04 recovered |"},
		{"not muted any more and still down: told", Monitor{}, "10:01 mute; 10:02 fail; 10:03 fail; 10:04 unmute", "down since 10:02 | 10:00 unknown, 10:02 down | 10:02- | down 10:04"},
		{"muted while it is down", Monitor{}, "10:02 fail; 10:03 fail; 10:04 mute; 10:05 ok; 10:06 ok; 10:07 unmute", "up since 10:05 | 10:00 unknown, 10:02 down, 10:05 up | 10:02-10:05 recovered | down 10:03 up 10:06"},
		{"what it depends on is down: nobody is told", Monitor{}, "10:01 depends; 10:02 fail; 10:03 fail; 10:04 ok; 10:05 ok", "up since 10:04 | 10:00 unknown, 10:02 down, 10:04 up | 10:02-10:04 recovered |"},
		{"it is up again and this one is not: told", Monitor{}, "10:01 depends; 10:02 fail; 10:03 fail; 10:03:30 independent; 10:04 fail", "down since 10:02 | 10:00 unknown, 10:02 down | 10:02- | down 10:04"},
	})
}

func TestErrorsMakeStale(t *testing.T) {
	verdicts(t, []verdictRow{
		{"two", Monitor{}, "10:01 ok; 10:02 error; 10:03 error", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"three", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 error", "up stale since 10:01 | 10:00 unknown, 10:01 up | | stale 10:04"},
		{"four", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 error; 10:05 error", "up stale since 10:01 | 10:00 unknown, 10:01 up | | stale 10:04"},
		{"not in a row", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 ok; 10:05 error", "up since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:04 up | |"},
		{"over", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 error; 10:05 ok", "up since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:05 up | | stale 10:04 fresh 10:05"},
		{"over, with a failure", Monitor{}, "10:01 ok; 10:02 error; 10:03 error; 10:04 error; 10:05 fail", "confirming since 10:01 | 10:00 unknown, 10:01 up, 10:02 unknown, 10:05 up | | stale 10:04 fresh 10:05"},
		{"after one", Monitor{StaleAfter: 1}, "10:01 error", "new stale since 10:00 | 10:00 unknown | | stale 10:01"},
		{"never a site that is down", Monitor{Confirm: Confirm{Failures: 1}}, "10:01 ok; 10:02 error; 10:03 error; 10:04 error; 10:05 error; 10:06 error", "up stale since 10:01 | 10:00 unknown, 10:01 up | | stale 10:04"},
	})
}

func TestDegraded(t *testing.T) {
	verdicts(t, []verdictRow{
		{"once", Monitor{}, "10:01 ok; 10:02 degraded", "up degraded since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"twice", Monitor{}, "10:01 ok; 10:02 degraded; 10:03 degraded; 10:04 degraded", "up degraded since 10:01 | 10:00 unknown, 10:01 up | | degraded 10:03"},
		{"now and then", Monitor{Flap: Flap{Off: true}}, "10:01 ok; 10:02 degraded; 10:03 ok; 10:04 degraded; 10:05 ok", "up since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"good once", Monitor{}, "10:01 degraded; 10:02 degraded; 10:03 ok", "up since 10:01 | 10:00 unknown, 10:01 up | | degraded 10:02"},
		{"good twice", Monitor{}, "10:01 degraded; 10:02 degraded; 10:03 ok; 10:04 ok", "up since 10:01 | 10:00 unknown, 10:01 up | | degraded 10:02 recovered 10:04"},
		{"a failure between", Monitor{}, "10:01 degraded; 10:02 fail; 10:03 degraded", "up degraded since 10:01 | 10:00 unknown, 10:01 up | |"},
	})
}

// checks returns a script of checks, one per minute, beginning at minute from after
// 10:00: + is good, - is failed.
func checks(pattern string, from int) string {
	var steps []string
	for i, r := range pattern {
		verb := map[rune]string{'+': "ok", '-': "fail"}[r]
		steps = append(steps, fmt.Sprintf("%02d:%02d %s", 10+(from+i)/60, (from+i)%60, verb))
	}
	return strings.Join(steps, "; ")
}

func TestFlapping(t *testing.T) {
	up := Monitor{Confirm: Confirm{Failures: 1}, Recover: Recover{Passes: 1}}
	verdicts(t, []verdictRow{
		{"twenty checks are too few", Monitor{}, checks(strings.Repeat("+-", 10), 1), "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"every other check fails: never down, and flapping", Monitor{}, checks(strings.Repeat("+-", 11), 1), "confirming flapping since 10:01 | 10:00 unknown, 10:01 up | | flapping 10:21"},
		{"four changes in ten are not enough to begin", Monitor{}, checks(strings.Repeat("++++-", 7)[:34]+"-", 1), "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
		{"steady and up: nobody was told otherwise", Monitor{}, checks(strings.Repeat("+-", 11)+strings.Repeat("+", 18), 1),
			"up since 10:01 | 10:00 unknown, 10:01 up | | flapping 10:21 steady 10:38"},
		{"off", Monitor{Flap: Flap{Off: true}}, checks(strings.Repeat("+-", 11), 1), "confirming since 10:01 | 10:00 unknown, 10:01 up | |"},
	})
	t.Run("steady and down: that is told", func(t *testing.T) {
		w := newWatch(t, up, at("10:00"))
		w.run(checks(strings.Repeat("++--", 6)+"+-"+strings.Repeat("-", 18), 1))
		flapping := slices.IndexFunc(w.told, func(n alert.Notification) bool { return n.Type == alert.NotificationFlapping })
		if flapping < 0 {
			t.Fatal(w.story())
		}
		var after []string
		for _, n := range w.told[flapping+1:] {
			after = append(after, string(n.Type))
		}
		last := w.told[flapping-1].Type
		want := []string{"steady", "down"}
		if last == alert.NotificationDown {
			want = []string{"steady"}
		}
		if !slices.Equal(after, want) || w.s.Verdict != VerdictDown {
			t.Errorf("after %s and flapping: told %v, want %v\n%s", last, after, want, w.story())
		}
		if text := w.told[flapping+1].Text; !strings.Contains(text, "It is down since") {
			t.Errorf("steady says %q", text)
		}
	})
}

// TestFlappingIsToldSoon counts the notifications until that of flapping, and checks
// that flapping ends.
func TestFlappingIsToldSoon(t *testing.T) {
	t.Parallel()
	quick := func(m *Monitor) { m.Confirm.Failures, m.Recover.Passes = 1, 1 }
	for _, row := range []struct {
		name, checks string
		change       func(*Monitor)
		want         string
	}{
		{"every other check", strings.Repeat("+-", 20), quick, "down up flapping"},
		{"from the first check on", strings.Repeat("-+", 20), quick, "down up down flapping"},
		{"after a long time", strings.Repeat("+", 60) + strings.Repeat("-+", 20), quick, "down up flapping"},
		{"confirmed both ways", "+" + strings.Repeat("--++", 10), nil, "down up flapping"},
		{"slowly", "+" + strings.Repeat("-----+++++", 6), nil, "down up flapping"},
		{"too slowly", "+" + strings.Repeat("-------+++++++", 3), nil, "down up down up down up"},
		{"one outage", "+---++++++++++", nil, "down up"},
		{"two outages", "+---+++++++++---+++++", nil, "down up down up"},
		{"it stays down", "++-+--------------------", quick, "down up flapping steady down"},
		{"it stays up", "++-+-+++++++++++++++++++", quick, "down up flapping steady"},
		{"it stays up for 5 checks", "++-+-++++++-", quick, "down up flapping"},
		{"seldom checked", strings.Repeat("+-", 5), func(m *Monitor) { quick(m); m.Every = core.Duration(time.Hour) }, "down up down up down up down up down"},
		{"by rules", strings.Repeat("+-", 5), func(m *Monitor) { quick(m); m.Every, m.Rules = 0, []schedule.Rule{{Cron: "0 3 * * *"}} }, "down up down up down up down up down"},
		{"off", strings.Repeat("+-", 5), func(m *Monitor) { quick(m); m.Flap.Off = true }, "down up down up down up down up down"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := Monitor{Name: "m", Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}
			if row.change != nil {
				row.change(&m)
			}
			w := newWatch(t, m, at("10:00"))
			w.run(checks(row.checks, 1))
			var notified []string
			for _, n := range w.told {
				notified = append(notified, string(n.Type))
				if n.Type == alert.NotificationFlapping && !strings.Contains(n.Text, "It is ") {
					t.Errorf("flapping does not say how it is: %s", n.Text)
				}
			}
			if got := strings.Join(notified, " "); got != row.want {
				t.Errorf("told %s\nwant %s\n%s", got, row.want, w.story())
			}
		})
	}
}

func TestChangesAreWeighed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		outcomes string // oldest first
		want     float64
	}{
		{"", 0}, {"+", 0}, {"+-", 100}, {"--", 0},
		{strings.Repeat("+", 21), 0}, {strings.Repeat("-", 21), 0},
		{strings.Repeat("+-", 10) + "+", 100},
		{strings.Repeat("+", 20) + "-", 6},       // the newest: 1.2 of 20
		{"-" + strings.Repeat("+", 20), 4},       // the oldest: 0.8 of 20
		{strings.Repeat("-", 50) + "+", 6},       // older outcomes are forgotten
		{strings.Repeat("+", 19) + "-+", 11.895}, // 1.2 + 1.2-0.4/19
	} {
		var r Recent
		for _, o := range row.outcomes {
			r = r.With(o == '-')
		}
		if got := r.Changes(); got < row.want-0.01 || got > row.want+0.01 {
			t.Errorf("%s: %.3f%%, want %.3f%%", row.outcomes, got, row.want)
		}
	}
}

func TestSlow(t *testing.T) {
	// latencies returns a script of good checks with these latencies in milliseconds.
	latencies := func(ms ...int) string {
		var steps []string
		for i, n := range ms {
			steps = append(steps, fmt.Sprintf("%02d:%02d ok %dms", 10+(1+i)/60, (1+i)%60, n))
		}
		return strings.Join(steps, "; ")
	}
	usual := slices.Repeat([]int{95, 105}, 10)
	with := func(more ...int) string { return latencies(append(slices.Clone(usual), more...)...) }
	const up = "up since 10:01 | 10:00 unknown, 10:01 up | |"
	const slow = "up slow since 10:01 | 10:00 unknown, 10:01 up | |"
	verdicts(t, []verdictRow{
		{"too few samples", Monitor{}, latencies(100, 100, 900, 900, 900, 900, 900, 900), up},
		{"as usual", Monitor{}, with(105, 105, 105, 105, 105, 105), up},
		{"four in a row", Monitor{}, with(300, 300, 300, 300), up},
		{"five in a row", Monitor{}, with(300, 300, 300, 300, 300), slow + " slow 10:25"},
		{"one notification", Monitor{}, with(300, 300, 300, 300, 300, 300, 300, 300), slow + " slow 10:25"},
		{"not in a row", Monitor{}, with(300, 300, 300, 300, 100, 300, 300, 300, 300), up},
		{"four quick ones", Monitor{}, with(300, 300, 300, 300, 300, 100, 100, 100, 100), slow + " slow 10:25"},
		{"five quick ones", Monitor{}, with(300, 300, 300, 300, 300, 100, 100, 100, 100, 100), up + " slow 10:25 normal 10:30"},
		{"quick ones not in a row", Monitor{}, with(300, 300, 300, 300, 300, 100, 100, 100, 300, 100, 100), slow + " slow 10:25"},
		{"less than at least", Monitor{Slow: Slow{AtLeast: core.Duration(time.Second)}}, with(300, 300, 300, 300, 300), up},
		{"off", Monitor{Slow: Slow{Off: true}}, with(300, 300, 300, 300, 300), up},
		{"two are enough when asked", Monitor{Slow: Slow{Checks: 2}}, with(300, 300), slow + " slow 10:22"},
		{"a steady target is not slow for a little", Monitor{}, latencies(append(slices.Repeat([]int{100}, 20), 110, 110, 110, 110, 110)...), up},
	})
	t.Run("a change that stays becomes usual", func(t *testing.T) {
		w := newWatch(t, Monitor{Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}, at("10:00"))
		w.run(latencies(append(slices.Clone(usual), slices.Repeat([]int{300}, 200)...)...))
		if len(w.told) != 2 || w.told[1].Type != alert.NotificationNormal {
			t.Error(w.story())
		}
	})
	t.Run("failed and starved checks are not in the baseline", func(t *testing.T) {
		w := newWatch(t, Monitor{Confirm: Confirm{Failures: 100}}, at("10:00"))
		w.run(latencies(usual...))
		before := w.s.Typical
		w.now = at("10:30")
		w.check(Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckFail, Latency: core.Duration(10 * time.Second)}})
		w.now = at("10:31")
		w.check(Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(10 * time.Second), Starved: true}})
		if w.s.Typical != before || w.s.SlowRun != 0 {
			t.Errorf("%+v became %+v", before, w.s.Typical)
		}
	})
}

func TestAFailedCheckIsRepeatedEarlyToConfirmIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		m      Monitor
		script string
		again  string
	}{
		{"good", Monitor{}, "10:01 ok", "never"},
		{"the first failure of a new one", Monitor{}, "10:01 fail", "10:01:20"},
		{"the first failure", Monitor{}, "10:01 ok; 10:02 fail", "10:02:20"},
		{"until it is confirmed", Monitor{}, "10:01 ok; 10:02 fail; 10:02:20 fail", "never"},
		{"not when its turn comes sooner", Monitor{}, "10:01 ok; 10:02:40 fail", "never"},
		{"nor when it comes just then", Monitor{Confirm: Confirm{Retry: core.Duration(time.Minute)}}, "10:01 ok; 10:02 fail", "never"},
		{"down", Monitor{}, "10:01 fail; 10:02 fail; 10:03 fail", "never"},
		{"recovering", Monitor{}, "10:01 fail; 10:02 fail; 10:03 ok", "10:03:20"},
		{"recovered", Monitor{}, "10:01 fail; 10:02 fail; 10:03 ok; 10:03:20 ok", "never"},
		{"an error while it is confirmed", Monitor{}, "10:01 ok; 10:02 fail; 10:02:20 error", "10:02:40"},
		{"an error when all is well", Monitor{}, "10:01 ok; 10:02 error", "never"},
		{"stale", Monitor{StaleAfter: 1}, "10:01 ok; 10:02 fail; 10:02:20 error", "never"},
		{"not wanted", Monitor{Confirm: Confirm{Retry: -1}}, "10:01 ok; 10:02 fail", "never"},
		{"an hourly one", Monitor{Every: core.Duration(time.Hour)}, "10:01 ok; 11:00 fail", "11:00:20"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, row.m, at("10:00"))
			w.run(row.script)
			if got := in(w.again); got != row.again {
				t.Errorf("%s: looks again at %s, want %s", row.script, got, row.again)
			}
		})
	}
}

func TestTheNextChangeOfAMonitorByTime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, script, wake string }{
		{"never", "10:01 ok", "never"},
		{"a window begins", "window 10:05 10:10; 10:01 ok", "10:05"},
		{"a window ends", "window 10:05 10:10; 10:01 ok; 10:05 lapse", "10:10"},
		{"an open window", "window 10:05; 10:01 ok; 10:05 lapse", "never"},
		{"a pause ends", "10:01 ok; 10:02 pause 10:20", "10:20"},
		{"a pause without end", "window 10:05 10:10; 10:01 ok; 10:02 pause", "never"},
		{"the sooner of two", "window 10:05 10:20; window 10:10 10:15; 10:01 ok; 10:05 lapse", "10:10"},
		{"after an edit", "window 10:05 10:10; 10:01 edit", "10:05"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, Monitor{Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}, at("10:00"))
			w.run(row.script)
			if got := in(w.wake); got != row.wake {
				t.Errorf("%s: wakes at %s, want %s", row.script, got, row.wake)
			}
			if j := AcceptPage(w.m, w.s, "d", "c", w.now); !j.WakeAt.Equal(w.wake) {
				t.Errorf("accepting a page moved it to %s", j.WakeAt)
			}
		})
	}
}

func TestCertificatesThatEnd(t *testing.T) {
	t.Parallel()
	days := func(n int) time.Time { return at("10:00").Add(time.Duration(n) * 24 * time.Hour) }
	for _, row := range []struct {
		name string
		m    Monitor
		ends []int // days until the expiry, one for each check
		want int   // notifications
	}{
		{"far off", Monitor{}, []int{15, 15}, 0},
		{"near", Monitor{}, []int{14, 14, 14}, 1},
		{"renewed", Monitor{}, []int{14, 90, 90}, 1},
		{"renewed for a week", Monitor{}, []int{3, 7, 7}, 2},
		{"two servers take turns", Monitor{}, []int{3, 7, 3, 7, 3, 7}, 2},
		{"ended", Monitor{}, []int{-1, -1}, 1},
		{"earlier warning", Monitor{Check: task.Task{TLS: &task.TLS{Address: "a:443", WarnDays: 30}}}, []int{29}, 1},
		{"no warning", Monitor{Check: task.Task{TLS: &task.TLS{Address: "a:443", WarnDays: -1}}}, []int{1}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, row.m, at("10:00"))
			for i, n := range row.ends {
				w.now = at("10:01").Add(time.Duration(i) * time.Minute)
				w.check(Observation{At: w.now, CheckResult: task.CheckResult{Outcome: task.CheckOK, CertEnd: days(n).Add(time.Minute)}})
			}
			if len(w.told) != row.want || slices.ContainsFunc(w.told, func(n alert.Notification) bool { return n.Type != alert.NotificationCertificate }) {
				t.Errorf("told %d times, want %d: %s", len(w.told), row.want, w.story())
			}
		})
	}
}

func TestNotificationTexts(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Monitor{Tags: []string{"shop"}}, at("10:00"))
	w.run("10:01 ok; 10:02 fail got 503; 10:02:20 fail got\n502; 10:05 ok; 10:05:20 ok")
	if len(w.told) != 2 {
		t.Fatal(w.story())
	}
	down, up := w.told[0], w.told[1]
	if down.Title != "web is down" || down.Text != "status: got 503\nLast: status: got 502\n2 checks in a row failed.\nLast good: 2026-03-02 10:01:00 UTC." ||
		down.Code != task.CodeStatus || in(down.Since) != "10:02" || down.Incident != -1 || !slices.Equal(down.Tags, []string{"shop"}) {
		t.Errorf("down: %+v", down)
	}
	if up.Title != "web is up again" || up.Text != "It was: status: got 503" || up.Lasted != core.Duration(3*time.Minute) || in(up.Since) != "10:02" || in(up.At) != "10:05" || up.Incident != 1 {
		t.Errorf("up: %+v", up)
	}
	if i := w.incidents[0]; i.Message != "got 503" || i.Code != task.CodeStatus || i.Failures != 2 || in(i.LastGoodAt) != "10:01" {
		t.Errorf("incident: %+v", i)
	}
}

// BenchmarkJudge judges a good check of a target that is up, the usual case.
func BenchmarkJudge(b *testing.B) {
	m := Monitor{Name: "web", Check: task.Task{HTTP: &task.HTTP{URL: "https://example.com"}}}.WithDefaults()
	now := at("10:00")
	s := Enroll(m, JudgeContext{}, now).State
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Minute)
		s = Judge(m, s, Observation{At: now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Latency: core.Duration(50 * time.Millisecond)}}, JudgeContext{}, now).State
	}
	if s.Verdict != VerdictUp {
		b.Fatal(s.Verdict)
	}
}
