package tasks

import (
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// checkCycle refuses a cycle that names what is not there, or itself.
func (c *Change) checkCycle(t task.Task) error {
	return CheckMembers(t, c.TasksByName, func(string) {})
}

// CheckMembers is checkCycle, with tasks from wherever they are. use is told of
// each member.
func CheckMembers(t task.Task, tasks func([]base.TaskName) (map[base.TaskName]task.Task, error), use func(member string)) error {
	if t.Cycle == nil {
		return nil
	}
	names := make([]base.TaskName, len(t.Cycle.Members))
	for i, m := range t.Cycle.Members {
		names[i] = base.TaskName{Namespace: t.Namespace, Name: m.Task}
	}
	there, err := tasks(names)
	if err != nil {
		return err
	}
	for i, m := range t.Cycle.Members {
		field := fmt.Sprintf("cycle.members[%d].task", i)
		member, ok := there[base.TaskName{Namespace: t.Namespace, Name: m.Task}]
		use(m.Task)
		switch {
		case m.Task == t.Name:
			return core.InvalidField(field, m.Task, "is the cycle itself", "")
		case !ok:
			return core.InvalidField(field, m.Task, "is not a task in namespace "+t.Namespace, "create it first, or apply both in one file")
		case member.Cycle == nil:
			continue
		}
		within, err := within(t, m.Task, tasks)
		if err != nil {
			return err
		}
		if within {
			return core.InvalidField(field, m.Task, "is a cycle that has this one for a member", "")
		}
	}
	return nil
}

// within reports that a cycle is a member of another, or of one of its members.
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
			inner := tasks[name]
			if inner.Cycle == nil {
				continue
			}
			for _, m := range inner.Cycle.Members {
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

// freeMember refuses to delete a task that a cycle has for a member.
func (c *Change) freeMember(t task.Task) error {
	users, err := base.Collect(c.Ctx, c.Tx, c.s.ScanTask, `
		select `+TaskColumns+`
		from belfry.tasks
		where namespace = $1 and kind = 'cycle' and doc like $2
		order by name`, t.Namespace, `%"task":"`+t.Name+`"%`)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Cycle != nil && slices.ContainsFunc(u.Cycle.Members, func(m task.Member) bool { return m.Task == t.Name }) {
			return core.Errorf(core.Conflict, "task %q is a member of cycle %q", t.Name, u.Name).WithHint("take it out of the cycle first")
		}
	}
	_, err = c.Tx.Exec(c.Ctx, `delete from belfry.member_timing where task_id = $1`, t.ID)
	return err
}

// MembersFirst is the order in which tasks come behind those that they have for
// members, as far as that goes.
func MembersFirst(all []task.Task) []int {
	return base.OrderBy(len(all), func(i int) string { return all[i].Namespace + "/" + all[i].Name }, func(i int) (names []string) {
		if all[i].Cycle != nil {
			for _, m := range all[i].Cycle.Members {
				names = append(names, all[i].Namespace+"/"+m.Task)
			}
		}
		return names
	})
}
