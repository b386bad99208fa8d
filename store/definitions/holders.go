package definitions

import (
	"slices"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// holders returns the cycles or workflows that have one of the parts after the apply.
func (p *planner) holders(t task.Task, parts []string) (all []tasks.Holder, err error) {
	stored, err := p.s.tasks.Holders(p.ctx, p.tx, t, parts)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, m := range p.m.Tasks {
		if m.Namespace != t.Namespace {
			continue
		}
		named[m.Name] = true
		h := tasks.HolderOf(p.tasks[base.TaskName{Namespace: m.Namespace, Name: m.Name}])
		if m.Kind == t.Kind && slices.ContainsFunc(h.Parts, func(part string) bool { return slices.Contains(parts, part) }) {
			all = append(all, h)
		}
	}
	if p.o.Prune && p.o.Namespace == t.Namespace { // the others are deleted
		return all, nil
	}
	for _, h := range stored {
		if !named[h.Name] {
			all = append(all, h)
		}
	}
	return all, nil
}
