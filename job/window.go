package job

import (
	"strconv"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/task"
)

// Window is what a new job shares with others of its key: the window of a throttle or of a debounce. The zero value is none.
type Window struct {
	Name     string // among idempotency keys, where no request has such a name
	Length   time.Duration
	Debounce *flow.Debounce // nil: it is that of a throttle
}

// WindowOf is the window of a job like this one of a task. Jobs of several queues or active keys share no debounce, because
// the one that stands for them has but one of each.
func WindowOf(t task.Task, j Job) Window {
	if t.Throttle == nil && t.Debounce == nil { // without a closure on the way of most jobs
		return Window{}
	}
	value := func(key string) string {
		return flow.KeyValues([]string{key}, flow.KeySource{Namespace: j.Namespace, Task: j.Task, Queue: j.Queue, Input: j.Input})[0]
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

// Debounced is what became of the requests of a debounced job.
type Debounced struct {
	Joined int64     `json:"joined" doc:"Requests that joined the first; the input is that of the last"`
	LastAt time.Time `json:"last_at" doc:"When the last request came"`
}
