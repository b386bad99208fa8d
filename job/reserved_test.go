package job

import (
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestReservedQueuesTakeBelfrysOwnTasksAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue, task string
		kind        task.Kind
		ok          bool
	}{
		{"default", "t", task.KindHTTP, true},
		{"builds", "t", task.KindCommand, true},
		{task.ChecksQueue, "t", task.KindHTTP, false},
		{task.ChecksQueue, task.OwnedName("shop"), task.KindHTTP, true},
		{task.ChecksQueue, task.CanaryTask, task.KindFunc, true},
		{SystemQueue, "t", task.KindFunc, false},
		{SystemQueue, task.OwnedName("shop"), task.KindHTTP, false},
		{SystemQueue, task.CanaryTask, task.KindFunc, true},
		{SystemQueue, task.CanaryTask, "", true},
		{SystemQueue, task.CanaryTask, task.KindHTTP, false},
		{"default", task.CanaryTask, task.KindCommand, false},
	} {
		if err := CheckReserved(c.queue, c.task, c.kind); (err == nil) != c.ok || err != nil && core.CodeOf(err) != core.Invalid {
			t.Errorf("%s in %s, kind %q: %v", c.task, c.queue, c.kind, err)
		}
	}
}
