package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addLeaser("a step enqueues a job once, and later attempts know it", caseAStepEnqueuesAJobOnce)
	addLeaser("a step that may not enqueue its job is not recorded", caseAStepThatMayNotEnqueue)
	add("a step enqueues jobs of its own namespace, within its quota, and under no lost lease", caseAStepEnqueuesInItsNamespace)
}

// spawns saves a step that enqueues a job, and returns the job's id.
func (d *leaserBench) spawns(session string, ref job.Ref, number int, name string, n job.NewJob) int64 {
	d.Helper()
	got := d.save(session, ref, job.NewStep{Number: number, Name: name, Kind: job.StepSpawn, Job: &n})
	want(d, "stale", got.Stale, false)
	return got.Step.Child
}

func caseAStepEnqueuesAJobOnce(d *leaserBench) {
	d.task("t", attempts(2))
	d.task("child")
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	n := job.NewJob{Task: "child", Input: json.RawMessage(`{"n":1}`), Delay: core.Duration(time.Hour), Tags: []string{"of-t"}}
	child := d.spawns(s, ref, 1, "bill", n)
	j := d.wantState(child, job.Scheduled)
	want(d, "child", fmt.Sprint(j.Task, string(j.Input), j.Namespace, j.Tags, j.Trigger, j.DueAt.UTC()), fmt.Sprint("child", `{"n":1}`, "default", []string{"of-t"}, job.TriggerSpawn, Epoch.Add(time.Hour)))
	d.Move(time.Second)
	want(d, "again, after an answer that was lost", d.spawns(s, ref, 1, "bill", n), child)
	second := d.spawns(s, ref, 2, "bill again", n)
	want(d, "another step enqueues another", second != child, true)
	d.finish(s, ref, job.OutcomeError)
	want(d, "again, after the end", d.spawns(s, ref, 2, "bill again", n), second)
	d.Move(time.Minute)
	d.promote()
	ref = d.claimOne(s)
	want(d, "in the next attempt", d.steps(s, ref), fmt.Sprintf("1 spawn bill=%d, 2 spawn bill again=%d", child, second))
	d.finish(s, ref, job.OutcomeError)
	must(d.ad.RetryJobs(d.ctx, core.AnyNamespace, view.Selection{IDs: []int64{id}}))(d)
	ref = d.claimOne(s)
	want(d, "after a retry by hand", must(d.keeper().Steps(d.ctx, s, ref))(d).Steps[0].Child, child)
	d.finish(s, ref, job.OutcomeError)
	must(d.ad.ResetSteps(d.ctx, "default", id, job.StepReset{From: "bill again"}))(d)
	d.Move(time.Minute)
	d.promote()
	ref = d.claimOne(s)
	third := d.spawns(s, ref, 2, "bill again", n)
	want(d, "after a reset it enqueues another", third != child && third != second, true)
	want(d, "jobs", len(must(d.ad.Jobs(d.ctx, job.Filter{Task: "child"}))(d).Items), 3)
	d.finish(s, ref, job.OutcomeCanceled)
	d.wantState(child, job.Scheduled)
}

func caseAStepThatMayNotEnqueue(d *leaserBench) {
	d.task("t")
	d.task("child")
	d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	refused := func(code core.Code, say string, n job.NewStep) {
		d.Helper()
		n.Number, n.Name = 1, "bill"
		_, err := d.keeper().SaveStep(d.ctx, s, ref, n)
		wantCode(d, err, code, say)
	}
	spawn := func(n job.NewJob) job.NewStep { return job.NewStep{Kind: job.StepSpawn, Job: &n} }
	refused(core.NotFound, "no task", spawn(job.NewJob{Task: "none"}))
	refused(core.Invalid, "namespace", spawn(job.NewJob{Task: "child", Namespace: "other"}))
	refused(core.Invalid, "task", spawn(job.NewJob{}))
	refused(core.Invalid, "key", spawn(job.NewJob{Task: "child", Key: "k"}))
	refused(core.Invalid, "key", spawn(job.NewJob{Task: "child", ActiveKey: "k"}))
	refused(core.Invalid, "is missing", job.NewStep{Kind: job.StepSpawn})
	refused(core.Invalid, "must be left out", job.NewStep{Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}, Result: json.RawMessage(`1`)})
	refused(core.Invalid, "must be left out", job.NewStep{Kind: job.StepRun, Job: &job.NewJob{Task: "child"}})
	want(d, "recorded", d.steps(s, ref), "")
	d.finish(s, ref, job.OutcomeOK)
	want(d, "under a lease that has ended", d.save(s, ref, job.NewStep{Number: 1, Name: "bill", Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}}).Stale, true)
	d.spawnedNothing(s)
}

func (d *leaserBench) spawnedNothing(session string) {
	d.Helper()
	d.promote()
	want(d, "jobs", len(d.claim(session, 5).Jobs), 0)
}

func caseAStepEnqueuesInItsNamespace(b *bench) {
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: "team", Quota: access.Quota{Waiting: 1}}))(b)
	for _, name := range []string{"t", "child"} {
		must(b.st.CreateTask(b.ctx, task.Task{Namespace: "team", Name: name, Kind: task.KindFunc}))(b)
	}
	must(b.st.Enqueue(b.ctx, []job.NewJob{{Namespace: "team", Task: "t"}}))(b)
	s := b.session("t")
	ref := refOf(b.claim(s, 1).Jobs[0])
	spawn := func(number int) (job.SavedStep, error) {
		return b.st.SaveStep(b.ctx, s.ID, ref, job.NewStep{Number: number, Name: fmt.Sprint("s", number), Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}})
	}
	child := must(spawn(1))(b).Step.Child
	want(b, "namespace", b.job(child).Namespace, "team")
	_, err := spawn(2)
	wantCode(b, err, core.OverQuota, "quota")
	want(b, "recorded", len(must(b.st.JobSteps(b.ctx, "team", ref.JobID))(b)), 1)
	must(b.st.CancelJobs(b.ctx, "team", view.Selection{IDs: []int64{child}}))(b)
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) { // a count without room is not repeated at once
		saved, err := spawn(2)
		if core.CodeOf(err) == core.OverQuota && time.Now().Before(until) {
			continue
		}
		want(b, "number of the step when the quota has room", must(saved, err)(b).Step.Number, 2)
		return
	}
}
