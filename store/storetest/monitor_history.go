package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("results are rolled up, and what is pruned falsifies no uptime", func(b *bench) {
		w := b.checker()
		v := b.monitor("site", func(m *belfry.Monitor) { m.Every = belfry.Duration(10 * time.Minute) })
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
			b.Fatalf("%d checks in hours", n)
		}
		before := must(b.st.Uptime(b.ctx, "default", "site"))(b)
		points := must(b.st.Series(b.ctx, belfry.SeriesQuery{Monitor: "site", From: v.CreatedAt, Step: belfry.Duration(24 * time.Hour)}))(b)
		var sum int64
		for _, p := range points {
			sum += p.OK + p.Fail
		}
		want(b, "checks in the series", sum, int64(len(w.results("site"))))
		if p := points[0]; p.P50 == 0 || p.P50.D() < 76*time.Millisecond || p.P50.D() > 84*time.Millisecond {
			b.Fatalf("%+v", p)
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
				b.Fatalf("%+v, before %+v", after.Spans[i], u)
			}
		}
		want(b, "checks in the series", must(b.st.Series(b.ctx, belfry.SeriesQuery{Monitor: "site", From: v.CreatedAt, Step: belfry.Duration(24 * time.Hour)}))(b)[0].OK, points[0].OK)
	})

	add("monitors are searched by a part of their names, counted, and shown as bars", func(b *bench) {
		w := b.checker()
		for _, name := range []string{"Shop-Sofia", "shop-berlin", "a_b"} {
			b.monitor(name, func(m *belfry.Monitor) { m.Confirm.Failures = 1; m.Tags = []string{"t"} })
		}
		for range 3 {
			w.turn("shop-berlin", passed)
		}
		w.turn("Shop-Sofia", failed)
		for search, n := range map[string]int{"SHOP": 2, "": 3, "%": 0, "_": 1, "berlin": 1} {
			f := belfry.MonitorFilter{Tag: "t", Search: search}
			want(b, "found by "+search, len(must(b.st.Monitors(b.ctx, f))(b).Items), n)
			want(b, "counted by "+search, must(b.st.CountMonitors(b.ctx, f))(b).Count, n)
		}
		counts := must(b.st.CountMonitors(b.ctx, belfry.MonitorFilter{}))(b)
		listed := map[belfry.Status]int{}
		for _, v := range must(b.st.Monitors(b.ctx, belfry.MonitorFilter{}))(b).Items {
			listed[v.Status]++
		}
		want(b, "statuses", fmt.Sprint(counts.Statuses), fmt.Sprint(listed))
		want(b, "down", listed[belfry.StatusDown] > 0, true)
		want(b, "more", counts.More, false)
		_, err := b.st.Monitors(b.ctx, belfry.MonitorFilter{Search: strings.Repeat("x", belfry.MaxMonitorSearch+1)})
		wantCode(b, err, belfry.Invalid, "bytes")

		b.clock.Move(50 * time.Hour)
		bars := must(b.st.Bars(b.ctx, belfry.BarsQuery{Monitors: []string{"shop-berlin", "Shop-Sofia", "no-such"}}))(b)
		want(b, "monitors with bars", len(bars), 2)
		for _, of := range bars {
			u := must(b.st.Uptime(b.ctx, "default", of.Monitor))(b).Spans[3]
			if len(of.Bars) != 90 || (of.Ratio == nil) != (u.Ratio == nil) || of.Ratio != nil && *of.Ratio != *u.Ratio || of.P95 != u.P95 || of.Outages != u.Outages {
				b.Fatalf("%s: %+v\nand %+v", of.Monitor, of, u)
			}
		}
		want(b, "bars of a day", len(must(b.st.Bars(b.ctx, belfry.BarsQuery{Monitors: []string{"a_b"}, Span: belfry.BarsDay}))(b)[0].Bars), 48)
		_, err = b.st.Bars(b.ctx, belfry.BarsQuery{Monitors: []string{"a_b"}, Span: "1h"})
		wantCode(b, err, belfry.Invalid, "span")
	})

	add("versions of a page are kept by their text, and one can be accepted", func(b *bench) {
		w := b.checker()
		b.monitor("page", func(m *belfry.Monitor) {
			m.Check = belfry.Task{Page: &belfry.PageCheck{URL: "https://example.org/", Baseline: belfry.BaselinePinned, KeepVersions: 2, Confirm: -1}}
		})
		seen := func(text string) belfry.Measure {
			return belfry.Measure{Outcome: belfry.CheckOK, Page: &belfry.PageSeen{Outcome: belfry.PageText, Digest: "d-" + text, ConfigHash: "c", Text: text, Matches: 1}}
		}
		for _, text := range []string{"one", "one", "two", "one", "three", "four"} {
			w.turn("page", seen(text))
		}
		vs := must(b.st.PageVersions(b.ctx, belfry.VersionFilter{Monitor: "page"}))(b).Items
		if len(vs) < 4 || vs[0].Digest != "d-four" || vs[0].Text != "" {
			b.Fatalf("%+v", vs)
		}
		first := vs[len(vs)-1]
		if !first.Baseline || first.Pruned || first.Change != belfry.PageFirst {
			b.Fatalf("%+v", first)
		}
		want(b, "baseline", must(b.st.PageVersion(b.ctx, "default", "page", -1))(b).Text, "one")
		want(b, "newest", must(b.st.PageVersion(b.ctx, "default", "page", 0))(b).Text, "four")
		want(b, "texts that are kept", b.count(`select count(*) from belfry.page_texts`), 3)
		v := must(b.st.AcceptPage(belfry.WithActor(b.ctx, "ann"), "default", "page", 0))(b)
		if !v.Baseline || v.AcceptedBy != "ann" || w.look("page").State.Baseline != "d-four" {
			b.Fatalf("%+v", v)
		}
		wantCode(b, second(b.st.PageVersion(b.ctx, "default", "page", 99)), belfry.NotFound)
		b.monitor("site")
		wantCode(b, second(b.st.PageVersion(b.ctx, "default", "site", 0)), belfry.Conflict)
	})
}
