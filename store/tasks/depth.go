package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// mostDeep returns how many tasks of a kind may be nested in each other, the outermost included.
func mostDeep(kind task.Kind) int {
	if kind == task.KindCycle {
		return cycle.MaxCycleDeep
	}
	return task.MaxWorkflowDepth
}

// link is a task in a chain of nested tasks.
type link struct {
	Holder
	next *link // toward the task where the chain begins
}

// names returns the chain from its far end to where it begins.
func (l *link) names() (names []string) {
	for ; l != nil; l = l.next {
		names = append(names, l.Name)
	}
	return names
}

// chainBelow returns the longest chain of nested tasks of t's kind, from t inward. It ends with the first one that is too deep.
// Tasks of another kind between two of them end a chain, since runs count their depth in the same way.
func chainBelow(t task.Task, named func([]base.TaskName) (map[base.TaskName]task.Task, error)) ([]string, error) {
	end := &link{Holder: HolderOf(t)}
	for level := []*link{end}; ; end = level[0] {
		names, from := []base.TaskName{}, map[base.TaskName]*link{}
		for _, l := range level {
			for _, part := range l.Parts {
				if name := (base.TaskName{Namespace: t.Namespace, Name: part}); from[name] == nil {
					names, from[name] = append(names, name), l
				}
			}
		}
		tasks, err := named(names)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, name := range names {
			if inner, there := tasks[name]; there && inner.Kind == t.Kind {
				level = append(level, &link{HolderOf(inner), from[name]})
			}
		}
		if chain := end.names(); len(level) == 0 || len(chain) > mostDeep(t.Kind) {
			slices.Reverse(chain)
			return chain, nil
		}
	}
}

// Holder is a cycle or workflow with the names of its parts.
type Holder struct {
	Name  string
	Parts []string
}

// HolderOf returns a task with the names of its parts.
func HolderOf(t task.Task) Holder {
	h := Holder{Name: t.Name}
	for _, part := range t.Parts() {
		h.Parts = append(h.Parts, part.Task)
	}
	return h
}

// Grows reports whether an edit of a cycle or workflow nests tasks deeper than before. Then others that hold it may have become
// too deep, which [CheckAbove] finds.
func Grows(old, t task.Task, named func([]base.TaskName) (map[base.TaskName]task.Task, error)) (bool, error) {
	if len(t.Parts()) == 0 {
		return false, nil
	}
	before, err := chainBelow(old, named)
	if err != nil {
		return false, err
	}
	after, err := chainBelow(t, named)
	return old.Kind != t.Kind || len(after) > len(before), err
}

// CheckAbove rejects a cycle or workflow that nests tasks too deep for those that hold it. holders returns the tasks of t's kind
// that have one of the parts.
func CheckAbove(t task.Task, named func([]base.TaskName) (map[base.TaskName]task.Task, error), holders func(t task.Task, parts []string) ([]Holder, error)) error {
	below, err := chainBelow(t, named)
	if err != nil {
		return err
	}
	for level := []*link{{Holder: Holder{Name: t.Name}}}; len(level) > 0; {
		if path := append(level[0].names(), below[1:]...); len(path) > mostDeep(t.Kind) {
			return tooDeep(t, below, path)
		}
		from := map[string]*link{}
		var parts []string
		for _, l := range level {
			parts, from[l.Name] = append(parts, l.Name), l
		}
		found, err := holders(t, parts)
		if err != nil {
			return err
		}
		level = nil
		for _, h := range found {
			i := slices.IndexFunc(h.Parts, func(part string) bool { return from[part] != nil })
			level = append(level, &link{h, from[h.Parts[i]]})
		}
	}
	return nil
}

// tooDeep is the error of a chain of nested tasks: below is the part of it from t on.
func tooDeep(t task.Task, below, path []string) error {
	field, value, parts := string(t.Kind), t.Name, "members"
	if t.Workflow != nil {
		parts = "steps"
	}
	for _, part := range t.Parts() {
		if len(below) > 1 && part.Task == below[1] {
			field, value = part.Field, part.Task
			break
		}
	}
	hint := fmt.Sprintf("put %s of an inner %s into the one around it", parts, t.Kind)
	if len(path) == len(below) { // t may be stored like this, from before the limit
		hint += fmt.Sprintf("; a %s that was saved before this limit cannot be edited until then, and its runs fail", t.Kind)
	}
	return core.InvalidField(field, value, fmt.Sprintf("nests %ss more than %d deep: %s", t.Kind, mostDeep(t.Kind), strings.Join(path, " > ")), hint)
}

// Holders returns the tasks of t's kind and namespace that have one of the parts.
func (s *Store) Holders(ctx context.Context, tx base.Tx, t task.Task, parts []string) (all []Holder, err error) {
	seen := map[string]bool{}
	for _, part := range parts {
		found, err := base.Collect(ctx, tx, func(rows base.Rows) (Holder, error) {
			t, err := s.ScanTask(rows)
			return HolderOf(t), err
		}, `
			select `+TaskColumns+`
			from belfry.tasks
			where namespace = $1 and kind = $2 and doc like $3
			order by name`, t.Namespace, string(t.Kind), `%"task":"`+part+`"%`)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			if !seen[h.Name] && slices.Contains(h.Parts, part) {
				seen[h.Name] = true
				all = append(all, h)
			}
		}
	}
	return all, nil
}

// checkAbove makes CheckAbove at the end of the transition, which may also change tasks that hold t.
func (c *Change) checkAbove(old, t task.Task) error {
	grows, err := Grows(old, t, c.TasksByName)
	if err != nil || !grows {
		return err
	}
	c.Before(func() error {
		return CheckAbove(t, c.TasksByName, func(t task.Task, parts []string) ([]Holder, error) { return c.s.Holders(c.Ctx, c.Tx, t, parts) })
	})
	return nil
}
