package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a page of cycles is bounded by bytes, and has a cursor for the rest", caseAPageOfCyclesIsBoundedByBytes)
	add("a claim leases no more jobs than the inputs of which have room, and loses none", caseAClaimIsBoundedByBytes)
	add("a claim of many queues is bounded by the bytes of inputs, and brings the rest later", caseAClaimOfManyQueuesIsBoundedByBytes)
	add("a claim with tickets is bounded by the bytes of inputs, and voids none of the others", caseAClaimWithTicketsIsBoundedByBytes)
	add("due jobs under limits are admitted in parts whose inputs have room, in their order", caseDueJobsUnderLimitsAreAdmittedInParts)
	add("a plan that would read too much is refused", caseAPlanThatWouldReadTooMuchIsRefused)
}

// bulky is an input of nearly the largest size.
var bulky = json.RawMessage(`"` + strings.Repeat("x", core.MaxInput-2) + `"`)

// enqueueBulky enqueues n jobs with bulky inputs, in parts that a machine under load also sends within the few seconds that
// PostgreSQL waits for the next statement of a write.
func enqueueBulky(b *bench, n int, j job.NewJob) {
	b.Helper()
	j.Input = bulky
	for part := range slices.Chunk(slices.Repeat([]job.NewJob{j}, n), 8) {
		must(b.st.Enqueue(b.ctx, part))(b)
	}
}

func caseAPageOfCyclesIsBoundedByBytes(b *bench) {
	b.task("t")
	for i := range base.MaxPage/len(bulky) + 8 {
		must(b.st.CreateTask(b.ctx, task.Task{Name: fmt.Sprintf("c%02d", i), Input: bulky, Cycle: &task.Cycle{Members: []task.Member{{Task: "t"}}}}))(b)
	}
	f := view.DocumentFilter{Paging: core.Paging{Limit: 100}}
	var names []string
	for pages := 0; ; pages++ {
		p := must(b.st.Cycles(b.ctx, f))(b)
		for _, c := range p.Items {
			names = append(names, c.Task.Name)
		}
		if p.Next == "" {
			want(b, "further pages", pages, 1)
			break
		}
		f.Cursor = p.Next
	}
	want(b, "cycles", len(names), base.MaxPage/len(bulky)+8)
	want(b, "last", names[len(names)-1], fmt.Sprintf("c%02d", len(names)-1))
}

func caseAClaimIsBoundedByBytes(b *bench) {
	b.task("t")
	s := b.session("t")
	fit := base.MaxPage / len(bulky)
	large, small := 2*fit+fit/2, 3*fit
	enqueueBulky(b, large, job.NewJob{Task: "t"})
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t", Input: json.RawMessage(`"y"`)}}, small)))(b)
	seen, last := map[int64]bool{}, int64(0)
	for round := 0; len(seen) < large+small; round++ {
		c := b.claim(s, large+small)
		size := 0
		for _, j := range c.Jobs {
			size += len(j.Job.Input)
			if len(j.Job.Input) == 0 || (len(j.Job.Input) == len(bulky)) != (len(seen) < large) || seen[j.Job.ID] || j.Job.ID <= last {
				b.Fatalf("job %d after %d: %d bytes of input", j.Job.ID, last, len(j.Job.Input))
			}
			seen[j.Job.ID], last = true, j.Job.ID
			want(b, "outcome", b.finish(s, j, job.OutcomeOK).Stale, false)
		}
		if size > base.MaxPage || len(c.Jobs) == 0 {
			b.Fatalf("claim %d brought %d jobs with %d bytes", round, len(c.Jobs), size)
		}
	}
	want(b, "left", len(b.claim(s, large+small).Jobs), 0)
}

func caseAClaimOfManyQueuesIsBoundedByBytes(b *bench) {
	const of = base.MaxPage/core.MaxInput + 1 // jobs of each queue
	queues := map[string]int{}
	for i := range 6 {
		name := fmt.Sprintf("q%d", i)
		must(b.st.SaveQueue(b.ctx, job.Queue{Name: name}))(b)
		queues[name] = 100
		b.task(name, func(t *task.Task) { t.Queue = name })
		enqueueBulky(b, of, job.NewJob{Task: name})
	}
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "many", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"q0", "q1", "q2", "q3", "q4", "q5"}, Queues: queues,
	}))(b)
	seen := map[int64]bool{}
	for len(seen) < of*len(queues) {
		c := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: queues}))(b)
		size := 0
		for _, j := range c.Jobs {
			size += len(j.Job.Input)
			seen[j.Job.ID] = true
			want(b, "outcome", b.finish(s, j, job.OutcomeOK).Stale, false)
		}
		if len(c.Jobs) == 0 || size > 2*base.MaxPage {
			b.Fatalf("after %d jobs a claim brought %d with %d bytes", len(seen), len(c.Jobs), size)
		}
	}
}

func caseAClaimWithTicketsIsBoundedByBytes(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "full", GlobalLimit: 1}))(b)
	b.task("t")
	b.task("u", func(t *task.Task) { t.Queue = "full" })
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t", "u"}, Queues: map[string]int{"default": 100, "full": 100},
	}))(b)
	const n = job.MaxTickets - 20
	enqueueBulky(b, n, job.NewJob{Task: "t"})
	enqueueBulky(b, 20, job.NewJob{Task: "u", Priority: new(9)}) // they do not take the room of others
	ts := append(must(b.st.MakeTickets(b.ctx, "default", n))(b), must(b.st.MakeTickets(b.ctx, "full", 20))(b)...)
	want(b, "tickets", len(ts), n+20)
	want(b, "jobs of the full queue", len(must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Tickets: ts[n : n+1], Want: map[string]int{"full": 1}}))(b).Jobs), 1)
	ts = slices.Delete(ts, n, n+1)
	for left := n; left > 0; {
		c := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Tickets: ts, Want: map[string]int{"default": n, "full": 20}}))(b)
		size := 0
		for _, j := range c.Jobs {
			size += len(j.Job.Input)
			want(b, "input", len(j.Job.Input), len(bulky))
			want(b, "outcome", b.finish(s, j, job.OutcomeOK).Stale, false)
			ts = slices.DeleteFunc(ts, func(t job.Ticket) bool { return t.JobID == j.Job.ID })
		}
		want(b, "void tickets", len(c.VoidTickets), 0)
		if left -= len(c.Jobs); len(c.Jobs) == 0 || size > base.MaxPage {
			b.Fatalf("with %d jobs left a claim brought %d with %d bytes", left, len(c.Jobs), size)
		}
	}
}

func caseDueJobsUnderLimitsAreAdmittedInParts(b *bench) {
	b.task("t", limited(flow.Limit{Key: "input.customer", Running: 1000}))
	fit := base.MaxPage/len(bulky) + 1
	n := 2*fit + 2
	enqueueBulky(b, n, job.NewJob{Task: "t", Delay: core.Duration(time.Minute)})
	b.clock.Move(2 * time.Minute)
	ready := int64(0)
	for passes := 1; ready < int64(n); passes++ {
		b.promote()
		more := b.count(`select count(*) from belfry.jobs where state = 'ready'`)
		if more == ready || more-ready > int64(fit) {
			b.Fatalf("pass %d made %d jobs ready, after %d", passes, more-ready, ready)
		}
		ready = more
		want(b, "first ones", b.count(`select count(*) from (select id from belfry.jobs where state = 'ready' order by id limit $1) as r where id <= (select min(id) from belfry.jobs) + $1 - 1`, ready), ready)
	}
}

// caseAPlanThatWouldReadTooMuchIsRefused names many large stored tasks in a small manifest.
func caseAPlanThatWouldReadTooMuchIsRefused(b *bench) {
	if _, err := b.st.CreateTask(b.ctx, task.Task{Name: "t000", Kind: task.KindFunc, Input: bulky}); err != nil {
		b.Fatal(err)
	}
	var m view.Manifest
	for i := range 64<<20/len(bulky) + 8 {
		m.Tasks = append(m.Tasks, task.Task{Name: fmt.Sprintf("t%03d", i)})
	}
	b.sql(`
		insert into belfry.tasks (id, namespace, name, kind, queue, generation, doc, created_at, updated_at)
		select id + 1000 + n.v, namespace, substr(cast(1000 + n.v as text), 2) , kind, queue, generation, doc, created_at, updated_at
		from belfry.tasks, (` + numbers(len(m.Tasks)-1) + `) as n
		where name = 't000'`)
	b.sql(`update belfry.tasks set name = 't' || name where name <> 't000'`)
	_, err := b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true})
	wantCode(b, err, core.TooLarge, "the stored definitions that the manifest names have more than 65", "apply it in parts")
	m.Tasks = m.Tasks[:100]
	want(b, "a part", len(must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b).Changes), 100)
}

// numbers is a query of the numbers from 1 to n.
func numbers(n int) string {
	return fmt.Sprintf(`with recursive c(v) as (select 1 union all select v + 1 from c where v < %d) select v from c`, n)
}
