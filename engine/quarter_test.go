package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// A quarter of a year of a whole node, in a bubble: long and short failures of
// targets, checks that cannot be made, slow periods, three stops of the node, pauses,
// weekly maintenance across a change of the clocks, and a cron job that calls a
// heartbeat. The recorded figures must follow from the truth.
//
// An outage counts from the first check that saw it to the first check that saw its
// end, each confirmed by another check 20 seconds later. A failure that ends before
// its confirmation is no outage. Apart from that, figures are compared to the second.
// A missing heartbeat is down from the end of its grace, and up again from the moment
// of a call.
func TestAQuarterOfAYear(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	synctest.Test(t, func(t *testing.T) {
		w := &world{start: day("2000-02-01"), rng: rand.New(rand.NewPCG(5, 2000)), targets: map[string]*target{}}
		w.end = w.start.Add(91*24*time.Hour + 7*time.Minute)
		s := &station{T: t, path: path, world: w, diary: map[string][]glance{}, pager: newPager()}
		until(w.start)
		s.start()
		beat := s.define()
		w.plan()
		job := &cronjob{world: w}
		for _, name := range []string{"api", "mail", "shop"} { // in an order that stays
			w.targets[name].live()
		}
		jobHistory := job.live()
		s.play(job, beat, jobHistory)
		until(w.end)
		for name, target := range w.targets {
			s.check(name, target.history(), target.pauses, w.end)
			s.checkLooks(target)
		}
		s.check("backup", jobHistory, nil, w.end)
		s.checkPager()
		s.checkRetention()
		w.checkScript(t, jobHistory)
		s.stop()
	})
}

// define saves the monitors, a channel and a rule, and returns the key of the
// heartbeat.
func (s *station) define() (beat string) {
	s.Helper()
	ctx := s.Context()
	fail := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	_, err := s.st.SaveChannel(ctx, alert.Channel{Name: "pager", Webhook: &alert.WebhookChannel{URL: "https://example.org/hook"}})
	fail(err)
	_, err = s.st.SaveAlertRule(ctx, alert.Rule{Name: "all", Channels: []string{"pager"}, On: []alert.NotificationType{
		alert.NotificationDown, alert.NotificationUp, alert.NotificationSlow, alert.NotificationNormal, alert.NotificationStale, alert.NotificationFresh,
		alert.NotificationFlapping, alert.NotificationSteady, alert.NotificationDegraded, alert.NotificationRecovered, alert.NotificationScheduleMissed,
	}})
	fail(err)
	_, err = s.st.SaveWindow(ctx, monitor.Window{Name: "sundays", Rules: []schedule.Rule{{Cron: "30 3 * * SUN"}}, Lasts: core.Duration(2 * time.Hour), Zone: "Europe/Sofia"})
	fail(err)
	site := task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}
	for name, m := range map[string]monitor.Monitor{
		"shop":   {Check: site, Every: core.Duration(10 * time.Minute)},
		"api":    {Check: site, Rules: []schedule.Rule{{Cron: "*/15 * * * *"}}},
		"mail":   {Check: site, Every: core.Duration(time.Hour)},
		"backup": {Heartbeat: &monitor.Heartbeat{Grace: core.Duration(beatGrace), MaxRuntime: core.Duration(beatLimit)}, Rules: []schedule.Rule{{Cron: "0 * * * *"}}},
	} {
		m.Name = name
		v, err := s.st.CreateMonitor(ctx, m)
		fail(err)
		if m.Heartbeat != nil {
			beat = strings.TrimPrefix(v.Beat, "/beat/")
			continue
		}
		sc, err := s.st.Schedule(ctx, "default", task.OwnedName(name))
		fail(err)
		t := &target{world: s.world, name: name, pace: m.Every.D(), first: sc.NextAt, looked: s.lookedAfter(name)}
		if t.pace == 0 {
			t.pace, t.byRule, t.first = 15*time.Minute, true, s.world.start.Add(15*time.Minute)
		}
		s.world.targets[name] = t
	}
	return beat
}

// lookedAfter returns a function that finds the extra check of a new or resumed
// monitor.
func (s *station) lookedAfter(name string) func(time.Time) time.Time {
	return func(t time.Time) time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, g := range s.diary[name] {
			if g.at.After(t) && g.nominal.IsZero() && g.at.Sub(t) <= 31*time.Second {
				return g.at
			}
		}
		if t.Before(time.Now()) {
			s.Errorf("%s: no look soon after %s", name, stampOf(t))
		}
		return t
	}
}

// plan sets the stops of the node, pauses, maintenance, and the times at which the
// figures are read.
func (w *world) plan() {
	in := func(days int, clock string) time.Time {
		d, err := time.ParseDuration(clock)
		if err != nil {
			panic(err)
		}
		return w.start.Add(time.Duration(days)*24*time.Hour + d)
	}
	// 03:30 in Sofia is 01:30 in UTC, and 00:30 from 26 March on. On that day 03:30
	// does not exist: the clocks go from 03:00 to 04:00, at 01:00 in UTC.
	for d := day("2000-02-06"); d.Before(w.end); d = d.Add(7 * 24 * time.Hour) {
		from := d.Add(90 * time.Minute)
		switch change := day("2000-03-26"); {
		case d.Equal(change):
			from = d.Add(time.Hour)
		case d.After(change):
			from = d.Add(30 * time.Minute)
		}
		w.windows = append(w.windows, during{from, from.Add(2 * time.Hour), "window"})
	}
	for _, a := range []during{
		{in(9, "10h20m"), in(9, "10h41m17s"), "away"},
		{in(30, "13h31m"), in(30, "20h47m33s"), "away"},
		{in(65, "7h25m"), in(67, "9h52m47s"), "away"},
	} {
		for _, t := range w.targets { // this test excludes checks that are due while the node starts
			for t.turn(a.to.Add(-time.Minute)).Before(a.to.Add(time.Minute)) || t.turn(a.from.Add(-time.Minute)).Before(a.from.Add(time.Minute)) {
				a.from, a.to = a.from.Add(time.Second), a.to.Add(time.Second)
			}
		}
		w.aways = append(w.aways, a)
	}
	w.targets["shop"].pauses = []during{{in(20, "10h2m11s"), in(20, "14h7m12s"), "pause"}, {in(50, "10h1m"), in(51, "9h33m"), "pause"}}
	w.targets["mail"].pauses = []during{{in(40, "5h13m"), in(41, "8h40m1s"), "pause"}}
	w.reports = []time.Time{in(10, "23h"), in(36, "17h"), in(69, "12h"), w.end}
}

// play lets the quarter pass.
func (s *station) play(job *cronjob, beat string, jobHistory *history) {
	s.Helper()
	type act struct {
		at time.Time
		do func()
	}
	var acts []act
	for _, c := range job.calls {
		acts = append(acts, act{c.at, func() { s.call(beat, c.kind) }})
	}
	for _, a := range s.world.aways {
		acts = append(acts, act{a.from, func() { s.stop(); s.st = nil }}, act{a.to, s.start})
	}
	for name, t := range s.world.targets {
		for i, p := range t.pauses {
			until := time.Time{} // the second one ends by itself
			if i > 0 {
				until = p.to
			} else {
				acts = append(acts, act{p.to, func() {
					if _, err := s.st.ResumeMonitor(s.Context(), "default", name); err != nil {
						s.Error(err)
					}
				}})
			}
			acts = append(acts, act{p.from, func() {
				if _, err := s.st.PauseMonitor(s.Context(), "default", name, until, "moving"); err != nil {
					s.Error(err)
				}
			}})
		}
	}
	for _, r := range s.world.reports[:len(s.world.reports)-1] {
		acts = append(acts, act{r, func() {
			for name, t := range s.world.targets {
				s.check(name, t.history(), t.pauses, r)
			}
			s.check("backup", jobHistory, nil, r)
		}})
	}
	slices.SortStableFunc(acts, func(a, b act) int { return a.at.Compare(b.at) })
	for _, a := range acts {
		until(a.at)
		a.do()
	}
}

// check compares the reported uptime at an instant with the truth.
func (s *station) check(name string, h *history, pauses []during, now time.Time) {
	s.Helper()
	report, err := s.st.Uptime(s.Context(), "default", name)
	if err != nil {
		s.Fatal(err)
	}
	for _, got := range report.Spans {
		// 48 half hours of the clock, or so many days of UTC; the present one is the last.
		from := now.Truncate(30 * time.Minute).Add(-47 * 30 * time.Minute)
		if days := map[string]int{"7d": 7, "30d": 30, "90d": 90, "1y": 365}[got.Name]; days > 0 {
			from = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
		}
		want := s.world.uptime(h, pauses, from, now)
		close := func(a, b core.Duration) bool { return max(a-b, b-a) <= core.Duration(time.Second) }
		if !close(got.Up, want.Up) || !close(got.Down, want.Down) || !close(got.Maintenance, want.Maintenance) ||
			!close(got.Paused, want.Paused) || !close(got.Unknown, want.Unknown) || got.Outages != want.Outages || max(got.Coverage-want.Coverage, want.Coverage-got.Coverage) > 1e-5 {
			s.Errorf("%s on %s over %s:\ngot  %s\nwant %s", name, stampOf(now), got.Name, uptimeLine(got.Uptime), uptimeLine(want))
		} else if testing.Verbose() {
			s.Logf("%-6s %s %-3s %s", name, stampOf(now), got.Name, uptimeLine(got.Uptime))
		}
	}
	if now.Before(s.world.end) {
		return
	}
	var got, want []string
	for f := (view.IncidentFilter{Monitor: name, Paging: core.Paging{Limit: 1000}}); ; {
		p, err := s.st.Incidents(s.Context(), f)
		if err != nil {
			s.Fatal(err)
		}
		for _, i := range p.Items {
			got = append(got, fmt.Sprintf("%s to %s %s", stampOf(i.StartedAt), stampOf(i.EndedAt), i.EndedBy))
		}
		if f.Cursor = p.Next; f.Cursor == "" {
			break
		}
	}
	slices.Reverse(got)
	for _, o := range h.incidents {
		want = append(want, fmt.Sprintf("%s to %s %s", stampOf(o.from), stampOf(o.to), o.by))
	}
	s.same(name+": incidents", got, want)
	s.same(name+": told", s.pager.told[name], h.lines())
}

// same compares two lists and shows their first difference.
func (s *station) same(what string, got, want []string) {
	s.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			from := max(0, i-3)
			s.Errorf("%s: %d, want %d; they part at %d:\ngot  %q\nwant %q", what, len(got), len(want), i, got[min(from, len(got)):min(i+4, len(got))], want[min(from, len(want)):min(i+4, len(want))])
			return
		}
	}
	if testing.Verbose() {
		s.Logf("%s: %d", what, len(got))
	}
}

// checkLooks checks that every nominal time has one check, in time, and that there
// are no others but confirmations.
func (s *station) checkLooks(t *target) {
	s.Helper()
	seen := map[time.Time]bool{}
	for _, g := range s.diary[t.name] {
		if g.nominal.IsZero() {
			continue
		}
		if seen[g.nominal.UTC()] {
			s.Errorf("%s: %s was looked at twice", t.name, stampOf(g.nominal))
		}
		seen[g.nominal.UTC()] = true
		_, afterStop := within(t.aways, g.nominal)
		if late := g.at.Sub(g.nominal); !afterStop && (late < 0 || late > time.Second) {
			s.Errorf("%s: %s was looked at after %s", t.name, stampOf(g.nominal), late)
		}
	}
	missed := 0
	for n := t.first; n.Before(t.end); n = n.Add(t.pace) {
		_, away := within(t.aways, n)
		_, paused := within(t.pauses, n)
		if !away && !paused && !seen[n.UTC()] {
			missed++
		}
	}
	if h := t.history(); missed > 0 || len(s.diary[t.name]) != h.looks {
		s.Errorf("%s: %d looks, want %d; %d times were missed", t.name, len(s.diary[t.name]), h.looks, missed)
	}
}

// checkPager checks that each message was received once, after retries of failed
// ones.
func (s *station) checkPager() {
	s.Helper()
	for _, line := range s.pager.wrong {
		s.Error(line)
	}
	if len(s.pager.failed) > 0 || s.pager.tries < 100 {
		s.Errorf("%d tries, and never taken: %v", s.pager.tries, s.pager.failed)
	}
	for name := range s.pager.told {
		if s.world.targets[name] == nil && name != "backup" {
			s.Errorf("told of %q: %v", name, s.pager.told[name])
		}
	}
}

// checkRetention checks that single results are removed after three days, and that
// the daily sums contain every check.
func (s *station) checkRetention() {
	s.Helper()
	for name, t := range s.world.targets {
		p, err := s.st.Results(s.Context(), view.ResultFilter{Monitor: name, Paging: core.Paging{Limit: 1000}})
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range p.Items {
			if s.world.end.Sub(r.At) > 4*24*time.Hour {
				s.Errorf("%s: the result of %s is still there", name, stampOf(r.At))
			}
		}
		points, err := s.st.Series(s.Context(), view.SeriesQuery{Monitor: name, From: s.world.start, To: s.world.end.Add(time.Hour), Step: core.Duration(24 * time.Hour)})
		if err != nil {
			s.Fatal(err)
		}
		got, want := map[task.CheckOutcome]int64{}, map[task.CheckOutcome]int64{}
		for _, p := range points {
			got[task.CheckOK] += p.OK
			got[task.CheckFail] += p.Fail
			got[task.CheckError] += p.Error
		}
		for _, g := range s.diary[name] {
			want[g.outcome]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.Errorf("%s: the days sum up to %v, and there were %v, of %d", name, got, want, len(t.periods))
		}
	}
}

// checkScript checks that the script contains all kinds of events.
func (w *world) checkScript(t *testing.T, beats *history) {
	t.Helper()
	had := map[string]int{}
	for _, target := range w.targets {
		for _, p := range target.periods {
			had[p.what]++
		}
		h := target.history()
		for _, o := range h.incidents {
			had[o.by]++
			if h.unsent(o) {
				had["unsent"]++
			}
		}
		for _, e := range h.told {
			had[strings.Fields(e.line)[0]]++
		}
		had["gap"] += len(h.gaps)
	}
	for _, o := range beats.incidents {
		if beats.unsent(o) {
			had["unsent beat"]++
		}
	}
	for _, what := range []string{"outage", "blip", "hidden", "errors", "slow", "recovered", "paused", "unsent", "down", "up", "stale", "fresh", "normal", "closed", "gap", "unsent beat"} {
		if had[what] == 0 {
			t.Errorf("the script has no %s: %v", what, had)
		}
	}
	t.Logf("%v, and %d failures of the heartbeat", had, len(beats.incidents))
}

func (h *history) unsent(o outage) bool {
	return !slices.ContainsFunc(h.told, func(e event) bool { return e.line == "down "+stampOf(o.from) })
}
