package history

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// scanFor scans a session without the handlers of other tasks, of which all workers together may have very many.
func (s *Store) scanFor(j job.Job) func(base.Rows) (job.WorkerState, error) {
	return func(rows base.Rows) (job.WorkerState, error) {
		w, err := s.jobs.ScanSession(rows)
		handles := slices.Contains(w.Funcs, j.Task)
		w.Funcs = nil
		if handles {
			w.Funcs = []string{j.Task}
		}
		return w, err
	}
}

// workerChecks narrows the living workers down to those that could run a job, and describes what no worker has.
func workerChecks(j job.Job, d task.Requirement, workers []job.WorkerState, w *job.Why) (checks []core.Check, lacked string) {
	left := workers
	for _, step := range []struct {
		name, fix, lacked string
		fits              func(job.WorkerState) bool
	}{
		{"a worker lives", "start one: belfry serve, or belfry worker", "no worker is alive", func(job.WorkerState) bool { return true }},
		{"a worker serves the queue", "start one with this queue", "no worker serves queue " + j.Queue, func(x job.WorkerState) bool { _, ok := x.Queues[j.Queue]; return ok }},
		{"a worker runs the namespace", "start one for it", "no worker runs namespace " + j.Namespace, func(x job.WorkerState) bool { return x.RunsIn(j.Namespace) }},
		{"a worker runs the kind " + string(j.Kind), kindFix(j), "no worker runs kind " + string(j.Kind), func(x job.WorkerState) bool { return x.Runs(j.Kind) }},
		{"a worker has the handler", "start the program that registers " + j.Task, "no worker has handler " + j.Task, func(x job.WorkerState) bool { return x.Handles(j.Kind, j.Task) }},
		{"a worker meets the requirements", "start one that meets them, or let the task require less", "", func(x job.WorkerState) bool { return d.Meets(x.Has) }},
		{"a worker does not drain", "start another", "all workers that fit drain", func(x job.WorkerState) bool { return !x.Drain }},
	} {
		var fit []job.WorkerState
		for _, x := range left {
			if step.fits(x) {
				fit = append(fit, x)
			}
		}
		detail := fmt.Sprintf("%d of %d", len(fit), len(workers))
		if len(fit) == 0 {
			detail += lacking(d, left)
			if lacked = step.lacked; lacked == "" {
				lacked = noneHas(d, left)
			}
		}
		left = fit
		checks = append(checks, core.Check{Name: step.name, OK: len(fit) > 0, Detail: detail, Fix: step.fix})
		if len(fit) == 0 {
			break
		}
	}
	w.More = max(0, len(left)-job.ShownWorkers)
	for _, x := range left[:len(left)-w.More] {
		w.Workers = append(w.Workers, x.Name+" "+x.Session)
	}
	return checks, lacked
}

// lacking describes what the first workers lack.
func lacking(d task.Requirement, workers []job.WorkerState) string {
	const shown = 5
	var b strings.Builder
	for i, x := range workers {
		unmet := d.Unmet(x.Has)
		switch {
		case len(unmet) == 0:
		case i >= shown:
			return b.String() + "; and so on"
		default:
			b.WriteString("; " + x.Name + " lacks " + strings.Join(unmet, ", "))
		}
	}
	return b.String()
}

func kindFix(j job.Job) string {
	if j.Kind == task.KindCommand {
		return "commands are off unless an operator turns them on: belfry serve --allow-commands"
	}
	return "start a worker that runs it"
}

// ageingText describes the effect of ageing on a job's priority. It is empty if ageing has not raised the job and its queue
// does not age.
func ageingText(q job.Queue, j job.Job) string {
	switch {
	case j.Aged > 0:
		text := fmt.Sprintf("priority %d, treated as %d", j.Priority, j.Standing())
		if q.Ageing > 0 {
			text += ": " + q.AgeingText()
		}
		return text
	case q.Ageing > 0:
		return fmt.Sprintf("priority %d, %s, up to the highest that waits", j.Priority, q.AgeingText())
	}
	return ""
}

// counted formats a number that was counted up to [core.CountLimit] and one more.
func counted(n int64) string {
	if n > core.CountLimit {
		return fmt.Sprintf("over %d", core.CountLimit)
	}
	return strconv.FormatInt(n, 10)
}

// whyBehind reports how many jobs go first.
func (s *Store) whyBehind(ctx context.Context, tx base.Tx, j job.Job, stats job.QueueStats, w *job.Why) error {
	if j.State != job.Ready {
		return nil
	}
	turns := ""
	if f := stats.Fair; f != nil {
		value := f.ValueOf(flow.KeySource{Namespace: j.Namespace, Task: j.Task, Queue: j.Queue, Input: j.Input})
		turns = fmt.Sprintf("; turns are by %s, whose value is %q", f.Key, value)
	}
	ahead, _, err := base.First(ctx, tx, base.ScanInt, fmt.Sprintf(`
		select count(*)
		from (select 1 from belfry.jobs where queue = $1 and state = 'ready' and %s and (priority > $2 or priority = $2 and (turn, id) < ((select turn from belfry.jobs where id = $3), $3)) limit %d) as bounded`,
		s.UnleasedOfMany(), core.CountLimit+1), j.Queue, j.Standing(), j.ID)
	w.Checks = append(w.Checks, core.Check{Name: "no job goes first", OK: ahead == 0,
		Detail: fmt.Sprintf("%s ahead in queue %s, %d running%s", counted(ahead), j.Queue, stats.Running, turns), Fix: "wait, raise its priority, or add workers"})
	return err
}
