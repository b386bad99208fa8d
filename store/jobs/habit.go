package jobs

import (
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// habit remembers of which task the last claim of a queue was, if it was of
// one: the next may be, and its definition can be asked for ahead. And it
// remembers who may be waiting for the jobs of a task.
type habit struct {
	tasks  sync.Map // usual by the queue's name
	queues sync.Map // where the last jobs of a task went, by its name
}

// usual is a task, and how many claims in a row were of it.
type usual struct {
	task  int64
	times int
}

// settled is from how many claims on the next is expected to be of the same
// task. One that is not is made twice.
const settled = 8

func (h *habit) note(queue string, rows []JobRow) {
	for i := range rows {
		if rows[i].TaskID != rows[0].TaskID {
			h.tasks.Delete(queue)
			return
		}
	}
	if len(rows) == 0 {
		return
	}
	u := h.of(queue)
	if u.task != rows[0].TaskID {
		u = usual{task: rows[0].TaskID}
	}
	u.times++
	h.tasks.Store(queue, u)
}

// broke is told that a claim was not what it was expected to be.
func (h *habit) broke(queue string) { h.tasks.Delete(queue) }

func (h *habit) of(queue string) usual {
	v, _ := h.tasks.Load(queue)
	u, _ := v.(usual)
	return u
}

// goes notes the queue of a new job.
func (h *habit) goes(j JobRow) {
	h.queues.Store(base.TaskName{Namespace: j.Namespace, Name: j.Task}, j.Queue)
}

// queueOf is where new jobs may go.
func (h *habit) queueOf(ns []job.NewJob) (string, bool) {
	if ns[0].Queue != "" {
		return ns[0].Queue, true
	}
	v, ok := h.queues.Load(taskNames(ns[:1])[0])
	queue, _ := v.(string)
	return queue, ok
}
