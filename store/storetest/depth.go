package storetest

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	for _, n := range nesting {
		add(n.kind+"s that are nested too deep are refused when they are saved, with their path", func(b *bench) { caseNestingTooDeepIsRefused(b, n) })
		add("an edit that makes other "+n.kind+"s nest too deep is refused, with their path", func(b *bench) { caseAnEditThatNestsOthersTooDeepIsRefused(b, n) })
		add("a stored "+n.kind+" that is nested too deep is edited again once it is flattened", func(b *bench) { caseAStoredTaskThatIsTooDeep(b, n) })
		add("an apply is judged by how deep its "+n.kind+"s are nested in the end", func(b *bench) { caseAnApplyIsJudgedByItsEnd(b, n) })
	}
}

// nests is a kind of task with parts. of returns a task of the kind with a plain part and another one.
type nests struct {
	kind, field, hint string
	of                func(name, part string) task.Task
}

var nesting = []nests{
	{"cycle", "cycle.members[1].task", "put members of an inner cycle into the one around it", func(name, part string) task.Task {
		return task.Task{Name: name, Cycle: &task.Cycle{Members: []task.Member{{Task: "plain"}, {Task: part}}}}
	}},
	{"workflow", "workflow.steps[1].task", "put steps of an inner workflow into the one around it", func(name, part string) task.Task {
		return task.Task{Name: name, Workflow: &task.Workflow{Steps: []task.Step{{Name: "one", Task: "plain"}, {Name: "in", Task: part}}}}
	}},
}

// nested creates tasks n5 > n4 > n3 > n2 > n1 > leaf, where leaf is no cycle and no workflow.
func nested(b *bench, of func(name, part string) task.Task) {
	b.task("plain")
	b.task("bottom")
	b.task("leaf")
	part := "leaf"
	for i := range 5 {
		name := fmt.Sprint("n", i+1)
		must(b.st.CreateTask(b.ctx, of(name, part)))(b)
		part = name
	}
}

func caseNestingTooDeepIsRefused(b *bench, n nests) {
	nested(b, n.of)
	_, err := b.st.CreateTask(b.ctx, n.of("n6", "n5"))
	wantCode(b, err, core.Invalid, n.field, n.kind+"s more than 5 deep: n6 > n5 > n4 > n3 > n2 > n1", n.hint)
	must(b.st.CreateTask(b.ctx, n.of("beside", "n4")))(b)
	_, err = b.st.UpdateTask(b.ctx, n.of("beside", "n5"))
	wantCode(b, err, core.Invalid, n.field, "beside > n5 > n4 > n3 > n2 > n1")
}

func caseAnEditThatNestsOthersTooDeepIsRefused(b *bench, n nests) {
	nested(b, n.of)
	must(b.st.CreateTask(b.ctx, n.of("deeper", "bottom")))(b)
	_, err := b.st.UpdateTask(b.ctx, n.of("n1", "deeper"))
	wantCode(b, err, core.Invalid, n.field, n.kind+"s more than 5 deep: n5 > n4 > n3 > n2 > n1 > deeper", n.hint)
	_, err = b.st.UpdateTask(b.ctx, n.of("leaf", "bottom"))
	wantCode(b, err, core.Invalid, n.kind, "n5 > n4 > n3 > n2 > n1 > leaf")
	want(b, "the leaf", must(b.st.Task(b.ctx, "default", "leaf"))(b).Kind, task.KindFunc)
	must(b.st.UpdateTask(b.ctx, n.of("n1", "bottom")))(b) // as deep as before
	must(b.st.UpdateTask(b.ctx, n.of("n2", "deeper")))(b)
	must(b.st.UpdateTask(b.ctx, n.of("leaf", "bottom")))(b)
}

// caseAStoredTaskThatIsTooDeep has a task that was saved before the limit.
func caseAStoredTaskThatIsTooDeep(b *bench, n nests) {
	nested(b, n.of)
	must(b.st.CreateTask(b.ctx, n.of("n6", "leaf")))(b)
	b.sql(`update belfry.tasks set doc = replace(doc, '"task":"leaf"', '"task":"n5"') where name = 'n6'`)
	edited := n.of("n6", "n5")
	edited.Description = "edited"
	_, err := b.st.UpdateTask(b.ctx, edited)
	wantCode(b, err, core.Invalid, n.field, "n6 > n5 > n4 > n3 > n2 > n1", n.hint+"; a "+n.kind+" that was saved before this limit cannot be edited until then")
	must(b.st.UpdateTask(b.ctx, n.of("n5", "n3")))(b) // the parts of n4 go into n5
	must(b.st.UpdateTask(b.ctx, edited))(b)
}

func caseAnApplyIsJudgedByItsEnd(b *bench, n nests) {
	nested(b, n.of)
	m := view.Manifest{Tasks: []task.Task{n.of("deeper", "bottom"), n.of("n1", "deeper")}}
	for _, o := range []view.ApplyOptions{{DryRun: true}, {}} {
		_, err := b.st.Apply(b.ctx, m, o)
		wantCode(b, err, core.Invalid, "tasks[1]."+n.field, n.kind+"s more than 5 deep: n5 > n4 > n3 > n2 > n1 > deeper")
	}
	// The outer ones hold the inner ones no longer.
	m.Tasks = append(m.Tasks, n.of("n3", "bottom"))
	want(b, "apply", len(must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b).Changes), 3)
	want(b, "again", planText(must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b)), "keep task deeper, keep task n1, keep task n3")
	must(b.st.UpdateTask(b.ctx, n.of("n1", "bottom")))(b)
	must(b.st.UpdateTask(b.ctx, n.of("n3", "n2")))(b)
	// They are deleted.
	m.Tasks = append(m.Tasks[:2], task.Task{Name: "plain"}, task.Task{Name: "bottom"})
	must(b.st.Apply(b.ctx, m, view.ApplyOptions{Prune: true}))(b)
	want(b, "deleted", core.CodeOf(second(b.st.Task(b.ctx, "default", "n5"))), core.NotFound)
}
