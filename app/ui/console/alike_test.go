package console_test

import (
	"slices"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Tables with the same headings that stand below each other have their columns at the same places, and the page of limits
// follows what is used.
func TestTablesOfOneKindLineUp(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	ctx := t.Context()
	limits := []flow.Limit{{Name: "all", Running: 4}, {Name: "each", Key: "input.customer", Rate: "5/1h"}}
	must(s.SaveNamespace(ctx, access.Namespace{Name: "default", Quota: access.Quota{Waiting: 20_000}, Limits: limits}))(s)
	must(s.SaveQueue(ctx, job.Queue{Name: "bulk", Limits: limits}))(s)
	must(s.CreateTask(ctx, task.Task{Name: "limited", Kind: task.KindFunc, Queue: "bulk", Limits: limits}))(s)
	enqueue := func(n int) {
		must(s.Enqueue(ctx, slices.Repeat([]job.NewJob{{Task: "limited", Input: []byte(`{"customer":"a customer with a long name"}`)}}, n)))(s)
	}
	enqueue(2)
	s.down("mended")
	must(s.CheckMonitor(ctx, "default", "mended"))(s)
	w := must(s.OpenSession(ctx, job.WorkerInfo{Name: "prober", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{task.ChecksQueue: 1}}))(s)
	c := must(s.Claim(ctx, job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: 1}}))(s)
	must(s.Finish(ctx, w.ID, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK, Check: &task.CheckResult{Outcome: task.CheckOK}}}))(s)
	b := s.at("/settings/limits")
	for _, path := range []string{"/incidents", "/settings/limits", "/queues/bulk", "/tasks/limited"} {
		b.Visit(s.url + path)
		for _, width := range []int{1280, 900, 390} {
			b.Emulate("light", width)
			b.Layout()
			var kinds struct {
				Tables int
				Askew  []string
			}
			b.Eval(`(() => { const at = {}; let tables = 0;
				for (const t of document.querySelectorAll('main table:has(thead th)')) { const all = [...t.tHead.querySelectorAll('th')]; tables++;
					(at[all.map(h => h.textContent).join('|')] ??= new Set()).add(all.map(h => Math.round(h.getBoundingClientRect().left)).join()); }
				return {tables, askew: Object.keys(at).filter(k => at[k].size > 1)}; })()`, &kinds)
			if kinds.Tables < 2 || len(kinds.Askew) > 0 {
				t.Errorf("%s at %d pixels: of %d tables these do not line up: %q", path, width, kinds.Tables, kinds.Askew)
			}
		}
	}
	b.Visit(s.url + "/settings/limits")
	b.Shows("Limit all: 4 at once")
	waiting := must(s.QuotaUse(ctx, "default"))(s)[0].Used
	enqueue(7)
	b.Until(`document.querySelector('#list .bar').innerText.includes('` + numberText(waiting+7) + ` of 20')`)
	b.Quiet(s.url)
}
