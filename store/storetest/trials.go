package storetest

import (
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a definition is tried as a job without being saved, once for a key, and is forgotten after a day", caseADefinitionIsTriedAsAJobWithout)
	add("a trial is refused whose definition could not be saved or cannot run by itself", caseATrialIsRefusedWhoseDefinition)
	add("a trial has the secrets of the task that it edits, while it asks the same host", caseATrialHasTheSecretsOfTheTask)
	add("a schedule with the name of a trial is in all lists", caseASchedulesNameOfATrial)
}

func shellWorker(b *bench, kinds ...task.Kind) job.Session {
	return must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: kinds, Queues: map[string]int{"default": 10}}))(b)
}

func caseADefinitionIsTriedAsAJobWithout(b *bench) {
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: "default", Quota: access.Quota{Definitions: 1}}))(b)
	b.task("backup")
	edit := task.Task{Name: "backup", Command: &task.Command{Shell: "echo edited"}, Retry: task.Retry{MaxAttempts: 5}, Throttle: &flow.Throttle{Window: core.Duration(time.Hour)},
		Limits: []flow.Limit{{Running: 1}}}
	first := must(b.st.TryTask(b.ctx, job.TaskTrial{Task: edit, Key: "one"}))(b)
	again := must(b.st.TryTask(b.ctx, job.TaskTrial{Task: edit, Key: "one"}))(b)
	want(b, "repeated trial", fmt.Sprint(again.Existing, again.Job.ID == first.Job.ID, first.Existing), "true true false")
	other := edit
	other.Command = &task.Command{Shell: "echo other"}
	_, err := b.st.TryTask(b.ctx, job.TaskTrial{Task: other, Key: "one"})
	wantCode(b, err, core.Conflict, "another definition")
	second := must(b.st.TryTask(b.ctx, job.TaskTrial{Task: other}))(b)

	j := b.job(first.Job.ID)
	want(b, "the job", fmt.Sprint(j.Trigger, j.State, j.MaxAttempts, j.Kind), fmt.Sprint(job.TriggerTrial, job.Ready, 1, task.KindCommand))
	want(b, "found by its trigger", len(must(b.st.Jobs(b.ctx, job.Filter{Trigger: job.TriggerTrial}))(b).Items), 2)
	want(b, "tasks that are listed", len(must(b.st.Tasks(b.ctx, task.Filter{}))(b).Items), 1)
	want(b, "tasks that are exported", len(must(b.st.Export(b.ctx, "default"))(b).Tasks), 1)
	want(b, "the saved one", must(b.st.Task(b.ctx, "default", "backup"))(b).Kind, task.KindFunc)
	s := shellWorker(b, task.KindCommand)
	c := b.claim(s, 5)
	want(b, "claimed beside each other, whatever the limits of the task", len(c.Jobs), 2)
	for _, l := range c.Jobs {
		wants := map[int64]string{first.Job.ID: "echo edited", second.Job.ID: "echo other"}[l.Job.ID]
		want(b, "definition of the trial", l.Task.Command.Shell+" "+l.Task.Title, wants+" Trial of backup")
		want(b, "state of the failed trial", b.finish(s, l, job.OutcomeError).State, job.Failed)
	}
	o := must(b.st.Overview(b.ctx, "default"))(b)
	want(b, "failures that need attention", len(o.Failing), 0)
	want(b, "notifications", b.count(`select count(*) from belfry.alerts`), 0)
	want(b, "dead jobs", len(must(b.st.Jobs(b.ctx, job.Filter{States: []job.State{job.Failed}}))(b).Items), 0)
	want(b, "retried together", len(must(b.st.RetryJobs(b.ctx, "default", view.Selection{Filter: &job.Filter{}}))(b).IDs), 0)
	_, err = b.st.RunJobAgain(b.ctx, "default", first.Job.ID, job.RunAgain{})
	wantCode(b, err, core.Conflict, "trial")

	b.clock.Move(25 * time.Hour)
	waits := must(b.st.TryTask(b.ctx, job.TaskTrial{Task: edit}))(b)
	want(b, "hidden tasks", b.count(`select count(*) from belfry.tasks where substr(name, 7, 7) = '.trial.'`), 1)
	want(b, "state of the ended trial", b.job(first.Job.ID).State, job.Failed)
	for range 101 {
		b.clock.Move(time.Second)
		must(b.st.TryTask(b.ctx, job.TaskTrial{Task: edit}))(b)
	}
	want(b, "hidden tasks", b.count(`select count(*) from belfry.tasks where substr(name, 7, 7) = '.trial.'`), 100)
	b.wantState(waits.Job.ID, job.Skipped)
	for _, held := range []string{"default", "other"} { // trials without a follower are removed by themselves
		must(b.st.TryTask(b.ctx, job.TaskTrial{Task: task.Task{Namespace: held, Command: &task.Command{Shell: "true"}}}))(b)
	}
	b.clock.Move(25 * time.Hour)
	for range 3 {
		must(b.st.Prune(b.ctx))(b)
	}
	want(b, "hidden tasks a day later", b.count(`select count(*) from belfry.tasks where substr(name, 7, 7) = '.trial.'`), 0)
	want(b, "namespace of the trial", must(b.st.TryTask(b.ctx, job.TaskTrial{Task: task.Task{Namespace: "other", Command: &task.Command{Shell: "true"}}}))(b).Job.Namespace, "other")
}

func caseATrialIsRefusedWhoseDefinition(b *bench) {
	for field, t := range map[string]job.TaskTrial{
		"task.command":    {Task: task.Task{Command: &task.Command{}}},
		"task.kind":       {Task: task.Task{Name: "handler", Kind: task.KindFunc}},
		"cannot be tried": {Task: task.Task{Cycle: &task.Cycle{Members: []task.Member{{Task: "x"}}}}},
		"key":             {Task: task.Task{Command: &task.Command{Shell: "true"}}, Key: "no name"},
		"task.name":       {Task: task.Task{Name: "no name", Command: &task.Command{Shell: "true"}}},
		"queue":           {Task: task.Task{Command: &task.Command{Shell: "true"}, Queue: "nobodys"}},
		"is reserved":     {Task: task.Task{Command: &task.Command{Shell: "true"}, Queue: task.ChecksQueue}},
	} {
		_, err := b.st.TryTask(b.ctx, t)
		wantCode(b, err, core.Invalid, field)
	}
	_, err := b.st.CreateTask(b.ctx, task.Task{Name: task.TrialPrefix + "x"})
	wantCode(b, err, core.Invalid, "reserved")
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: task.TrialPrefix + "x", Kind: task.KindFunc}})
	wantCode(b, err, core.NotFound, "no task")
	_, err = b.st.CreateSchedule(b.ctx, schedule.Schedule{Name: "s", Task: task.TrialPrefix + "x", Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}})
	wantCode(b, err, core.Invalid, "task")
	_, err = b.st.CreateTask(b.ctx, task.Task{Name: "c", Cycle: &task.Cycle{Members: []task.Member{{Task: task.TrialPrefix + "x"}}}})
	wantCode(b, err, core.Invalid, "task")
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 0)
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseATrialHasTheSecretsOfTheTask(b *bench) {
	ask := func(url, bearer string) task.Task {
		return task.Task{Name: "call", HTTP: &task.HTTP{URL: url, Auth: &task.HTTPAuth{Bearer: core.Secret(bearer)}}}
	}
	must(b.st.CreateTask(b.ctx, ask("https://a.example/x", "s3cret")))(b)
	e := must(b.st.TryTask(b.ctx, job.TaskTrial{Task: ask("https://a.example/y", string(core.Redacted))}))(b)
	c := b.claim(shellWorker(b, task.KindHTTP), 1)
	want(b, "claimed", c.Jobs[0].Job.ID, e.Job.ID)
	want(b, "secret", string(c.Jobs[0].Task.HTTP.Auth.Bearer), "s3cret")
	want(b, "shown", string(must(b.st.Task(b.ctx, "default", e.Job.Task))(b).HTTP.Auth.Bearer), string(core.Redacted))
	_, err := b.st.TryTask(b.ctx, job.TaskTrial{Task: ask("https://b.example/", string(core.Redacted))})
	wantCode(b, err, core.Invalid, "stands for a secret")
}

func caseASchedulesNameOfATrial(b *bench) {
	b.task("t")
	sc := b.schedule(task.TrialPrefix+"x", "t", every(time.Hour))
	want(b, "schedules", len(must(b.st.Schedules(b.ctx, schedule.Filter{Namespace: "*"}))(b).Items), 1)
	want(b, "next runs in the overview", len(must(b.st.Overview(b.ctx, "default"))(b).Next), 1)
	ahead := must(b.st.Upcoming(b.ctx, schedule.Ahead{Namespace: "*", From: b.clock.Now(), Within: 2 * time.Hour}))(b)
	want(b, "upcoming", len(ahead) > 0 && ahead[0].Schedule == sc.Name, true)
}
