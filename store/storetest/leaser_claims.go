package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	addLeaser("a session is told its queues by priority and its slots in each", caseASessionIsToldItsQueuesByPriorityAnd)
	addLeaser("a session lives as long as its worker asked for, and hears at its renewals of slots that were changed", caseASessionLivesAsLongAsItsWorkerAsked)
	addLeaser("a worker gets only jobs of its kinds, its handlers, its queues and its namespace", caseAWorkerGetsOnlyJobsOfItsKinds)
	addLeaser("one claim over several queues serves the highest first and gives each what was asked", caseOneClaimOverSeveralQueuesServesTheHighestFirst)
	addLeaser("many sessions that claim at once never get the same job", caseManySessionsThatClaimAtOnceNeverGetThe)
	addLeaser("a claim that waits returns when a job comes", caseAClaimThatWaitsReturnsWhenAJobComes)
}

func caseASessionIsToldItsQueuesByPriorityAnd(d *leaserBench) {
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "urgent", Priority: 500, Concurrency: 3}))(d)
	s := must(d.br.OpenSession(d.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc},
		Queues: map[string]int{"default": 2, "urgent": 0, "checks": 0}}))(d)
	if !slices.Equal(s.Order, []string{"urgent", "checks", "default"}) || s.Queues["urgent"] != 3 || s.Queues["default"] != 2 || s.Queues["checks"] != 200 {
		d.Fatalf("session: got %+v, want the queues by priority, with their slots", s)
	}
	want(d, "ttl", s.TTL, job.DefaultSessionTTL)
}

func caseASessionLivesAsLongAsItsWorkerAsked(d *leaserBench) {
	d.task("t")
	s := must(d.br.OpenSession(d.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
		Queues: map[string]int{"default": 0, "checks": 3, "gone": 0}, TTL: core.Duration(2 * time.Minute)}))(d)
	want(d, "ttl", s.TTL, core.Duration(2*time.Minute))
	want(d, "queues, without one that does not exist", fmt.Sprint(s.Queues), "map[checks:3 default:10]")
	id := d.one("t")
	ref := d.claimOne(s.ID)
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "default", Concurrency: 77}))(d)
	for range 2 {
		d.Move(2*time.Minute + job.LostGrace)
		want(d, "released", d.release(), 0)
		r := d.renew(s.ID, ref)
		if r.Lost || r.Queues["default"] != 77 || r.Queues["checks"] != 3 {
			d.Fatalf("renewal: got %+v, want the new slots of the queues", r)
		}
	}
	d.Move(2*time.Minute + job.LostGrace + time.Second)
	want(d, "released", d.release(), 1)
	want(d, "outcomes", d.outcomes(id), "lost")
	_, err := d.br.OpenSession(d.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"default": 1}, TTL: 1})
	wantCode(d, err, core.Invalid, "ttl")
}

func caseAWorkerGetsOnlyJobsOfItsKinds(d *leaserBench) {
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "aside"}))(d)
	d.task("mine")
	d.task("yours")
	d.task("mine-too", func(t *task.Task) { t.Namespace = "other"; t.Name = "mine" })
	d.task("shell", func(t *task.Task) { t.Kind = task.KindCommand; t.Command = &task.Command{Shell: "true"} })
	d.task("fetch", func(t *task.Task) { t.Kind = task.KindHTTP; t.HTTP = &task.HTTP{URL: "https://example.org/"} })
	ids := d.enqueue(
		job.NewJob{Task: "mine"}, job.NewJob{Task: "yours"}, job.NewJob{Task: "mine", Namespace: "other"},
		job.NewJob{Task: "shell"}, job.NewJob{Task: "fetch"}, job.NewJob{Task: "mine", Queue: "aside"})
	claimed := func(w job.WorkerInfo) (places []int) {
		d.Helper()
		if w.Queues == nil {
			w.Queues = map[string]int{"default": 10}
		}
		s := d.open(w)
		for _, j := range d.claimFrom(s, w.Queues).Jobs {
			places = append(places, slices.Index(ids, j.Job.ID))
		}
		ok(d, d.br.CloseSession(d.ctx, s))
		slices.Sort(places)
		return places
	}
	funcs := []task.Kind{task.KindFunc}
	for _, c := range []struct {
		w    job.WorkerInfo
		want []int
	}{
		{job.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine"}}, []int{0}},
		{job.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine", "yours"}}, []int{0, 1}},
		{job.WorkerInfo{Namespace: "default", Kinds: funcs}, nil},
		{job.WorkerInfo{Namespace: "other", Kinds: funcs, Funcs: []string{"mine"}}, []int{2}},
		{job.WorkerInfo{Namespace: core.AnyNamespace, Kinds: funcs, Funcs: []string{"mine"}}, []int{0, 2}},
		{job.WorkerInfo{Namespace: "default", Kinds: []task.Kind{task.KindCommand}}, []int{3}},
		{job.WorkerInfo{Namespace: "default", Kinds: []task.Kind{task.KindHTTP, task.KindCommand}}, []int{3, 4}},
		{job.WorkerInfo{Namespace: "default", Kinds: funcs, Funcs: []string{"mine"}, Queues: map[string]int{"aside": 5}}, []int{5}},
	} {
		if got := claimed(c.w); !slices.Equal(got, c.want) {
			d.Fatalf("claim of worker %+v: got %v, want %v", c.w, got, c.want)
		}
	}
}

func caseOneClaimOverSeveralQueuesServesTheHighestFirst(d *leaserBench) {
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "high", Priority: 9}))(d)
	must(d.ad.SaveQueue(d.ctx, job.Queue{Name: "low", Priority: -9}))(d)
	d.task("any")
	for _, q := range []string{"low", "default", "high"} {
		d.enqueue(slices.Repeat([]job.NewJob{{Task: "any", Queue: q}}, 3)...)
	}
	s := d.open(job.WorkerInfo{Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"any"}, Queues: map[string]int{"low": 9, "default": 9, "high": 9}})
	var got []string
	c := d.claimFrom(s, map[string]int{"low": 1, "default": 2, "high": 5, "checks": 3})
	for _, j := range c.Jobs {
		got = append(got, j.Job.Queue)
	}
	want(d, "order", strings.Join(got, " "), "high high high default default low")
}

func caseManySessionsThatClaimAtOnceNeverGetThe(d *leaserBench) {
	const jobs, workers = 120, 6
	d.task("rush")
	d.enqueue(slices.Repeat([]job.NewJob{{Task: "rush"}}, jobs)...)
	sessions := make([]string, workers)
	for i := range sessions {
		sessions[i] = d.session("rush")
	}
	var mu sync.Mutex
	holders, faults := map[int64]int{}, []error{}
	together(workers, func(i int) {
		for {
			c, err := d.br.Claim(d.ctx, job.ClaimRequest{Session: sessions[i], Want: map[string]int{"default": 7}})
			mu.Lock()
			if err != nil {
				faults = append(faults, err)
			}
			for _, j := range c.Jobs {
				holders[j.Job.ID]++
			}
			mu.Unlock()
			if err != nil || len(c.Jobs) == 0 {
				return
			}
		}
	})
	if len(faults) > 0 {
		d.Fatalf("claims of many sessions: %v", faults[0])
	}
	want(d, "jobs handed out", len(holders), jobs)
	for id, n := range holders {
		want(d, fmt.Sprintf("holders of job %d", id), n, 1)
	}
}

func caseAClaimThatWaitsReturnsWhenAJobComes(d *leaserBench) {
	d.task("soon")
	s := d.session("soon")
	got := make(chan job.Claim, 1)
	fault := make(chan error, 1)
	go func() {
		c, err := d.br.Claim(d.ctx, job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
		fault <- err
		got <- c
	}()
	id := d.one("soon")
	ok(d, <-fault)
	if c := <-got; len(c.Jobs) != 1 || c.Jobs[0].Job.ID != id {
		d.Fatalf("claim that waited: got %+v, want the new job", c)
	}
}
