package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// digestOf returns the digest of a text. The size of the text stands for that of the bytes.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// bytesOf returns the name of the bytes of a text in the default namespace.
func bytesOf(text string) string { return "default/" + digestOf(text) }

// runs makes a task a program with the bytes of a text.
func runs(text string) func(*task.Task) {
	return func(t *task.Task) {
		t.Kind, t.Program = task.KindProgram, &task.Program{SHA256: digestOf(text), Size: int64(len(text))}
	}
}

// edit replaces a task.
func (b programs) edit(name string, change ...func(*task.Task)) task.Task {
	b.Helper()
	t := task.Task{Name: name, Kind: task.KindFunc, Retry: task.Retry{Jitter: -1}}
	for _, fn := range change {
		fn(&t)
	}
	return must(b.st.UpdateTask(b.ctx, t))(b)
}

// upload uploads the bytes of a text and confirms them.
func (b programs) upload(text string) task.Artifact {
	b.Helper()
	b.artifacts.Put(digestOf(text), int64(len(text)))
	return must(b.st.ConfirmArtifact(b.ctx, "default", digestOf(text)))(b)
}

// runner opens a session that runs programs.
func (b programs) runner() job.Session {
	b.Helper()
	return must(b.st.OpenSession(b.ctx, job.WorkerInfo{
		Name: "runner", Kinds: []task.Kind{task.KindProgram, task.KindFunc}, Queues: map[string]int{"default": 10}, TTL: job.MaxSessionTTL,
		Has: task.Has{OS: "linux", Arch: "amd64", Isolation: task.IsolationGVisor, Network: true},
	}))(b)
}

func init() {
	add("an artifact is announced, confirmed, listed and deleted", caseAnArtifactIsAnnounced)
	add("a task and its artifact agree on the size", caseATaskAndItsArtifactAgreeOnTheSize)
	add("a job of a program waits for its upload, whatever asked for it, and no longer", caseAJobOfAProgramWaitsForItsUpload)
	add("jobs that waited for an upload are let in by the limits of their task, queue and namespace", caseUploadsAndLimits)
	add("jobs that wait for an upload count for the overlap, and end like others", caseJobsThatWaitForAnUploadCountForThe)
	add("an edit to an artifact that is not there makes jobs wait, and back lets them go", caseAnEditToAnArtifactThatIsNotThere)
	add("a member of a cycle waits for its upload, and the cycle goes on", caseAMemberOfACycleWaitsForItsUpload)
	add("a backfill of a program waits for its upload", caseABackfillOfAProgramWaitsForItsUpload)
	add("artifacts that nothing names are given up in time, and their bytes may go", caseArtifactsThatNothingNamesAreGivenUpInTime)
	add("bytes of one namespace are not there for another that knows their digest", caseBytesOfOneNamespaceAreNotThereForAnother)
	add("an output is not there because another namespace has its bytes", caseAnOutputIsNotThereBecauseAnotherNamespaceHas)
	add("a removal of bytes blocks references to them, and a dead one only for a time", caseARemovalOfBytesBlocksReferences)
	addNodes("an upload that is confirmed while jobs are made and their task is edited leaves none waiting", caseAnUploadThatIsConfirmedWhileJobsAreMade)
	addNodes("an artifact uploaded while bytes are collected has its bytes", caseAnUploadDuringACollectionKeepsItsBytes)
}

func caseAnArtifactIsAnnounced(b *bench) {
	a := task.Artifact{SHA256: strings.ToUpper(digestOf("one")), Size: 3}
	up := must(b.st.CreateArtifact(b.ctx, a))(b)
	if up.Link == nil || up.Link.Method != "PUT" || up.Artifact.SHA256 != digestOf("one") || !up.Artifact.PostedAt.IsZero() || !up.Artifact.CreatedAt.Equal(Epoch) {
		b.Fatalf("announced artifact: got %+v, want a PUT link and the pending artifact", up)
	}
	want(b, "another link", must(b.st.CreateArtifact(b.ctx, a))(b).Link != nil, true)
	_, err := b.st.ConfirmArtifact(b.ctx, "default", digestOf("one"))
	wantCode(b, err, core.Conflict, "not arrived")
	b.artifacts.Put(digestOf("one"), 4)
	_, err = b.st.ConfirmArtifact(b.ctx, "default", digestOf("one"))
	wantCode(b, err, core.Conflict, "4 bytes, not 3")
	b.clock.Move(time.Minute)
	posted := programs{b}.upload("one")
	want(b, "time of the upload", posted.PostedAt, Epoch.Add(time.Minute))
	b.clock.Move(time.Minute)
	want(b, "confirmed again", jsonOf(programs{b}.upload("one")), jsonOf(posted))
	want(b, "a link for what is there", must(b.st.CreateArtifact(b.ctx, a))(b).Link == nil, true)
	b.artifacts.Delete(digestOf("one"))
	want(b, "a link for what has gone", must(b.st.CreateArtifact(b.ctx, a))(b).Link != nil, true)

	_, err = b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digestOf("one"), Size: 5})
	wantCode(b, err, core.Conflict, "3 bytes, not 5")
	_, err = b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: "../" + digestOf("one")[3:], Size: 5})
	wantCode(b, err, core.Invalid, "sha256")
	_, err = b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digestOf("one"), Size: task.MaxArtifact + 1})
	wantCode(b, err, core.Invalid, "size")
	_, err = b.st.ConfirmArtifact(b.ctx, "other", digestOf("one"))
	wantCode(b, err, core.NotFound, digestOf("one"))
	_, err = b.st.Artifact(b.ctx, "other", digestOf("one"))
	wantCode(b, err, core.NotFound, digestOf("one"))

	b.task("t", runs("one"))
	want(b, "tasks", jsonOf(must(b.st.Artifact(b.ctx, "default", digestOf("one")))(b).Tasks), `["t"]`)
	for i := range 6 {
		must(b.st.CreateArtifact(b.ctx, task.Artifact{Namespace: []string{"a", "b"}[i%2], SHA256: digestOf(fmt.Sprint(i)), Size: 1}))(b)
	}
	for _, limit := range []int{1, 3, 1000} {
		want(b, "all", len(all(b, limit, func(p core.Paging) (core.Page[task.Artifact], error) {
			return b.st.Artifacts(b.ctx, view.DocumentFilter{Namespace: core.AnyNamespace, Paging: p})
		}, func(a task.Artifact) string { return a.Namespace + a.SHA256 })), 7)
	}
	want(b, "artifacts of one namespace", len(must(b.st.Artifacts(b.ctx, view.DocumentFilter{Namespace: "a"}))(b).Items), 3)
	wantCode(b, b.st.DeleteArtifact(b.ctx, "default", digestOf("one")), core.Conflict, `task "t"`)
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	ok(b, b.st.DeleteArtifact(b.ctx, "default", digestOf("one")))
	wantCode(b, b.st.DeleteArtifact(b.ctx, "default", digestOf("one")), core.NotFound)
}

func caseATaskAndItsArtifactAgreeOnTheSize(b *bench) {
	must(b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digestOf("one"), Size: 30}))(b)
	_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t", Program: &task.Program{SHA256: digestOf("one"), Size: 3}})
	wantCode(b, err, core.Conflict, "30 bytes, not 3", "announced", `task "t"`)
	b.task("other", runs("two"))
	_, err = b.st.UpdateTask(b.ctx, task.Task{Name: "other", Program: &task.Program{SHA256: digestOf("one"), Size: 3}})
	wantCode(b, err, core.Conflict, "30 bytes, not 3")
	ok(b, b.st.DeleteArtifact(b.ctx, "default", digestOf("one")))
	b.task("t", runs("one"))
}

func caseUploadsAndLimits(b *bench) {
	limit := flow.Limit{Running: 1}
	for name, set := range map[string]func(){
		"task":      func() {},
		"queue":     func() { queueLimits(b, "default", limit) },
		"namespace": func() { namespaceLimits(b, "default", limit) },
	} {
		b.task(name, runs(name), func(t *task.Task) {
			if name == "task" {
				t.Limits = []flow.Limit{limit}
			}
		})
		set()
		for range 3 {
			b.enqueue(job.NewJob{Task: name})
		}
		programs{b}.upload(name)
		b.promote()
		want(b, name+": ready", readyJobs(b), 1)
		want(b, name+": wait for the limit", b.count(`select count(*) from belfry.jobs where state = 'waiting' and reason = 'limit'`), 2)
		ok(b, b.st.DeleteTask(b.ctx, "default", name))
		queueLimits(b, "default")
		namespaceLimits(b, "default")
	}
}

func caseAJobOfAProgramWaitsForItsUpload(b *bench) {
	b.task("t", runs("one"))
	b.task("other", runs("other"))
	b.schedule("s", "t", every(time.Minute), overlap(schedule.OverlapAllow))
	now := b.enqueue(job.NewJob{Task: "t"})
	later := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)})
	stays := b.enqueue(job.NewJob{Task: "other"})
	manual := must(b.st.TriggerSchedule(b.ctx, "default", "s", job.RunNow{}))(b).Job
	b.clock.Move(time.Minute)
	want(b, "fired", b.fire().Jobs > 0, true)
	fired := b.jobsOf("s")
	waiting := []int64{now.ID, later.ID, stays.ID, manual.ID}
	for _, j := range fired {
		waiting = append(waiting, j.ID)
	}
	s := programs{b}.runner()
	for _, id := range waiting {
		b.wantState(id, job.Waiting)
	}
	b.clock.Move(10 * time.Minute)
	want(b, "due, and not promoted", b.promote(), 0)
	want(b, "claimed", len(b.claim(s, 10).Jobs), 0)
	w := must(b.st.Why(b.ctx, "default", now.ID))(b)
	if !strings.Contains(w.Summary, "waits for the upload of "+digestOf("one")) || !strings.Contains(w.Next, "program push") {
		b.Fatalf("why: got %s\n%s, want the upload and the command for it", w.Summary, w.Next)
	}
	programs{b}.upload("one")
	b.wantState(later.ID, job.Scheduled)
	b.wantState(stays.ID, job.Waiting)
	b.wantState(now.ID, job.Ready)
	got := b.claim(s, 10).Jobs
	want(b, "claimed", len(got), 1+1+len(fired)-1) // one enqueued, one triggered and the fired ones, one of which is the triggered one
	want(b, "first claimed job", got[0].Job.ID, now.ID)
	if got[0].Artifact == nil || got[0].Artifact.Method != "GET" || !strings.Contains(got[0].Artifact.URL, digestOf("one")) {
		b.Fatalf("link of the leased job: got %+v, want a GET link to the bytes of one", got[0].Artifact)
	}
	b.clock.Move(time.Hour)
	want(b, "promoted when due", b.promote(), 1)
	fresh := b.enqueue(job.NewJob{Task: "t"})
	b.wantState(fresh.ID, job.Ready)
}

func caseJobsThatWaitForAnUploadCountForThe(b *bench) {
	b.task("t", runs("one"))
	b.schedule("s", "t", every(time.Minute))
	for range 3 {
		b.clock.Move(time.Minute)
		b.fire()
	}
	jobs := b.jobsOf("s")
	want(b, "jobs", len(jobs), 1)
	b.wantState(jobs[0].ID, job.Waiting)
	skipped := 0
	for _, o := range b.occurrences("s") {
		if o.Decision == schedule.DecidedSkipped {
			skipped++
		}
	}
	want(b, "left out meanwhile", skipped >= 1, true)
	b.cancel(jobs[0].ID)
	b.wantState(jobs[0].ID, job.Canceled)
	b.retry(jobs[0].ID)
	b.wantState(jobs[0].ID, job.Waiting)
	must(b.st.PauseSchedule(b.ctx, "default", "s", "because"))(b)
	b.wantState(jobs[0].ID, job.Skipped)
	b.retry(jobs[0].ID)
	programs{b}.upload("one")
	b.wantState(jobs[0].ID, job.Ready)
	other := b.enqueue(job.NewJob{Task: "t"})
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "s"))
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	b.wantState(other.ID, job.Skipped)
}

func caseAnEditToAnArtifactThatIsNotThere(b *bench) {
	b.task("t", runs("one"), func(t *task.Task) { t.Retry.MaxAttempts = 3 })
	programs{b}.upload("one")
	s := programs{b}.runner()
	ready := b.enqueue(job.NewJob{Task: "t", Input: []byte(`1`)})
	running := b.claim(s, 1).Jobs[0]
	want(b, "running", running.Job.ID, ready.ID)
	idle := b.enqueue(job.NewJob{Task: "t"})
	later := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)})
	retries := func(t *task.Task) { t.Retry.MaxAttempts = 3 }
	programs{b}.edit("t", runs("two"), retries)
	b.wantState(idle.ID, job.Waiting)
	b.wantState(later.ID, job.Waiting)
	b.wantState(running.Job.ID, job.Running)
	// Its retry is under the new artifact, which is not uploaded: the claim detects that.
	want(b, "retried", b.finish(s, running, job.OutcomeError).State, job.Scheduled)
	b.clock.Move(time.Minute)
	want(b, "promoted", b.promote(), 1)
	b.renew(s)
	want(b, "claimed", len(b.claim(s, 5).Jobs), 0)
	j := b.wantState(running.Job.ID, job.Waiting)
	want(b, "attempts", j.Attempt, 1)
	programs{b}.edit("t", runs("one"), retries)
	for _, id := range []int64{idle.ID, running.Job.ID} {
		b.wantState(id, job.Ready)
	}
	b.wantState(later.ID, job.Scheduled)
	programs{b}.edit("t", runs("two"), retries)
	b.wantState(idle.ID, job.Waiting)
	programs{b}.edit("t") // a func
	b.wantState(idle.ID, job.Ready)
	want(b, "kind", b.job(idle.ID).Kind, task.KindFunc)
	programs{b}.edit("t", runs("three"))
	b.wantState(idle.ID, job.Waiting)
	programs{b}.edit("t", runs("two"))
	b.wantState(idle.ID, job.Waiting)
	programs{b}.upload("two")
	b.wantState(idle.ID, job.Ready)
	want(b, "runs what its task names at the claim", b.claim(s, 1).Jobs[0].Task.Program.SHA256, digestOf("two"))
}

func caseAMemberOfACycleWaitsForItsUpload(b *bench) {
	b.task("a", runs("one"))
	r := b.ring("ring", task.Member{Task: "a"}, task.Member{Task: "b"})
	j := r.run("ring")
	b.wantState(j.ID, job.Waiting)
	run := must(b.st.CycleStatus(b.ctx, "default", "ring"))(b).Run
	b.wantState(run.MemberJob, job.Waiting)
	if w := must(b.st.Why(b.ctx, "default", run.MemberJob))(b); !strings.Contains(w.Summary, "waits for the upload") {
		b.Fatalf("why of the member: got %q, want \"waits for the upload\"", w.Summary)
	}
	programs{b}.upload("one")
	b.wantState(j.ID, job.Waiting)
	s := programs{b}.runner()
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeOK)
	b.wantState(run.MemberJob, job.Succeeded)
	want(b, "next member of the cycle", must(b.st.CycleStatus(b.ctx, "default", "ring"))(b).Run.Current, "b")
}

func caseABackfillOfAProgramWaitsForItsUpload(b *bench) {
	b.task("t", runs("one"))
	b.schedule("s", "t", every(time.Hour), func(s *schedule.Schedule) { s.Start = Epoch.Add(-10 * time.Hour) })
	must(b.st.StartBackfill(b.ctx, schedule.Backfill{Schedule: "s", From: Epoch.Add(-3 * time.Hour), To: Epoch.Add(-time.Hour)}))(b)
	for must(b.st.Refill(b.ctx))(b) {
	}
	jobs := b.jobsOf("s")
	want(b, "jobs", len(jobs) > 0, true)
	for _, j := range jobs {
		want(b, "state", j.State, job.Waiting)
	}
	programs{b}.upload("one")
	want(b, "ready", b.count(`select count(*) from belfry.jobs where state = 'ready'`), int64(len(jobs)))
}

func caseArtifactsThatNothingNamesAreGivenUpInTime(b *bench) {
	for _, name := range []string{"never", "posted", "freed", "named", "waits"} {
		must(b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digestOf(name), Size: int64(len(name))}))(b)
	}
	must(b.st.CreateArtifact(b.ctx, task.Artifact{Namespace: "other", SHA256: digestOf("posted"), Size: 6}))(b)
	b.task("named", runs("named"))
	b.task("waits", runs("waits"))
	b.task("freed", runs("freed"))
	for _, name := range []string{"posted", "freed", "named"} {
		programs{b}.upload(name)
	}
	free := func(name string) bool {
		got := must(b.st.BeginRemoval(b.ctx, []string{bytesOf(name)}))(b)
		ok(b, b.st.EndRemoval(b.ctx, got))
		return len(got) == 1
	}
	prune := func() {
		for must(b.st.PruneArtifacts(b.ctx))(b) {
		}
	}
	want(b, "unknown bytes", free("nobody's"), true)
	b.clock.Move(25 * time.Hour)
	prune()
	want(b, "removal of an artifact without an upload", free("never"), true)
	want(b, "a task waits for it", free("waits"), false)
	want(b, "removal of a recent upload", free("posted"), false)
	b.clock.Move(20 * 24 * time.Hour)
	programs{b}.edit("freed")
	b.clock.Move(11 * 24 * time.Hour) // after thirty days
	prune()
	want(b, "removal of an old upload without a task", free("posted"), true)
	want(b, "let go of a while ago", free("freed"), false)
	want(b, "named", free("named"), false)
	b.clock.Move(20 * 24 * time.Hour)
	prune()
	want(b, "let go of long ago", free("freed"), true)
	want(b, "in use", jsonOf(must(b.st.ArtifactsInUse(b.ctx, []string{bytesOf("named"), bytesOf("freed")}))(b)), jsonOf([]string{bytesOf("named")}))
	want(b, "left", len(must(b.st.Artifacts(b.ctx, view.DocumentFilter{Namespace: "*"}))(b).Items), 2)
}

func caseBytesOfOneNamespaceAreNotThereForAnother(b *bench) {
	mine := task.Artifact{SHA256: digestOf("one"), Size: 3}
	theirs := task.Artifact{Namespace: "other", SHA256: mine.SHA256, Size: 3}
	must(b.st.CreateArtifact(b.ctx, mine))(b)
	programs{b}.upload("one")
	unknown := task.Artifact{Namespace: "other", SHA256: digestOf("two"), Size: 3}
	for _, a := range []task.Artifact{theirs, unknown} { // both get the same answer
		up := must(b.st.CreateArtifact(b.ctx, a))(b)
		if up.Link == nil || up.Link.URL != "/artifacts/other/"+a.SHA256 {
			b.Fatalf("link of the announcement: got %+v, want a link in namespace other", up.Link)
		}
		_, err := b.st.ConfirmArtifact(b.ctx, "other", a.SHA256)
		wantCode(b, err, core.Conflict, "not arrived")
	}
	b.artifacts.Put("other/"+theirs.SHA256, 3)
	want(b, "confirmed", must(b.st.ConfirmArtifact(b.ctx, "other", theirs.SHA256))(b).PostedAt.IsZero(), false)

	ok(b, b.st.DeleteArtifact(b.ctx, "default", mine.SHA256))
	want(b, "artifacts to be removed", jsonOf(must(b.st.BeginRemoval(b.ctx, []string{bytesOf("one"), "other/" + mine.SHA256}))(b)), jsonOf([]string{bytesOf("one")}))
}

func caseAnOutputIsNotThereBecauseAnotherNamespaceHas(b *bench) {
	s, ref := programs{b}.boxed(task.Limits{})
	o := output("stolen", "a", 40)
	b.artifacts.Put("other/"+o.SHA256, o.Size)
	link := must(b.st.DeclareOutput(b.ctx, s.ID, ref, o))(b)
	if link == nil || link.URL != "/artifacts/default/"+o.SHA256 {
		b.Fatalf("link of the output: got %+v, want a link in namespace default", link)
	}
	must(b.st.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK, Sandboxed: &task.Sandboxed{Outputs: []task.Output{o}}}}))(b)
	want(b, "files", len(must(b.st.Outputs(b.ctx, "default", ref.JobID))(b)), 0)
	_, err := b.st.OutputLink(b.ctx, "default", ref.JobID, o.Name, 0)
	wantCode(b, err, core.NotFound)
}

func caseARemovalOfBytesBlocksReferences(b *bench) {
	one, digest := []string{bytesOf("one")}, digestOf("one")
	b.artifacts.Put(digest, 3)
	want(b, "artifacts to be removed", len(must(b.st.BeginRemoval(b.ctx, one))(b)), 1)
	want(b, "by one at a time", len(must(b.st.BeginRemoval(b.ctx, one))(b)), 0)
	must(b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digest, Size: 3}))(b)
	_, err := b.st.ConfirmArtifact(b.ctx, "default", digest)
	wantCode(b, err, core.Unavailable, "being removed")
	b.clock.Move(11 * time.Minute)
	want(b, "in use", len(must(b.st.BeginRemoval(b.ctx, one))(b)), 0)
	want(b, "upload time of an artifact that is used again", must(b.st.ConfirmArtifact(b.ctx, "default", digest))(b).PostedAt, b.clock.Now())
	ok(b, b.st.DeleteArtifact(b.ctx, "default", digest))
	want(b, "taken over", len(must(b.st.BeginRemoval(b.ctx, one))(b)), 1)
	ok(b, b.st.EndRemoval(b.ctx, one))
	b.task("t", runs("one"))
	programs{b}.upload("one")
}

func caseAnUploadThatIsConfirmedWhileJobsAreMade(b *bench, nodes []*store.Store) {
	for round := range 5 {
		name := fmt.Sprint("t", round)
		b.task(name, runs(name))
		other := name + " other"
		b.artifacts.Put(digestOf(name), int64(len(name)))
		b.artifacts.Put(digestOf(other), int64(len(other)))
		must(b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: digestOf(other), Size: int64(len(other))}))(b)
		b.crowd(nodes, 4, func(ctx context.Context, st *store.Store, i int) error {
			switch i {
			case 0:
				_, err := st.ConfirmArtifact(ctx, "default", digestOf(name))
				return err
			case 1:
				_, err := st.ConfirmArtifact(ctx, "default", digestOf(other))
				return err
			case 2:
				t := task.Task{Name: name}
				runs(other)(&t)
				_, err := st.UpdateTask(ctx, t)
				return err
			default:
				_, err := st.Enqueue(ctx, []job.NewJob{{Task: name}, {Task: name}})
				return err
			}
		})
		want(b, "waiting jobs", b.count(`select count(*) from belfry.jobs where state = 'waiting'`), 0)
	}
}

func caseAnUploadDuringACollectionKeepsItsBytes(b *bench, nodes []*store.Store) {
	for round := range 20 {
		text := fmt.Sprint("bytes ", round)
		digest, size := digestOf(text), int64(len(text))
		b.artifacts.Put(digest, size)
		errs := make([]error, 2*len(nodes))
		together(2*len(nodes), func(i int) {
			st := nodes[i/2]
			if i%2 == 0 {
				free, err := st.BeginRemoval(b.ctx, []string{bytesOf(text)})
				for _, d := range free {
					b.artifacts.Delete(d)
				}
				if errs[i] = err; err == nil {
					errs[i] = st.EndRemoval(b.ctx, free)
				}
				return
			}
			if _, err := st.CreateArtifact(b.ctx, task.Artifact{SHA256: digest, Size: size}); err != nil {
				errs[i] = err
				return
			}
			_, err := st.ConfirmArtifact(b.ctx, "default", digest)
			if code := core.CodeOf(err); code == core.Unavailable || code == core.Conflict { // being removed or deleted: its bytes have to be uploaded again
				err = nil
			}
			errs[i] = err
		})
		for _, err := range errs {
			ok(b, err)
		}
		there := must(b.artifacts.Has(b.ctx, digest, size))(b)
		if a := must(b.st.Artifact(b.ctx, "default", digest))(b); !a.PostedAt.IsZero() && !there {
			b.Fatalf("round %d: the artifact is uploaded, but its bytes were collected", round)
		}
	}
}
