package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/expression"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// checkCycle rejects a cycle or workflow that names a missing task, or contains itself.
func (c *Change) checkCycle(t task.Task) error {
	return CheckMembers(t, c.TasksByName, func(string) {})
}

// CheckMembers is checkCycle for any source of tasks. It calls use with each member and step.
func CheckMembers(t task.Task, tasks func([]base.TaskName) (map[base.TaskName]task.Task, error), use func(member string)) error {
	if t.Workflow != nil {
		if faults := expression.VetWorkflow(*t.Workflow); len(faults) > 0 {
			return (&core.Error{Code: core.Invalid, Message: fmt.Sprintf("task %q", t.Name), Fields: faults})
		}
	}
	parts := t.Parts()
	names := make([]base.TaskName, len(parts))
	for i, m := range parts {
		names[i] = base.TaskName{Namespace: t.Namespace, Name: m.Task}
	}
	there, err := tasks(names)
	if err != nil {
		return err
	}
	for _, m := range parts {
		member, ok := there[base.TaskName{Namespace: t.Namespace, Name: m.Task}]
		ok = ok && !task.IsTrial(m.Task)
		use(m.Task)
		switch {
		case m.Task == t.Name:
			return core.InvalidField(m.Field, m.Task, fmt.Sprintf("is the %s itself", t.Kind), "")
		case !ok:
			return core.InvalidField(m.Field, m.Task, "is not a task in namespace "+t.Namespace, "create it first, or apply both in one file")
		case len(member.Parts()) == 0:
			continue
		}
		within, err := within(t, m.Task, tasks)
		if err != nil {
			return err
		}
		if within {
			role := "member"
			if member.Workflow != nil {
				role = "step"
			}
			return core.InvalidField(m.Field, m.Task, fmt.Sprintf("is a %s that has this one for a %s", member.Kind, role), "")
		}
		if m.MaxAttempts > 1 {
			field := strings.TrimSuffix(m.Field, "task") + "max_attempts"
			return core.InvalidField(field, strconv.Itoa(m.MaxAttempts), fmt.Sprintf("cannot be over 1 for a %s: its parts have attempts of their own", member.Kind), "")
		}
	}
	below, err := chainBelow(t, tasks)
	if err == nil && len(below) > mostDeep(t.Kind) {
		err = tooDeep(t, below, below)
	}
	return err
}

// within reports that a task is a part of another one, directly or indirectly.
func within(t task.Task, other string, named func([]base.TaskName) (map[base.TaskName]task.Task, error)) (bool, error) {
	seen := map[string]bool{}
	for level := []string{other}; len(level) > 0; {
		names := make([]base.TaskName, len(level))
		for i, name := range level {
			names[i] = base.TaskName{Namespace: t.Namespace, Name: name}
		}
		tasks, err := named(names)
		if err != nil {
			return false, err
		}
		level = nil
		for _, name := range names {
			for _, m := range tasks[name].Parts() {
				if m.Task == t.Name {
					return true, nil
				}
				if !seen[m.Task] {
					seen[m.Task] = true
					level = append(level, m.Task)
				}
			}
		}
	}
	return false, nil
}

// freeMember rejects the deletion of a task that is a member of a cycle or a step of a workflow.
func (c *Change) freeMember(t task.Task) error {
	users, err := base.Collect(c.Ctx, c.Tx, c.s.ScanTask, `
		select `+TaskColumns+`
		from belfry.tasks
		where namespace = $1 and kind in ('cycle', 'workflow') and doc like $2
		order by name`, t.Namespace, `%"task":"`+t.Name+`"%`)
	if err != nil {
		return err
	}
	for _, u := range users {
		if slices.ContainsFunc(u.Parts(), func(m task.Part) bool { return m.Task == t.Name }) {
			role := "member"
			if u.Workflow != nil {
				role = "step"
			}
			return core.Errorf(core.Conflict, "task %q is a %s of %s %q", t.Name, role, u.Kind, u.Name).WithHint("take it out of the %s first", u.Kind)
		}
	}
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.member_timing where task_id = $1`, t.ID)
	return err
}

// MembersFirst returns an order in which tasks come after their members, as far as that is possible.
func MembersFirst(all []task.Task) []int {
	return base.OrderBy(len(all), func(i int) string { return all[i].Namespace + "/" + all[i].Name }, func(i int) (names []string) {
		for _, m := range all[i].Parts() {
			names = append(names, all[i].Namespace+"/"+m.Task)
		}
		return names
	})
}
