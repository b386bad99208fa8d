package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("results are rolled up, and what is pruned falsifies no uptime", caseResultsAreRolledUp)
	add("monitors are searched by a part of their names, counted, and shown as bars", caseMonitorsAreSearchedByAPartOfTheirNames)
	add("one promise has one figure of uptime, on each page", caseFiguresOfUptimeAgree)
	add("a monitor of a few minutes has a latency of each check", caseAYoungMonitorHasALine)
	add("versions of a page are kept by their text, and one can be accepted", caseVersionsOfAPageAreKeptByTheirText)
}

func caseResultsAreRolledUp(b *bench) {
	w := b.checker()
	v := b.monitor("site", func(m *monitor.Monitor) { m.Every = core.Duration(10 * time.Minute) })
	for range 3 * 24 * 6 {
		w.turn("site", passed)
	}
	w.turn("site", failed)
	w.turn("site", failed)
	b.clock.Move(time.Hour)
	w.turn("site", passed)
	w.turn("site", passed)
	b.clock.Move(2 * time.Hour)
	for must(b.st.RollUp(b.ctx))(b) {
	}
	want(b, "days", b.count(`select count(*) from belfry.rollups where span = 86400`), 3)
	if n := b.count(`select sum(ok) from belfry.rollups where span = 3600`); n < 3*24*6 {
		b.Fatalf("checks in hourly rollups: got %d, want at least %d", n, 3*24*6)
	}
	before := must(b.st.Uptime(b.ctx, "default", "site"))(b)
	points := must(b.st.Series(b.ctx, view.SeriesQuery{Monitor: "site", From: v.CreatedAt, Step: core.Duration(24 * time.Hour)}))(b)
	var sum int64
	for _, p := range points {
		sum += p.OK + p.Fail
	}
	want(b, "checks in the series", sum, int64(len(w.results("site"))))
	if p := points[0]; p.P50 == 0 || p.P50.D() < 76*time.Millisecond || p.P50.D() > 84*time.Millisecond {
		b.Fatalf("point: got %+v, want a median of about 80 ms", p)
	}
	b.clock.Move(20 * 24 * time.Hour)
	for must(b.st.RollUp(b.ctx))(b) {
	}
	for must(b.st.Prune(b.ctx))(b) {
	}
	want(b, "results that are left", b.count(`select count(*) from belfry.results`), 0)
	after := must(b.st.Uptime(b.ctx, "default", "site"))(b)
	for i, u := range before.Spans {
		if u.Name == "30d" && (u.Down != after.Spans[i].Down || u.Down == 0 || after.Spans[i].P50 != u.P50) {
			b.Fatalf("uptime after the roll-up: got %+v, want that of before, %+v", after.Spans[i], u)
		}
	}
	want(b, "checks in the series", must(b.st.Series(b.ctx, view.SeriesQuery{Monitor: "site", From: v.CreatedAt, Step: core.Duration(24 * time.Hour)}))(b)[0].OK, points[0].OK)
}

func caseMonitorsAreSearchedByAPartOfTheirNames(b *bench) {
	w := b.checker()
	for _, name := range []string{"Shop-Sofia", "shop-berlin", "a_b"} {
		b.monitor(name, func(m *monitor.Monitor) { m.Confirm.Failures = 1; m.Tags = []string{"t"} })
	}
	for range 3 {
		w.turn("shop-berlin", passed)
	}
	w.turn("Shop-Sofia", failed)
	for search, n := range map[string]int{"SHOP": 2, "": 3, "%": 0, "_": 1, "berlin": 1} {
		f := view.MonitorFilter{Tag: "t", Search: search}
		want(b, "found by "+search, len(must(b.st.Monitors(b.ctx, f))(b).Items), n)
		want(b, "counted by "+search, must(b.st.CountMonitors(b.ctx, f))(b).Count, n)
	}
	counts := must(b.st.CountMonitors(b.ctx, view.MonitorFilter{}))(b)
	listed := map[monitor.Status]int{}
	for _, v := range must(b.st.Monitors(b.ctx, view.MonitorFilter{}))(b).Items {
		listed[v.Status]++
	}
	want(b, "statuses", fmt.Sprint(counts.Statuses), fmt.Sprint(listed))
	want(b, "down", listed[monitor.StatusDown] > 0, true)
	want(b, "more", counts.More, false)
	_, err := b.st.Monitors(b.ctx, view.MonitorFilter{Search: strings.Repeat("x", view.MaxMonitorSearch+1)})
	wantCode(b, err, core.Invalid, "bytes")

	b.clock.Move(50 * time.Hour)
	bars := must(b.st.Bars(b.ctx, monitor.BarsQuery{Monitors: []string{"shop-berlin", "Shop-Sofia", "no-such"}}))(b)
	want(b, "monitors with bars", len(bars), 2)
	for _, of := range bars {
		u := must(b.st.Uptime(b.ctx, "default", of.Monitor))(b).Spans[3]
		if len(of.Bars) != 90 || (of.Ratio == nil) != (u.Ratio == nil) || of.Ratio != nil && *of.Ratio != *u.Ratio || of.P95 != u.P95 || of.Outages != u.Outages {
			b.Fatalf("bars of monitor %s: got\n%+v\nwant the numbers of its uptime\n%+v", of.Monitor, of, u)
		}
	}
	want(b, "bars of a day", len(must(b.st.Bars(b.ctx, monitor.BarsQuery{Monitors: []string{"a_b"}, Span: monitor.BarsDay}))(b)[0].Bars), 48)
	_, err = b.st.Bars(b.ctx, monitor.BarsQuery{Monitors: []string{"a_b"}, Span: "1h"})
	wantCode(b, err, core.Invalid, "span")
}

func caseAYoungMonitorHasALine(b *bench) {
	w := b.checker()
	b.monitor("shop")
	b.monitor("other")
	line := func() string {
		w.turn("shop", passed)
		b.clock.Move(time.Second)
		bars := must(b.st.Bars(b.ctx, monitor.BarsQuery{Monitors: []string{"other", "shop"}, Span: monitor.BarsDay}))(b)
		return fmt.Sprint(bars[1].Latencies)
	}
	line()
	line()
	want(b, "after three checks", line(), "[80ms 80ms 80ms]")
	for range 35 {
		line()
	}
	want(b, "within an hour", strings.Count(line(), "80ms"), 30)
	for range 40 {
		line()
	}
	want(b, "in its second hour", line(), "[80ms 80ms]")
}

func caseVersionsOfAPageAreKeptByTheirText(b *bench) {
	w := b.checker()
	b.monitor("page", func(m *monitor.Monitor) {
		m.Check = task.Task{Page: &task.PageCheck{URL: "https://example.org/", Baseline: task.BaselinePinned, KeepVersions: 2, Confirm: -1}}
	})
	seen := func(text string) task.CheckResult {
		return task.CheckResult{Outcome: task.CheckOK, Page: &task.PageSeen{Outcome: task.PageText, Digest: "d-" + text, ConfigHash: "c", Text: text, Matches: 1}}
	}
	for _, text := range []string{"one", "one", "two", "one", "three", "four"} {
		w.turn("page", seen(text))
	}
	vs := must(b.st.PageVersions(b.ctx, view.VersionFilter{Monitor: "page"}))(b).Items
	if len(vs) < 4 || vs[0].Digest != "d-four" || vs[0].Text != "" {
		b.Fatalf("versions: got %+v, want at least 4 without texts, d-four first", vs)
	}
	first := vs[len(vs)-1]
	if !first.Baseline || first.Pruned || first.Change != task.PageFirst {
		b.Fatalf("first version: got %+v, want the baseline with its text", first)
	}
	want(b, "baseline", must(b.st.PageVersion(b.ctx, "default", "page", -1))(b).Text, "one")
	want(b, "newest", must(b.st.PageVersion(b.ctx, "default", "page", 0))(b).Text, "four")
	want(b, "texts that are kept", b.count(`select count(*) from belfry.page_texts`), 3)
	v := must(b.st.AcceptPage(access.WithActor(b.ctx, "ann"), "default", "page", 0))(b)
	if !v.Baseline || v.AcceptedBy != "ann" || w.look("page").State.Baseline != "d-four" {
		b.Fatalf("accepted version: got %+v, want the baseline, accepted by ann", v)
	}
	wantCode(b, second(b.st.PageVersion(b.ctx, "default", "page", 99)), core.NotFound)
	b.monitor("site")
	wantCode(b, second(b.st.PageVersion(b.ctx, "default", "site", 0)), core.Conflict)
}

// One promise has one figure: bars of lists, the page and badges of a monitor, and status pages begin at the same instant, and
// agree with what is known to have happened.
func caseFiguresOfUptimeAgree(b *bench) {
	w := b.checker()
	day := b.clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	at := func(days int, clock time.Duration) time.Time { return day.AddDate(0, 0, days).Add(clock) }
	b.clock.Move(at(0, 10*time.Hour+10*time.Minute).Sub(b.clock.Now()))
	b.monitor("site", func(m *monitor.Monitor) {
		m.Every, m.Confirm.Failures, m.Recover.Passes, m.Public = core.Duration(time.Hour), 1, 1, true
	})
	must(b.st.SaveStatusPage(b.ctx, public.StatusPage{Name: "public", Sections: []public.StatusSection{{Monitors: []string{"site"}}}}))(b)
	w.turn("site", failed)
	began := w.results("site")[0].At
	b.clock.Move(at(0, 10*time.Hour+50*time.Minute).Sub(b.clock.Now()))
	w.turn("site", passed)
	ended := w.results("site")[0].At

	for _, then := range []struct {
		now      time.Time
		day, all bool // whether the outage counts within 24 hours, and within 90 days
	}{
		{at(0, 23*time.Hour), true, true},
		{at(1, 10*time.Hour+20*time.Minute), true, true}, // its first minutes are in the oldest half hour, which began at 10:30
		{at(1, 10*time.Hour+45*time.Minute), false, true},
		{at(89, 23*time.Hour), false, true},
		{at(90, time.Minute), false, false}, // less than 90 times 24 hours ago, but 90 days of the calendar
	} {
		b.clock.Move(then.now.Sub(b.clock.Now()))
		w.turn("site", passed)
		then.now = b.clock.Now()
		report := must(b.st.Uptime(b.ctx, "default", "site"))(b)
		entry := must(b.st.Board(b.ctx, "default", "public"))(b).Sections[0].Monitors[0]
		for _, s := range []struct {
			span   monitor.BarSpan
			counts bool
		}{{monitor.BarsDay, then.day}, {monitor.BarsQuarter, then.all}} {
			name := fmt.Sprint(s.span, " at ", then.now)
			bars := must(b.st.Bars(b.ctx, monitor.BarsQuery{Monitors: []string{"site"}, Span: s.span}))(b)[0]
			u := report.Spans[slices.IndexFunc(report.Spans, func(u view.UptimeWindow) bool { return u.Name == string(s.span) })]
			var truth, drawn time.Duration
			if from := s.span.From(then.now); s.counts {
				truth = ended.Sub(core.Later(began, from))
			}
			for _, bar := range bars.Bars {
				drawn += bar.Down.D()
			}
			want(b, "down by bars, "+name, drawn, truth)
			want(b, "down by the report, "+name, u.Down.D(), truth)
			want(b, "up by bars, "+name, ratioOf(bars.Ratio), ratioOf(u.Ratio))
			want(b, "start, "+name, u.From, bars.Bars[0].From)
			if s.span == monitor.BarsQuarter {
				want(b, "up by the status page, "+name, ratioOf(entry.Uptime), ratioOf(u.Ratio))
			}
		}
	}
}

// ratioOf is a ratio, or -1 for none.
func ratioOf(r *float64) float64 {
	if r == nil {
		return -1
	}
	return *r
}
