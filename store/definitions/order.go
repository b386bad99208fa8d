package definitions

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/task"
)

// A prune looks at all definitions of a namespace, which may have gigabytes. So it keeps only their names and what they refer to,
// and reads the others one by one.

// holdersFirst returns the tasks of a namespace that a manifest may have, cycles and workflows before their parts. lock is the
// suffix that locks the rows, or "".
func (s *Store) holdersFirst(ctx context.Context, tx base.Tx, namespace, lock string) (out []tasks.Holder, err error) {
	all, err := base.Collect(ctx, tx, func(rows base.Rows) (tasks.Holder, error) {
		t, err := s.tasks.ScanTask(rows)
		return tasks.HolderOf(t), err
	}, `select `+tasks.TaskColumns+` from belfry.tasks where namespace = $1 order by name`+lock, namespace)
	if err != nil {
		return nil, err
	}
	order := base.OrderBy(len(all), func(i int) string { return all[i].Name }, func(i int) []string { return all[i].Parts })
	for _, i := range slices.Backward(order) {
		if _, owned := task.OwnerOf(all[i].Name); !owned && !base.Ours(all[i].Name) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// childrenFirst returns the names of the monitors of a namespace, before those that they depend on.
func (s *Store) childrenFirst(ctx context.Context, tx base.Tx, namespace string) (names []string, err error) {
	all, err := base.Collect(ctx, tx, func(rows base.Rows) (monitor.Monitor, error) {
		m, err := s.monitors.ScanMonitor(rows)
		return monitor.Monitor{Namespace: m.Namespace, Name: m.Name, DependsOn: m.DependsOn}, err
	}, `select `+monitors.MonitorColumns+` from belfry.monitors m where m.namespace = $1 order by m.name`, namespace)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Backward(monitors.ParentsFirst(all)) {
		names = append(names, all[i].Name)
	}
	return names, nil
}
