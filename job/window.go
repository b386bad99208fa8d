package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Window is the window of a throttle or debounce that a new job shares with other jobs of its key. The zero value is none.
type Window struct {
	Name     string // its name among the idempotency keys; no request can have such a key
	Length   time.Duration
	Debounce *flow.Debounce // nil: the window of a throttle
}

// WindowOf returns the window of job j of task t. Jobs of different queues or active keys share no debounce, because the
// job that represents them has only one queue and one key.
func WindowOf(t task.Task, j Job) Window {
	if t.Throttle == nil && t.Debounce == nil { // the usual case, without allocating a closure
		return Window{}
	}
	value := func(key string) string {
		return flow.KeyValue(key, flow.KeySource{Namespace: j.Namespace, Task: j.Task, Queue: j.Queue, Input: j.Input})
	}
	id := strconv.FormatInt(t.ID, 10)
	if t.Throttle != nil {
		return Window{Name: "\x1fthrottle\x1f" + id + "\x1f" + value(t.Throttle.Key), Length: t.Throttle.Window.D()}
	}
	return Window{
		Name:   "\x1fdebounce\x1f" + id + "\x1f" + j.Queue + "\x1f" + j.ActiveKey + "\x1f" + value(t.Debounce.Key),
		Length: t.Debounce.Window.D(), Debounce: t.Debounce,
	}
}

// Debounced describes the requests of a debounced job.
type Debounced struct {
	Joined int64     `json:"joined" doc:"Requests that joined the first; the input is that of the last"`
	LastAt time.Time `json:"last_at" doc:"When the last request came"`
}
