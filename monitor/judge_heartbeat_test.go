package monitor

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func TestHeartbeats(t *testing.T) {
	every := Monitor{Every: core.Duration(10 * time.Minute), Heartbeat: &Heartbeat{Grace: core.Duration(2 * time.Minute)}}
	run := Monitor{Every: core.Duration(time.Hour), Heartbeat: &Heartbeat{Grace: core.Duration(2 * time.Minute), MaxRuntime: core.Duration(30 * time.Minute)}}
	twice := every
	twice.Confirm, twice.Recover = Confirm{Failures: 2}, Recover{Passes: 2}
	verdicts(t, []verdictRow{
		{"never called is new, however long", every, "23:00 lapse", "new since 10:00 | 10:00 unknown | |"},
		{"called", every, "10:05 success", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"called in time, again and again", every, "10:05 success; 10:15 success; 10:26 success; 10:37:59 lapse", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"missing: down from the end of its grace", every, "10:05 success; 10:17 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:17"},
		{"noticed late, it counts from then all the same", every, "10:05 success; 10:20 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:20"},
		{"still missing", every, "10:05 success; 10:17 lapse; 10:50 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:17"},
		{"back", every, "10:05 success; 10:17 lapse; 10:30 success", "up since 10:30 | 10:00 unknown, 10:05 up, 10:17 down, 10:30 up | 10:17-10:30 recovered | down 10:17 up 10:30"},
		{"late by the way, before anybody noticed", every, "10:05 success; 10:17:01 success", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"while Belfry was away", every, "10:05 success; 10:50 success", "up since 10:05 | 10:00 unknown, 10:05 up, 10:17 unknown, 10:50 up | |"},
		{"said that it failed", every, "10:05 success; 10:10 fails", "down since 10:10 | 10:00 unknown, 10:05 up, 10:10 down | 10:10- | down 10:10"},
		{"failed at its first call", every, "10:05 fails", "down since 10:05 | 10:00 unknown, 10:05 down | 10:05- | down 10:05"},
		{"exit code 0", every, "10:05 exit 0", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"exit code 3", every, "10:05 exit 3", "down since 10:05 | 10:00 unknown, 10:05 down | 10:05- | down 10:05"},
		{"a log is no call", every, "10:05 success; 10:14 log; 10:17 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:17"},
		{"a start alone is no verdict", every, "10:05 start", "new since 10:00 | 10:00 unknown | |"},
		{"a start is a call", every, "10:05 success; 10:15 start; 10:17 lapse", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"starts that never end are found out", every, "10:05 success; 10:15 start; 10:25 start; 10:27 lapse", "down since 10:27 | 10:00 unknown, 10:05 up, 10:27 down | 10:27- | down 10:27"},
		{"a first start that never ends is found out", every, "10:05 start; 10:17 lapse", "down since 10:17 | 10:00 unknown, 10:17 down | 10:17- | down 10:17"},
		{"a run in time", run, "10:05 start; 10:34 success", "up since 10:34 | 10:00 unknown, 10:34 up | |"},
		{"a run too long", run, "10:05 start; 10:35 lapse", "down since 10:35 | 10:00 unknown, 10:35 down | 10:35- | down 10:35"},
		{"a run too long that ends well", run, "10:05 start; 10:35 lapse; 10:36 success", "up since 10:36 | 10:00 unknown, 10:35 down, 10:36 up | 10:35-10:36 recovered | down 10:35 up 10:36"},
		{"another run's end does not end it", run, "10:05 start a; 10:10 success b; 10:35 lapse", "down since 10:35 | 10:00 unknown, 10:10 up, 10:35 down | 10:35- | down 10:35"},
		{"a run that goes on behind a later one", run, "10:05 start a; 10:10 start b; 10:12 success b; 10:34:59 lapse", "up since 10:12 | 10:00 unknown, 10:12 up | |"},
		{"a run too long behind a later one", run, "10:05 start a; 10:10 start b; 10:12 success b; 10:35 lapse", "down since 10:35 | 10:00 unknown, 10:12 up, 10:35 down | 10:35- | down 10:35"},
		{"a run behind a later one that ends in time", run, "10:05 start a; 10:10 start b; 10:12 success b; 10:30 success a; 10:50 lapse", "up since 10:12 | 10:00 unknown, 10:12 up | |"},
		{"runs too long while it is down are over at the next good call", run, "10:05 start a; 10:06 start b; 10:07 start c; 10:35 lapse; 10:50 start d; 10:52 success d; 11:30 lapse", "up since 10:52 | 10:00 unknown, 10:35 down, 10:52 up | 10:35-10:52 recovered | down 10:35 up 10:52"},
		{"Belfry was away while two runs ended", run, "10:05 start a; 10:06 start b; 11:00 listen; 11:00 lapse; 12:02 lapse", "down since 11:07 | 10:00 unknown, 11:07 down | 11:07- | down 12:02"},
		{"two missing to be down", twice, "10:05 success; 10:17 lapse; 10:27 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:27"},
		{"two missing at once", twice, "10:05 success; 10:40 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:17 down | 10:17- | down 10:40"},
		{"one missing, and there again", twice, "10:05 success; 10:17 lapse; 10:25 success; 10:35 success", "up since 10:05 | 10:00 unknown, 10:05 up | |"},
		{"missing while it recovers", twice, "10:05 fails; 10:06 fails; 10:10 success; 10:22 lapse; 10:30 success; 10:35 success", "up since 10:30 | 10:00 unknown, 10:05 down, 10:30 up | 10:05-10:30 recovered | down 10:06 up 10:35"},
		{"paused: not awaited", every, "10:05 success; 10:06 pause; 10:30 lapse", "up paused since 10:06 | 10:00 unknown, 10:05 up, 10:06 paused | |"},
		{"called while it is paused", every, "10:05 success; 10:06 pause; 10:10 fails; 10:30 lapse", "up paused since 10:06 | 10:00 unknown, 10:05 up, 10:06 paused | |"},
		{"resumed: awaited from then on", every, "10:05 success; 10:06 pause; 10:30 resume; 10:41 lapse; 10:42 lapse", "down since 10:42 | 10:00 unknown, 10:05 up, 10:06 paused, 10:30 unknown, 10:42 down | 10:42- | down 10:42"},
		{"resumed, never called", every, "10:06 pause; 10:30 resume; 12:00 lapse", "new since 10:30 | 10:00 unknown, 10:06 paused, 10:30 unknown | |"},
		{"missing in maintenance", every, "window 10:10 10:30; 10:05 success; 10:17 lapse; 10:30 lapse", "down since 10:17 | 10:00 unknown, 10:05 up, 10:10 maintenance, 10:30 down | 10:17- in maintenance | down 10:30"},
		{"Belfry was away: awaited anew", every, "10:05 success; 11:00 listen; 11:00 lapse; 11:10 lapse; 11:11 success", "up since 10:05 | 10:00 unknown, 10:05 up, 10:17 unknown, 11:00 up | |"},
		{"Belfry was away, and it does not come", every, "10:05 success; 11:00 listen; 11:00 lapse; 11:12 lapse", "down since 11:12 | 10:00 unknown, 10:05 up, 10:17 unknown, 11:00 up, 11:12 down | 11:12- | down 11:12"},
		{"Belfry was away while a run ended", run, "10:05 start; 11:00 listen; 11:00 lapse; 12:02 lapse", "down since 11:07 | 10:00 unknown, 11:07 down | 11:07- | down 12:02"},
	})
}

func TestWhenAHeartbeatIsExpected(t *testing.T) {
	t.Parallel()
	every := Monitor{Every: core.Duration(10 * time.Minute), Heartbeat: &Heartbeat{Grace: core.Duration(2 * time.Minute), MaxRuntime: core.Duration(5 * time.Minute)}}
	hours := Monitor{Rules: []schedule.Rule{{Cron: "0 * * * *"}}, Heartbeat: &Heartbeat{Grace: core.Duration(10 * time.Minute)}}
	onTheHour := func(t time.Time) time.Time { return t.Truncate(time.Hour).Add(time.Hour) }
	never := func(time.Time) time.Time { return time.Time{} }
	for _, row := range []struct {
		name         string
		m            Monitor
		next         func(time.Time) time.Time
		script       string
		expect, wake string
	}{
		{"never called", every, nil, "10:05 lapse", "never", "never"},
		{"called", every, nil, "10:05 success", "10:15", "10:17"},
		{"started", every, nil, "10:05 start", "10:15", "10:10"},
		{"started and ended", every, nil, "10:05 start; 10:08 success", "10:18", "10:20"},
		{"failed: down is not awaited", every, nil, "10:05 fails", "10:15", "never"},
		{"paused", every, nil, "10:05 success; 10:06 pause 11:00", "10:15", "11:00"},
		{"a window before", every, nil, "window 10:16 10:30; 10:05 success", "10:15", "10:16"},
		{"by rules", hours, onTheHour, "10:05 success", "11:00", "11:10"},
		{"by rules, too early", hours, onTheHour, "10:55 success", "11:00", "11:10"},
		{"by rules, a clock that is a little ahead", hours, onTheHour, "10:59:30 success", "12:00", "12:10"},
		{"by rules, missing", hours, onTheHour, "10:05 success; 11:10 lapse", "12:00", "never"},
		{"by rules that end", hours, never, "10:05 success", "never", "never"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, row.m, at("10:00"))
			w.next = row.next
			w.run(row.script)
			if in(w.s.ExpectAt) != row.expect || in(w.wake) != row.wake {
				t.Errorf("%s: expected %s and wakes at %s, want %s and %s", row.script, in(w.s.ExpectAt), in(w.wake), row.expect, row.wake)
			}
		})
	}
}

func TestARunIsTimed(t *testing.T) {
	t.Parallel()
	w := newWatch(t, Monitor{Heartbeat: &Heartbeat{}}, at("10:00"))
	w.run("10:05 start a; 10:08 success a")
	if w.s.LastLatency != core.Duration(3*time.Minute) || !w.s.StartedAt.IsZero() {
		t.Errorf("took %s, started %s", w.s.LastLatency, in(w.s.StartedAt))
	}
	w.run("10:08 start a; 10:08:10 start b; 10:08:30 success a")
	if w.s.LastLatency != core.Duration(30*time.Second) || w.s.RunID != "b" || len(w.s.Earlier) != 0 {
		t.Errorf("the first of two took %s; %s goes on beside %v", w.s.LastLatency, w.s.RunID, w.s.Earlier)
	}
	w.run("10:08:40 success b")
	if w.s.LastLatency != core.Duration(30*time.Second) || !w.s.StartedAt.IsZero() {
		t.Errorf("the second took %s, started %s", w.s.LastLatency, in(w.s.StartedAt))
	}
	w.run("10:09 success; 10:09 fails")
	if w.s.Verdict != VerdictDown || w.s.LastLatency != 0 {
		t.Errorf("the second of two calls at once: %s, %s", w.s.Verdict, w.s.LastLatency)
	}
	w.run("10:10 exit 4")
	if w.s.LastMessage != "the call said that it ended with exit code 4" || w.s.LastCode != task.CodeReported {
		t.Errorf("said %s: %s", w.s.LastCode, w.s.LastMessage)
	}
}
