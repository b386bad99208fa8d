package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// manifests is a bench that applies definitions.
type manifests struct{ *bench }

// apply applies a manifest and returns the plan as text.
func (b manifests) apply(m view.Manifest, o view.ApplyOptions) string {
	b.Helper()
	dry := o
	dry.DryRun, dry.CompareSecrets = true, true
	planned := must(b.st.Apply(b.ctx, m, dry))(b)
	got := must(b.st.Apply(b.ctx, m, o))(b)
	want(b, "dry run", got.DryRun, o.DryRun)
	want(b, "plan of the dry run", planText(planned), planText(got))
	return planText(got)
}

func planText(a view.Applied) string {
	var lines []string
	for _, c := range a.Changes {
		line := fmt.Sprintf("%s %s %s", c.Action, c.Noun, c.Name)
		if len(c.Fields) > 0 {
			line += " (" + strings.Join(c.Fields, "; ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// everything returns all definitions and jobs of the database as one text.
func (b manifests) everything() string {
	b.Helper()
	m := must(b.st.Export(b.ctx, core.AnyNamespace))(b)
	jobs := must(b.st.Jobs(b.ctx, job.Filter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}}))(b)
	tasks := must(b.st.Tasks(b.ctx, task.Filter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}}))(b)
	schedules := must(b.st.Schedules(b.ctx, schedule.Filter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1000}}))(b)
	return jsonOf(m) + jsonOf(jobs) + jsonOf(tasks) + jsonOf(schedules) + fmt.Sprint(b.count(`select count(*) from belfry.audit`))
}

func init() {
	add("applying makes a plan and does it; again, it keeps all; an edit says what differs", caseApplyingMakesAPlanAndDoesIt)
	add("a dry run says what would happen and changes nothing", caseADryRunSaysWhatWouldHappenAndChanges)
	add("a dry run waits for no writer and holds up none", caseADryRunWaitsForNoWriterAndHolds)
	add("a dry run of a bulk action waits for no writer and takes no lease apart", caseADryRunOfABulkActionWaitsFor)
	add("a dry run that may not compare secrets says the same of every guess", caseADryRunThatMayNotCompareSecretsSays)
	add("an apply that changes too many definitions is refused before it writes", caseAnApplyThatChangesTooManyDefinitionsIsRefused)
	add("rows cached by a dry run are not used by later writes", caseRowsOfADryRunAreNotCached)
	add("one mistake anywhere leaves nothing of an apply", caseOneMistakeAnywhereLeavesNothingOfAnApply)
	add("prune deletes only when asked, only in its namespace, and schedules before their tasks", casePruneDeletesOnlyWhenAsked)
	add("an exported manifest applies unchanged, in the same namespace and in a new one", caseAnExportAppliesUnchanged)
}

func manifest() view.Manifest {
	return view.Manifest{
		Queues: []job.Queue{{Name: "q", Priority: 7}},
		Tasks:  []task.Task{{Name: "a", Queue: "q"}, {Name: "b", Command: &task.Command{Shell: "date"}}},
		Schedules: []schedule.Schedule{
			{Name: "hourly", Task: "a", Rules: []schedule.Rule{{Cron: "0 * * * *"}}},
			{Name: "loop", Task: "b", Rules: []schedule.Rule{{Every: core.Duration(time.Minute), Anchor: schedule.AnchorFinish}}},
		},
	}
}

func caseApplyingMakesAPlanAndDoesIt(b *bench) {
	want(b, "plan", manifests{b}.apply(manifest(), view.ApplyOptions{}), "create queue q, create task a, create task b, create schedule hourly, create schedule loop")
	b.clock.Move(time.Minute)
	b.fire()
	before := manifests{b}.everything()
	want(b, "second apply of the manifest", manifests{b}.apply(manifest(), view.ApplyOptions{}), "keep queue q, keep task a, keep task b, keep schedule hourly, keep schedule loop")
	want(b, "after keeping all", manifests{b}.everything(), before)
	m := manifest()
	m.Queues[0].Priority = 8
	m.Tasks[0].Description = "edited"
	m.Schedules[0].Rules[0].Cron = "30 * * * *"
	want(b, "edit", manifests{b}.apply(m, view.ApplyOptions{}), `update queue q (priority: 7 -> 8), update task a (description: (none) -> "edited"), keep task b, `+
		`update schedule hourly (rules: [{"cron":"0 * * * *"}] -> [{"cron":"30 * * * *"}]), keep schedule loop`)
	want(b, "next time of hourly", b.get("hourly").NextAt, Epoch.Add(30*time.Minute))
}

func caseADryRunSaysWhatWouldHappenAndChanges(b *bench) {
	b.task("old")
	before := manifests{b}.everything()
	want(b, "plan", manifests{b}.apply(manifest(), view.ApplyOptions{DryRun: true, Prune: true}),
		"create queue q, create task a, create task b, create schedule hourly, create schedule loop, delete task old")
	want(b, "after the dry run", manifests{b}.everything(), before)
	w := manifests{b}.apply(manifest(), view.ApplyOptions{Prune: true})
	want(b, "plan of the apply after its dry run", w, "create queue q, create task a, create task b, create schedule hourly, create schedule loop, delete task old")
}

func caseADryRunWaitsForNoWriterAndHolds(b *bench) {
	manifests{b}.apply(manifest(), view.ApplyOptions{})
	m := manifest()
	m.Tasks[0].Description = "edited"
	var planned view.Applied
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		if _, err := tx.Exec(b.ctx, `update belfry.tasks set updated_at = updated_at where name = 'a'`); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute) // otherwise it would hang
		defer cancel()
		var err error
		planned, err = b.st.Apply(ctx, m, view.ApplyOptions{DryRun: true})
		return err
	}))
	want(b, "plan", planText(planned), `keep queue q, update task a (description: (none) -> "edited"), keep task b, keep schedule hourly, keep schedule loop`)
}

func caseADryRunOfABulkActionWaitsFor(b *bench) {
	b.task("t")
	waits, runs, ended := b.enqueue(job.NewJob{Task: "t"}), b.enqueue(job.NewJob{Task: "t"}), b.enqueue(job.NewJob{Task: "t"})
	b.cancel(ended.ID)
	s := b.session("t")
	want(b, "claimed", len(b.claim(s, 2).Jobs), 2)
	before := manifests{b}.everything()
	var canceled, retried view.Selected
	ok(b, b.st.DB().Write(b.ctx, func(tx base.Tx, _ base.Moment) error {
		if _, err := tx.Exec(b.ctx, `update belfry.jobs set due_at = due_at`); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute) // otherwise it would hang
		defer cancel()
		sel := view.Selection{IDs: []int64{waits.ID, runs.ID, ended.ID}, DryRun: true}
		var err error
		if canceled, err = b.st.CancelJobs(ctx, "default", sel); err != nil {
			return err
		}
		retried, err = b.st.RetryJobs(ctx, "default", sel)
		return err
	}))
	want(b, "to cancel", fmt.Sprint(canceled.IDs, len(canceled.Left)), fmt.Sprint([]int64{waits.ID, runs.ID}, 1))
	want(b, "to retry", fmt.Sprint(retried.IDs, len(retried.Left)), fmt.Sprint([]int64{ended.ID}, 2))
	want(b, "after the dry runs", manifests{b}.everything(), before)
}

func caseADryRunThatMayNotCompareSecretsSays(b *bench) {
	secrets := func(s core.Secret) view.Manifest {
		auth := &task.HTTP{URL: "https://example.org/x", Auth: &task.HTTPAuth{Bearer: s}}
		url := "https://example.org/hook/" + s
		if s == core.Redacted {
			url = s
		}
		return view.Manifest{
			Tasks:    []task.Task{{Name: "t", HTTP: auth}},
			Channels: []alert.Channel{{Name: "c", Webhook: &alert.WebhookChannel{URL: url, Secret: s}}},
			Monitors: []monitor.Monitor{{Name: "m", Check: task.Task{HTTP: auth}, Every: core.Duration(time.Minute)}},
		}
	}
	manifests{b}.apply(secrets("right"), view.ApplyOptions{})
	dry := view.ApplyOptions{DryRun: true}
	hidden := "update task t (http: a secret, which is not compared), update channel c (webhook: a secret, which is not compared), update monitor m (check: a secret, which is not compared)"
	want(b, "plan of a reader with the right secrets", planText(must(b.st.Apply(b.ctx, secrets("right"), dry))(b)), hidden)
	want(b, "plan of a reader with wrong secrets", planText(must(b.st.Apply(b.ctx, secrets("wrong"), dry))(b)), hidden)
	other := secrets("x")
	other.Channels[0].Webhook = &alert.WebhookChannel{URL: "https://elsewhere.example.org/", Secret: core.Redacted}
	want(b, "another host", planText(must(b.st.Apply(b.ctx, other, dry))(b)), hidden)
	kept := "keep task t, keep channel c, keep monitor m"
	want(b, "kept", planText(must(b.st.Apply(b.ctx, secrets(core.Redacted), dry))(b)), kept)
	want(b, "plan of an admin with the right secrets", manifests{b}.apply(secrets("right"), view.ApplyOptions{}), kept)
	want(b, "another, of an admin", manifests{b}.apply(secrets("wrong"), view.ApplyOptions{}),
		"update task t (http: a secret, which is not shown), update channel c (webhook: a secret, which is not shown), update monitor m (check: a secret, which is not shown)")
}

func caseAnApplyThatChangesTooManyDefinitionsIsRefused(b *bench) {
	var m view.Manifest
	for i := range view.MaxApply + 1 {
		m.Queues = append(m.Queues, job.Queue{Name: fmt.Sprint("q", i)})
	}
	_, err := b.st.Apply(b.ctx, m, view.ApplyOptions{})
	wantCode(b, err, core.TooLarge, "10001 definitions", "at most 10000")
	want(b, "queues", b.count(`select count(*) from belfry.queues where name like 'q%'`), 0)
	want(b, "a dry run", len(must(b.st.Apply(b.ctx, m, view.ApplyOptions{DryRun: true}))(b).Changes), view.MaxApply+1)
}

func caseRowsOfADryRunAreNotCached(b *bench) {
	plan := manifest()
	manifests{b}.apply(plan, view.ApplyOptions{DryRun: true})
	b.task("first") // its id may be one that the dry run used
	b.task("second")
	want(b, "created", must(b.st.Task(b.ctx, "default", "second"))(b).Kind, task.KindFunc)
	manifests{b}.apply(manifest(), view.ApplyOptions{})
	plan.Tasks[1].Command.Shell = "planned"
	plan.Schedules[1].Description = "read its task"
	manifests{b}.apply(plan, view.ApplyOptions{DryRun: true})
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "b", Command: &task.Command{Shell: "written"}}))(b)
	want(b, "updated", must(b.st.Task(b.ctx, "default", "b"))(b).Command.Shell, "written")
}

func caseOneMistakeAnywhereLeavesNothingOfAnApply(b *bench) {
	b.task("old")
	before := manifests{b}.everything()
	for field, change := range map[string]func(*view.Manifest){
		"schedules[1].rules[0].cron": func(m *view.Manifest) { m.Schedules[1].Rules[0] = schedule.Rule{Cron: "never"} },
		"schedules[0].task":          func(m *view.Manifest) { m.Schedules[0].Task = "nobody" },
		"schedules[1].zone":          func(m *view.Manifest) { m.Schedules[1].Zone = "Mars/Olympus" },
		"tasks[1].command":           func(m *view.Manifest) { m.Tasks[1].Command.Shell = "" },
		"tasks[0].queue":             func(m *view.Manifest) { m.Tasks[0].Queue = "nowhere" },
		"queues[0].concurrency":      func(m *view.Manifest) { m.Queues[0].Concurrency = -1 },
		"schedules[2]":               func(m *view.Manifest) { m.Schedules = append(m.Schedules, m.Schedules[0]) },
	} {
		m := manifest()
		change(&m)
		_, err := b.st.Apply(b.ctx, m, view.ApplyOptions{Prune: true})
		wantCode(b, err, core.Invalid, field)
		want(b, "after the mistake in "+field, manifests{b}.everything(), before)
	}
}

func casePruneDeletesOnlyWhenAsked(b *bench) {
	manifests{b}.apply(manifest(), view.ApplyOptions{})
	manifests{b}.apply(manifest(), view.ApplyOptions{Namespace: "other"})
	waits := b.enqueue(job.NewJob{Task: "b"}).ID
	m := manifest()
	m.Tasks, m.Schedules = m.Tasks[:1], m.Schedules[:1]
	want(b, "plan without prune", manifests{b}.apply(m, view.ApplyOptions{}), "keep queue q, keep task a, keep schedule hourly")
	want(b, "plan with prune", manifests{b}.apply(m, view.ApplyOptions{Prune: true}), "keep queue q, keep task a, keep schedule hourly, delete schedule loop, delete task b")
	want(b, "reason of the deleted task's job", b.wantState(waits, job.Skipped).Reason, schedule.ReasonDeleted)
	want(b, "queues stay", len(must(b.st.Queues(b.ctx))(b)), 4)
	want(b, "tasks of the other namespace", len(must(b.st.Tasks(b.ctx, task.Filter{Namespace: "other"}))(b).Items), 2)
	want(b, "all of it", manifests{b}.apply(view.Manifest{}, view.ApplyOptions{Prune: true}), "delete schedule hourly, delete task a")
}

func caseAnExportAppliesUnchanged(b *bench) {
	manifests{b}.apply(manifest(), view.ApplyOptions{})
	must(b.st.PauseSchedule(b.ctx, "default", "hourly", "kept"))(b)
	must(b.st.PauseQueue(b.ctx, "q", "kept"))(b)
	m := must(b.st.Export(b.ctx, ""))(b)
	got := must(b.st.Apply(b.ctx, m, view.ApplyOptions{Prune: true}))(b)
	for _, c := range got.Changes {
		want(b, c.Noun+" "+c.Name, c.Action, view.ActionKeep)
	}
	want(b, "definitions", len(got.Changes), 4+2+2)
	want(b, "the pause stays", b.get("hourly").PausedReason, "kept")
	for i := range m.Tasks {
		m.Tasks[i].Namespace = "copy"
	}
	for i := range m.Schedules {
		m.Schedules[i].Namespace = "copy"
	}
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)
	want(b, "the copy", jsonOf(must(b.st.Export(b.ctx, "copy"))(b)), jsonOf(m))
}
