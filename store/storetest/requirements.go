package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func requires(labels map[string]string) func(*task.Task) {
	return func(t *task.Task) { t.Requirements.Labels = labels }
}

// machine opens a session of a worker whose machine has the given capabilities.
func (d *leaserBench) machine(has task.Has, funcs ...string) string {
	d.Helper()
	return d.open(job.WorkerInfo{Kinds: []task.Kind{task.KindFunc, task.KindProgram}, Funcs: funcs, Queues: map[string]int{"default": 10}, Has: has})
}

// program returns a task with an artifact and no requirement but the given isolation.
func program(name string, isolation task.Isolation) task.Task {
	return task.Task{Name: name, Kind: task.KindProgram, Retry: task.Retry{Jitter: -1},
		Program: &task.Program{SHA256: strings.Repeat("ab", 32), Size: 1, MinIsolation: isolation}}
}

func init() {
	addLeaser("a worker gets the jobs of tasks whose requirements it meets, and no others", caseAWorkerGetsTheJobsOfTasksWhoseRequirements)
	add("a program goes to a machine of its make that keeps it apart as strongly as it wants", caseAProgramGoesToAMachineOfItsMake)
	add("job why of a program that ended says what its worker noted, such as that its files cannot be sent", caseAProgramWhoseFilesAreNotSentSaysSo)
	add("a program goes to a machine with memory and processors for it, and job why says what the others lack", caseAProgramGoesToAMachineWithMemoryAnd)
	add("a requirement follows its task until a job starts, and again when it is put back", caseARequirementFollowsItsTaskUntilAJobStarts)
	add("a requirement that no worker met is met by a later worker, on schedules and retries too", caseARequirementThatNobodyMetIsMetByWho)
	add("a requirement that was taken back leaves its number to another and no trace", caseARequirementThatWasTakenBackLeavesItsNumber)
	add("a requirement that nothing needs any more goes after a day, and one that is needed again does not", caseARequirementThatNothingNeedsAnyMoreGoesAfter)
	add("a requirement that came in the place of one that went is met", caseARequirementThatCameInThePlaceOfOne)
}

func caseAWorkerGetsTheJobsOfTasksWhoseRequirements(d *leaserBench) {
	gpu := map[string]string{"gpu": "true"}
	d.task("plain")
	d.task("heavy", requires(gpu))
	d.task("heavier", requires(map[string]string{"gpu": "true", "disk": "fast"}))
	ids := d.enqueue(job.NewJob{Task: "heavier"}, job.NewJob{Task: "heavy"}, job.NewJob{Task: "plain"})
	funcs := []string{"plain", "heavy", "heavier"}
	wantJobs(d, "of a machine without anything", d.claim(d.machine(task.Has{}, funcs...), 10), ids[2])
	wantJobs(d, "of one with a label of another value", d.claim(d.machine(task.Has{Labels: map[string]string{"gpu": "false"}}, funcs...), 10))
	wantJobs(d, "of one with the label", d.claim(d.machine(task.Has{Labels: gpu}, funcs...), 10), ids[1])
	wantJobs(d, "of one that has it all", d.claim(d.machine(task.Has{Labels: map[string]string{"gpu": "true", "disk": "fast", "rack": "7"}}, funcs...), 10), ids[0])
}

func caseAProgramGoesToAMachineOfItsMake(b *bench) {
	programs{b}.readyProgram(program("boxed", task.IsolationConfined))
	b.enqueue(job.NewJob{Task: "boxed"})
	for i, has := range []task.Has{{}, {Arch: "amd64"}, {Arch: "amd64", Isolation: task.IsolationUser},
		{Arch: "arm64", Isolation: task.IsolationGVisor}, {Arch: "amd64", Isolation: task.IsolationNamespaces}} {
		s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}, Has: has}))(b)
		fits := 0
		if i == 4 {
			fits = 1
		}
		want(b, fmt.Sprintf("jobs for %+v", has), len(b.claim(s, 1).Jobs), fits)
	}
}

func caseAProgramWhoseFilesAreNotSentSaysSo(b *bench) {
	programs{b}.readyProgram(program("boxed", task.IsolationConfined))
	id := b.enqueue(job.NewJob{Task: "boxed"}).ID
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationNamespaces}}))(b)
	ref := refOf(b.claim(s, 1).Jobs[0])
	const full = "belfry: output: there is no space left for artifacts; trying again for 10m at most"
	ok(b, b.st.Append(b.ctx, s.ID, []job.LogPiece{
		{Ref: ref, Seq: 0, Stream: job.Log, At: Epoch, Text: "belfry: it begins\n" + full + "\n"},
		{Ref: ref, Seq: 1, Stream: job.Stdout, At: Epoch, Text: "of the program"},
	}))
	if why := must(b.st.Why(b.ctx, "default", id))(b); !strings.HasSuffix(why.Summary, "Its worker noted last: "+full) {
		b.Errorf("why: got %q, want the note of the worker", why.Summary)
	}
}

func caseAProgramGoesToAMachineWithMemoryAnd(b *bench) {
	large := program("large", task.IsolationNone)
	large.Program.Limits = task.Limits{Memory: 8 << 30, CPU: 4}
	programs{b}.readyProgram(large)
	id := b.enqueue(job.NewJob{Task: "large"}).ID
	has := task.Has{Arch: "amd64", Isolation: task.IsolationNamespaces}
	for i, size := range []struct {
		memory int64
		cpu    float64
	}{{4 << 30, 8}, {16 << 30, 2}, {8 << 30, 4}} {
		has.Memory, has.CPU = size.memory, size.cpu
		s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: fmt.Sprint("w", i), Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}, Has: has}))(b)
		want(b, fmt.Sprintf("jobs for %+v", size), len(b.claim(s, 1).Jobs), i/2)
		if why := must(b.st.Why(b.ctx, "default", id))(b); i == 0 && !strings.Contains(why.Summary, "Waiting: no worker has memory of 8 GiB for a program (0 of 1; w0 lacks memory of 8 GiB for a program (it offers 4 GiB))") {
			b.Errorf("why: got %q, want the lacking memory", why.Summary)
		}
	}
}

func caseARequirementFollowsItsTaskUntilAJobStarts(b *bench) {
	b.task("t")
	waits, runs := b.enqueue(job.NewJob{Task: "t"}), b.enqueue(job.NewJob{Task: "t", Priority: new(int)})
	plain := b.session("t")
	held := b.claim(plain, 1).Jobs
	want(b, "job that runs", held[0].Job.ID, waits.ID)
	t := must(b.st.Task(b.ctx, "default", "t"))(b)
	t.Requirements.Labels = map[string]string{"gpu": "true"}
	must(b.st.UpdateTask(b.ctx, t))(b)
	want(b, "jobs for a plain worker", len(b.claim(plain, 10).Jobs), 0)
	must(b.st.Finish(b.ctx, plain.ID, []job.Finish{{Ref: refOf(held[0]), Outcome: job.OutcomeHandedBack}}))(b)
	want(b, "jobs for a plain worker after one was handed back", len(b.claim(plain, 10).Jobs), 0)
	why := must(b.st.Why(b.ctx, "default", runs.ID))(b)
	if !strings.Contains(why.Summary, "Waiting: no worker has label gpu=true (0 of 1; tester lacks label gpu=true)") {
		b.Errorf("why: got %q, want the lacking label", why.Summary)
	}
	gpu := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "gpu", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
		Queues: map[string]int{"default": 10}, Has: task.Has{Labels: t.Requirements.Labels}}))(b)
	want(b, "jobs for a fitting worker", len(b.claim(gpu, 10).Jobs), 2)
}

func caseARequirementThatNobodyMetIsMetByWho(b *bench) {
	b.task("t", requires(map[string]string{"gpu": "true"}), func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.schedule("s", "t", every(time.Minute))
	b.clock.Move(time.Minute)
	must(b.st.FireDue(b.ctx))(b)
	want(b, "jobs for a plain worker", len(b.claim(b.session("t"), 10).Jobs), 0)
	gpu := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "gpu", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
		Queues: map[string]int{"default": 10}, Has: task.Has{Labels: map[string]string{"gpu": "true"}}}))(b)
	held := b.claim(gpu, 10).Jobs
	if len(held) == 0 {
		b.Fatal("claimed jobs: the job of the schedule is missing")
	}
	var fs []job.Finish
	for _, j := range held {
		fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeError})
	}
	must(b.st.Finish(b.ctx, gpu.ID, fs))(b)
	must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{held[0].Job.ID}}))(b)
	want(b, "retried jobs for a plain worker", len(b.claim(b.session("t"), 10).Jobs), 0)
	want(b, "retried jobs for a fitting one", len(b.claim(gpu, 10).Jobs), 1)
}

func caseARequirementThatWasTakenBackLeavesItsNumber(b *bench) {
	m := view.Manifest{Tasks: []task.Task{{Name: "never", Requirements: task.Requirements{Labels: map[string]string{"a": "1"}}}}}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b)
	b.task("t", requires(map[string]string{"b": "2"}))
	b.enqueue(job.NewJob{Task: "t"})
	for i, has := range []map[string]string{{"a": "1"}, {"b": "2"}} {
		s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: fmt.Sprint("w", i), Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
			Queues: map[string]int{"default": 10}, Has: task.Has{Labels: has}}))(b)
		want(b, fmt.Sprint("jobs for ", has), len(b.claim(s, 10).Jobs), i)
	}
}

func caseARequirementThatNothingNeedsAnyMoreGoesAfter(b *bench) {
	label := func(v string) map[string]string { return map[string]string{"kind": v} }
	for _, name := range []string{"kept", "left", "queued", "back"} {
		b.task(name, requires(label(name)))
	}
	b.enqueue(job.NewJob{Task: "queued"})
	edit := func(name string, labels map[string]string) {
		b.Helper()
		t := must(b.st.Task(b.ctx, "default", name))(b)
		t.Requirements.Labels = labels
		must(b.st.UpdateTask(b.ctx, t))(b)
	}
	prune := func(after time.Duration, left int64) {
		b.Helper()
		b.clock.Move(after)
		must(b.st.Prune(b.ctx))(b)
		want(b, "requirements", b.count(`select count(*) from belfry.requirements`), left)
	}
	prune(0, 4)
	edit("left", nil)
	edit("back", nil)
	prune(time.Minute, 4)
	prune(23*time.Hour, 4)
	edit("back", label("back")) // by its old number
	prune(2*time.Hour, 3)
	ok(b, b.st.DeleteTask(b.ctx, "default", "queued"))
	prune(25*time.Hour, 3)
	prune(25*time.Hour, 2)
	b.again() // a new store has nothing cached
	edit("left", label("left"))
	ids := []int64{b.enqueue(job.NewJob{Task: "left"}).ID, b.enqueue(job.NewJob{Task: "back"}).ID}
	for i, name := range []string{"left", "back"} {
		s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: name, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"left", "back"},
			Queues: map[string]int{"default": 10}, Has: task.Has{Labels: label(name)}}))(b)
		wantJobs(b, "of "+name, b.claim(s, 10), ids[i])
	}
}

func caseARequirementThatCameInThePlaceOfOne(b *bench) {
	b.task("t", requires(map[string]string{"a": "1"}))
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"},
		Queues: map[string]int{"default": 10}, Has: task.Has{Labels: map[string]string{"a": "1", "b": "2"}}}))(b)
	b.enqueue(job.NewJob{Task: "t"})
	for _, j := range b.claim(s, 10).Jobs {
		b.finish(s, j, job.OutcomeOK)
	}
	t := must(b.st.Task(b.ctx, "default", "t"))(b)
	t.Requirements.Labels = map[string]string{"b": "2"}
	must(b.st.UpdateTask(b.ctx, t))(b)
	for range 2 {
		b.clock.Move(25 * time.Hour)
		must(b.st.Prune(b.ctx))(b)
	}
	want(b, "requirements", b.count(`select count(*) from belfry.requirements`), 1)
	b.enqueue(job.NewJob{Task: "t"})
	want(b, "jobs", len(b.claim(s, 10).Jobs), 1)
}

// wantJobs fails unless a claim returned exactly these jobs, in this order.
func wantJobs(t failer, whose string, c job.Claim, ids ...int64) {
	t.Helper()
	got := []int64{}
	for _, j := range c.Jobs {
		got = append(got, j.Job.ID)
	}
	want(t, "jobs "+whose, fmt.Sprint(got), fmt.Sprint(append([]int64{}, ids...)))
}
