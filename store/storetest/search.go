package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// searches is a bench that searches for jobs.
type searches struct{ *bench }

// found searches page by page, as people do, and returns the ids, newest first.
func (b searches) found(search string) (ids []int64) {
	b.Helper()
	f := must(job.ParseJobFilter(search, b.clock.Now()))(b)
	for n := 0; n < 1000; n++ {
		p := must(b.st.Jobs(b.ctx, f))(b)
		for _, j := range p.Items {
			if !f.Matches(j) {
				b.Fatalf("search %q found %+v, which does not match", search, j)
			}
			ids = append(ids, j.ID)
		}
		if f.Cursor = p.Next; p.Next == "" {
			return ids
		}
	}
	b.Fatalf("search %q has no last page", search)
	return nil
}

// manyDone adds unrelated finished jobs to the history.
func (b searches) manyDone(n int) {
	b.Helper()
	t := must(b.st.Task(b.ctx, "default", "t"))(b)
	ns := make([]job.NewJob, min(n, 1000))
	for i := range ns {
		ns[i] = job.NewJob{Task: t.Name}
	}
	for made := 0; made < n; made += len(ns) {
		must(b.st.Enqueue(b.ctx, ns[:min(len(ns), n-made)]))(b)
		must(b.st.CancelJobs(b.ctx, "default", view.Selection{Filter: &job.Filter{Task: t.Name}}))(b)
	}
}

func init() {
	add("a search finds live and finished jobs by each of its terms", caseASearchFindsLiveAndFinishedJobsByEach)
	add("a search that no index answers looks at so many jobs and says where to go on", caseASearchThatNoIndexAnswersLooksAtSo)
	add("counts of what waits do not depend on what else waits", caseCountsOfWhatWaitsDoNotDependOnWhat)
	add("a bulk action goes on behind what it was about, and repeats and leaves out nothing", caseABulkActionGoesOnBehindWhatItWas)
}

func caseASearchFindsLiveAndFinishedJobsByEach(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "q"}))(b)
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 2; t.Retry.Delay = core.Duration(time.Second) })
	b.task("u", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("s", "u", every(time.Hour), overlap(schedule.OverlapAllow))
	b.fire()
	ofSchedule := b.jobsOf("s")[0].ID
	s := b.session("t", "u")
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	dead := b.enqueue(job.NewJob{Task: "u", Tags: []string{"x", "y"}}).ID
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError, func(f *job.Finish) { f.Error = `It "Timed out" \ again` })
	retrying := b.enqueue(job.NewJob{Task: "t"}).ID
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.clock.Move(time.Second)
	b.promote()
	running := b.claim(s, 1).Jobs[0].Job.ID
	want(b, "the retry runs", running, retrying)
	b.clock.Move(3 * time.Hour)
	inQ := b.enqueue(job.NewJob{Task: "t", Queue: "q"}).ID
	later := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)}).ID
	for search, ids := range map[string][]int64{
		"":                                {later, inQ, running, dead, ofSchedule},
		fmt.Sprint(dead):                  {dead},
		fmt.Sprint("id:", running):        {running},
		"task:u":                          {dead, ofSchedule},
		"task:u state:failed":             {dead},
		"state:dead":                      {dead},
		"state:live":                      {later, inQ, running},
		"state:running,failed":            {running, dead},
		"state:running":                   {running},
		"state:scheduled":                 {later},
		"state:ready queue:q":             {inQ},
		"state:done":                      {dead, ofSchedule},
		"schedule:s":                      {ofSchedule},
		"schedule:s state:failed":         {},
		"schedule:none":                   {},
		"tag:y":                           {dead},
		"tag:z":                           {},
		"kind:func task:u":                {dead, ofSchedule},
		"kind:http":                       {},
		"trigger:schedule":                {ofSchedule},
		"session:" + s.ID:                 {running, dead, ofSchedule},
		"state:running session:" + s.ID:   {running},
		"state:failed session:" + s.ID:    {dead},
		"state:ready session:" + s.ID:     {},
		"attempt>1":                       {running},
		"attempt:1":                       {dead, ofSchedule},
		"attempt<=1":                      {dead, ofSchedule},
		`error:"timed OUT"`:               {dead},
		`error:"\" \\ again"`:             {dead},
		"error:%":                         {},
		"since:1h":                        {later, inQ},
		"until:1h":                        {running, dead, ofSchedule},
		"since:4h until:2h state:failed":  {dead},
		"since:2026-03-02T15:00:02Z":      {},
		"task:t state:live since:1d":      {later, inQ, running},
		"task:u until:2026-03-02T12:00Z":  {},
		`error:broke state:running,ready`: {running},
	} {
		got := searches{b}.found(search)
		want(b, search, fmt.Sprint(got), fmt.Sprint(append([]int64{}, ids...)))
		f := must(job.ParseJobFilter(search, b.clock.Now()))(b)
		n := must(b.st.CountJobs(b.ctx, f, view.CountOptions{ByState: true}))(b)
		want(b, "count of "+search, n.Count, len(ids))
		want(b, "more of "+search, n.More, false)
		sum := 0
		for _, c := range n.States {
			sum += c.Count
		}
		want(b, "by state, "+search, sum, len(ids))
	}
	_, err := b.st.CountJobs(b.ctx, job.Filter{States: []job.State{"x"}}, view.CountOptions{})
	wantCode(b, err, core.Invalid)
}

func caseASearchThatNoIndexAnswersLooksAtSo(b *bench) {
	b.task("t")
	b.task("u", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("u")
	old := b.enqueue(job.NewJob{Task: "u", Tags: []string{"needle"}}).ID
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.clock.Move(48 * time.Hour)
	searches{b}.manyDone(12_000)
	waits := b.enqueue(job.NewJob{Task: "t", Tags: []string{"needle"}}).ID
	p := must(b.st.Jobs(b.ctx, job.Filter{Tag: "needle"}))(b)
	if len(p.Items) != 1 || p.Items[0].ID != waits || p.Next == "" || p.Looked < 10_000 || p.Looked > 10_001 {
		b.Fatalf("search for a rare tag: got %d items, next %q, looked at %d, want 1 item after about 10,000 rows", len(p.Items), p.Next, p.Looked)
	}
	want(b, "all in the end", fmt.Sprint(searches{b}.found("tag:needle")), fmt.Sprint([]int64{waits, old}))
	for _, indexed := range []string{"state:failed", "task:u", "until:1d", "state:failed task:u tag:needle"} {
		p := must(b.st.Jobs(b.ctx, must(job.ParseJobFilter(indexed, b.clock.Now()))(b)))(b)
		if len(p.Items) != 1 || p.Next != "" || p.Looked != 0 {
			b.Fatalf("by %s: got %d items, next %q, looked at %d", indexed, len(p.Items), p.Next, p.Looked)
		}
	}
	n := must(b.st.CountJobs(b.ctx, job.Filter{Tag: "needle"}, view.CountOptions{}))(b)
	if n.Count != 1 || !n.More || n.Looked < 10_000 {
		b.Fatalf("count of a rare tag: got %+v, want 1 and more", n)
	}
	n = must(b.st.CountJobs(b.ctx, job.Filter{States: []job.State{job.Canceled}}, view.CountOptions{}))(b)
	if n.Count != 1000 || !n.More {
		b.Fatalf("count of canceled jobs: got %+v, want 1000 and more", n)
	}
}

func caseCountsOfWhatWaitsDoNotDependOnWhat(b *bench) {
	b.task("t")
	later := job.NewJob{Task: "t", Delay: core.Duration(time.Hour)}
	b.enqueue(later)
	ns := make([]job.NewJob, 3000)
	for i := range ns {
		ns[i] = job.NewJob{Task: "t"}
	}
	must(b.st.Enqueue(b.ctx, ns))(b)
	n := must(b.st.CountJobs(b.ctx, job.Filter{}, view.CountOptions{Cap: 100, ByState: true}))(b)
	if n.Count != 100 || !n.More {
		b.Fatalf("count of all jobs: got %+v, want 100 and more", n)
	}
	if c := n.States[job.Scheduled]; c.Count != 1 || c.More || c.Looked > 1 {
		b.Fatalf("count of scheduled jobs: got %+v, want 1 after 1 look", c)
	}
	if c := n.States[job.Ready]; c.Count != 100 || !c.More {
		b.Fatalf("count of ready jobs: got %+v, want 100 and more", c)
	}
	c := must(b.st.CountJobs(b.ctx, job.Filter{States: []job.State{job.Ready}, Queue: "default"}, view.CountOptions{Cap: 5000}))(b)
	if c.Count != 3000 || c.More {
		b.Fatalf("ready jobs in the queue: got %+v, want 3000 and no more", c)
	}
}

func caseABulkActionGoesOnBehindWhatItWas(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	ids := []int64{}
	for range 7 {
		ids = append(ids, b.enqueue(job.NewJob{Task: "t", ActiveKey: "one"}).ID)
		b.cancel(ids[len(ids)-1])
	}
	dry := must(b.st.RetryJobs(b.ctx, "default", view.Selection{Query: "state:canceled since:1h", DryRun: true, Sample: 3}))(b)
	if dry.Count == nil || dry.Count.Count != 7 || dry.Count.More || len(dry.IDs) != 3 || !slices.Equal(dry.IDs, ids[:3]) {
		b.Fatalf("dry run: got %+v, want 7 jobs, the first 3 of them named", dry)
	}
	// Only the first can be retried: it takes the active key of the others.
	r := must(b.st.RetryJobs(b.ctx, "default", view.Selection{Query: "state:canceled"}))(b)
	if len(r.IDs) != 1 || len(r.Left) != 6 || r.More {
		b.Fatalf("retried: got %+v, want 1 job, and 6 left", r)
	}
	searches{b}.manyDone(12_000)
	var done []int64
	cursor, calls := "", 0
	for more := true; more; calls++ {
		r := must(b.st.RetryJobs(b.ctx, "default", view.Selection{Query: "state:canceled", Cursor: cursor}))(b)
		for _, id := range r.IDs {
			if n := len(done); n > 0 && id <= done[n-1] {
				b.Fatalf("job %d was retried after %d, want ascending ids", id, done[n-1])
			}
			done = append(done, id)
		}
		cursor, more = r.Next, r.More
	}
	want(b, "retried", len(done), 12_001) // the retried job was canceled with the others
	want(b, "calls", calls, 2)
	_, err := b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: ids, Cursor: "x"})
	wantCode(b, err, core.Invalid, "cursor")
	_, err = b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: ids, Query: "state:live"})
	wantCode(b, err, core.Invalid, "query")
	_, err = b.st.CancelJobs(b.ctx, "default", view.Selection{Query: "nonsense"})
	wantCode(b, err, core.Invalid, "task:nonsense")
}
