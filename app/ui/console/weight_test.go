package console_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The list with the most monitors that it has, 25 that are down before 25 others, each with a full line and outages of its own.
func TestAListOfFiftyMonitorsIsLight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fiftyMonitors()
	v := s.visitor(s.admin)
	for _, path := range []string{"/monitors?span=90d", "/monitors?span=24h", "/monitors?group=tag&span=90d", "/monitors?view=grid&span=90d"} {
		size, body := v.weighed(path)
		if rows := strings.Count(body, `id="monitor-default-`); rows != 50 {
			t.Errorf("%s: %d monitors", path, rows)
		}
		if lines := strings.Count(body, `<svg class="spark`); lines != 50 && !strings.Contains(path, "grid") {
			t.Errorf("%s: %d lines", path, lines)
		}
		if t.Logf("%s: %d bytes", path, size); size > mostOfPage {
			t.Errorf("%s has %d bytes as they travel; at most %d are allowed", path, size, mostOfPage)
		}
	}
}

// weighed reads a page, and answers its bytes as they travel.
func (v *visitor) weighed(path string) (size int, body string) {
	v.Helper()
	_, body = v.get(path)
	req := must(http.NewRequestWithContext(v.Context(), http.MethodGet, v.url+path, nil))(v.site)
	req.Header.Set("Accept-Encoding", "gzip") // asked for by hand it is not unpacked
	resp := must(v.http.Do(req))(v.site)
	defer resp.Body.Close()
	if coding := resp.Header.Get("Content-Encoding"); coding != "gzip" {
		v.Fatalf("%s is packed as %q", path, coding)
	}
	for buffer := make([]byte, 32<<10); ; {
		n, err := resp.Body.Read(buffer)
		if size += n; err != nil {
			return size, body
		}
	}
}

// fiftyMonitors makes monitors with 90 days behind them, of which the last half is down.
func (s *site) fiftyMonitors() {
	s.Helper()
	ctx, dice := s.Context(), rand.New(rand.NewPCG(1, 2))
	var m view.Manifest
	for i := range 50 {
		m.Monitors = append(m.Monitors, monitor.Monitor{Name: fmt.Sprintf("shop-%02d-%x", i, dice.Uint32()), Title: fmt.Sprintf("Shop %d of %x", i, dice.Uint32()),
			Tags: []string{fmt.Sprint("team-", i%7), "web"}, Every: core.Duration(time.Minute), Confirm: monitor.Confirm{Failures: 1},
			Check: task.Task{HTTP: &task.HTTP{URL: fmt.Sprintf("https://shop-%x.example/health", dice.Uint32())}}})
	}
	must(s.Apply(ctx, m, view.ApplyOptions{}))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{task.ChecksQueue: 50}}))(s)
	for i, one := range m.Monitors {
		if i >= 25 { // behind those of the first page by name
			must(s.CheckMonitor(ctx, "default", one.Name))(s)
		}
	}
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: 50}}))(s)
	var down []job.Finish
	for _, j := range c.Jobs {
		down = append(down, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK,
			Check: &task.CheckResult{Outcome: task.CheckFail, Code: task.CodeConnectRefused, Message: "nothing listens there"}})
	}
	must(s.Finish(ctx, w.ID, down))(s)
	for _, sql := range ninetyDays(dice, must(s.Monitors(ctx, view.MonitorFilter{Paging: core.Paging{Limit: 100}}))(s).Items) {
		must(true, s.node.Store().DB().Write(ctx, func(tx base.Tx, _ base.Moment) error { _, err := tx.Exec(ctx, sql); return err }))(s)
	}
}

// ninetyDays are statements that give monitors a past: a latency of its own for each day and hour, and an outage on each fourth day.
func ninetyDays(dice *rand.Rand, all []view.MonitorView) []string {
	const hour, day = int64(time.Hour / time.Microsecond), int64(24 * time.Hour / time.Microsecond)
	now := time.Now().UnixMicro()
	var rollups, spans []string
	for _, m := range all {
		spans = append(spans, fmt.Sprintf("(%d, %d, 'up')", m.ID, now-95*day))
		for back := range int64(90) {
			for _, step := range []int64{day, hour} {
				latencies := job.Histogram{}
				latencies.Add(time.Duration(40+dice.IntN(400)) * time.Millisecond)
				packed, _ := latencies.MarshalBinary() // of one number it does not fail
				rollups = append(rollups, fmt.Sprintf("(%d, %d, %d, 60, 0, 0, 0, 60000, 400, 217000, '%s')", m.ID, step/1e6, (now/step-1-back)*step, base64.StdEncoding.EncodeToString(packed)))
			}
			if dice.IntN(4) == 0 && back > 0 {
				from := now - back*day - dice.Int64N(hour)
				spans = append(spans, fmt.Sprintf("(%d, %d, 'down'), (%d, %d, 'up')", m.ID, from, m.ID, from+1+dice.Int64N(5*hour)))
			}
		}
	}
	return []string{
		"delete from belfry.spans", "update belfry.monitors set created_at = created_at - 100 * " + fmt.Sprint(day),
		fmt.Sprintf("update belfry.rolled set hour = %d, day = %d", now/hour, now/day),
		"insert into belfry.spans (monitor_id, at, state) values " + strings.Join(spans, ", "),
		"insert into belfry.rollups (monitor_id, span, at, ok, degraded, fail, error, total, least, most, latency) values " + strings.Join(rollups, ", "),
	}
}
