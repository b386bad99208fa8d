package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// apply applies a manifest and answers the plan as text.
func (b *bench) apply(m belfry.Manifest, o belfry.ApplyOptions) string {
	b.Helper()
	got := must(b.st.Apply(b.ctx, m, o))(b)
	want(b, "dry run", got.DryRun, o.DryRun)
	return planText(got)
}

func planText(a belfry.Applied) string {
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

// everything is one text of all that definitions and jobs are in the database.
func (b *bench) everything() string {
	b.Helper()
	m := must(b.st.Export(b.ctx, belfry.AnyNamespace))(b)
	jobs := must(b.st.Jobs(b.ctx, belfry.JobFilter{Namespace: belfry.AnyNamespace, Paging: belfry.Paging{Limit: 1000}}))(b)
	tasks := must(b.st.Tasks(b.ctx, belfry.TaskFilter{Namespace: belfry.AnyNamespace, Paging: belfry.Paging{Limit: 1000}}))(b)
	schedules := must(b.st.Schedules(b.ctx, belfry.ScheduleFilter{Namespace: belfry.AnyNamespace, Paging: belfry.Paging{Limit: 1000}}))(b)
	return jsonOf(m) + jsonOf(jobs) + jsonOf(tasks) + jsonOf(schedules) + fmt.Sprint(b.count(`select count(*) from audit`))
}

func init() {
	manifest := func() belfry.Manifest {
		return belfry.Manifest{
			Queues: []belfry.Queue{{Name: "q", Priority: 7}},
			Tasks:  []belfry.Task{{Name: "a", Queue: "q"}, {Name: "b", Command: &belfry.Command{Shell: "date"}}},
			Schedules: []belfry.Schedule{
				{Name: "hourly", Task: "a", Rules: []belfry.Rule{{Cron: "0 * * * *"}}},
				{Name: "loop", Task: "b", Rules: []belfry.Rule{{Every: belfry.Duration(time.Minute), Anchor: belfry.AnchorFinish}}},
			},
		}
	}

	add("applying makes a plan and does it; again, it keeps all; an edit says what differs", func(b *bench) {
		want(b, "plan", b.apply(manifest(), belfry.ApplyOptions{}), "create queue q, create task a, create task b, create schedule hourly, create schedule loop")
		b.clock.Move(time.Minute)
		b.fire()
		before := b.everything()
		want(b, "again", b.apply(manifest(), belfry.ApplyOptions{}), "keep queue q, keep task a, keep task b, keep schedule hourly, keep schedule loop")
		want(b, "after keeping all", b.everything(), before)
		m := manifest()
		m.Queues[0].Priority = 8
		m.Tasks[0].Description = "edited"
		m.Schedules[0].Rules[0].Cron = "30 * * * *"
		want(b, "edit", b.apply(m, belfry.ApplyOptions{}), `update queue q (priority: 7 -> 8), update task a (description: (none) -> "edited"), keep task b, `+
			`update schedule hourly (rules: [{"cron":"0 * * * *"}] -> [{"cron":"30 * * * *"}]), keep schedule loop`)
		want(b, "next", b.get("hourly").NextAt, Epoch.Add(30*time.Minute))
	})

	add("a dry run says what would happen and changes nothing", func(b *bench) {
		b.task("old")
		before := b.everything()
		want(b, "plan", b.apply(manifest(), belfry.ApplyOptions{DryRun: true, Prune: true}),
			"create queue q, create task a, create task b, create schedule hourly, create schedule loop, delete task old")
		want(b, "after the dry run", b.everything(), before)
		w := b.apply(manifest(), belfry.ApplyOptions{Prune: true})
		want(b, "the same plan in earnest", w, "create queue q, create task a, create task b, create schedule hourly, create schedule loop, delete task old")
	})

	add("what a dry run has read is not taken for what is written later", func(b *bench) {
		plan := manifest()
		b.apply(plan, belfry.ApplyOptions{DryRun: true})
		b.task("first") // with an id that the dry run may have given to another
		b.task("second")
		want(b, "created", must(b.st.Task(b.ctx, "default", "second"))(b).Kind, belfry.KindFunc)
		b.apply(manifest(), belfry.ApplyOptions{})
		plan.Tasks[1].Command.Shell = "planned"
		plan.Schedules[1].Description = "read its task"
		b.apply(plan, belfry.ApplyOptions{DryRun: true})
		must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "b", Command: &belfry.Command{Shell: "written"}}))(b)
		want(b, "updated", must(b.st.Task(b.ctx, "default", "b"))(b).Command.Shell, "written")
	})

	add("one mistake anywhere leaves nothing of an apply", func(b *bench) {
		b.task("old")
		before := b.everything()
		for field, change := range map[string]func(*belfry.Manifest){
			"schedules[1].rules[0].cron": func(m *belfry.Manifest) { m.Schedules[1].Rules[0] = belfry.Rule{Cron: "never"} },
			"schedules[0].task":          func(m *belfry.Manifest) { m.Schedules[0].Task = "nobody" },
			"schedules[1].zone":          func(m *belfry.Manifest) { m.Schedules[1].Zone = "Mars/Olympus" },
			"tasks[1].command":           func(m *belfry.Manifest) { m.Tasks[1].Command.Shell = "" },
			"tasks[0].queue":             func(m *belfry.Manifest) { m.Tasks[0].Queue = "nowhere" },
			"queues[0].concurrency":      func(m *belfry.Manifest) { m.Queues[0].Concurrency = -1 },
			"schedules[2]":               func(m *belfry.Manifest) { m.Schedules = append(m.Schedules, m.Schedules[0]) },
		} {
			m := manifest()
			change(&m)
			_, err := b.st.Apply(b.ctx, m, belfry.ApplyOptions{Prune: true})
			wantCode(b, err, belfry.Invalid, field)
			want(b, "after the mistake in "+field, b.everything(), before)
		}
	})

	add("prune deletes only when asked, only in its namespace, and schedules before their tasks", func(b *bench) {
		b.apply(manifest(), belfry.ApplyOptions{})
		b.apply(manifest(), belfry.ApplyOptions{Namespace: "other"})
		waits := b.enqueue(belfry.NewJob{Task: "b"}).ID
		m := manifest()
		m.Tasks, m.Schedules = m.Tasks[:1], m.Schedules[:1]
		want(b, "without", b.apply(m, belfry.ApplyOptions{}), "keep queue q, keep task a, keep schedule hourly")
		want(b, "with", b.apply(m, belfry.ApplyOptions{Prune: true}), "keep queue q, keep task a, keep schedule hourly, delete schedule loop, delete task b")
		want(b, "its job", b.wantState(waits, belfry.JobSkipped).Reason, belfry.ReasonDeleted)
		want(b, "queues stay", len(must(b.st.Queues(b.ctx))(b)), 4)
		want(b, "the other namespace", len(must(b.st.Tasks(b.ctx, belfry.TaskFilter{Namespace: "other"}))(b).Items), 2)
		want(b, "all of it", b.apply(belfry.Manifest{}, belfry.ApplyOptions{Prune: true}), "delete schedule hourly, delete task a")
	})

	add("what is exported and applied is kept, in the same place and in a new namespace alike", func(b *bench) {
		b.apply(manifest(), belfry.ApplyOptions{})
		must(b.st.PauseSchedule(b.ctx, "default", "hourly", "kept"))(b)
		must(b.st.PauseQueue(b.ctx, "q", "kept"))(b)
		m := must(b.st.Export(b.ctx, ""))(b)
		got := must(b.st.Apply(b.ctx, m, belfry.ApplyOptions{Prune: true}))(b)
		for _, c := range got.Changes {
			want(b, c.Noun+" "+c.Name, c.Action, belfry.ActionKeep)
		}
		want(b, "definitions", len(got.Changes), 4+2+2)
		want(b, "the pause stays", b.get("hourly").PausedReason, "kept")
		for i := range m.Tasks {
			m.Tasks[i].Namespace = "copy"
		}
		for i := range m.Schedules {
			m.Schedules[i].Namespace = "copy"
		}
		must(b.st.Apply(b.ctx, m, belfry.ApplyOptions{}))(b)
		want(b, "the copy", jsonOf(must(b.st.Export(b.ctx, "copy"))(b)), jsonOf(m))
	})
}
