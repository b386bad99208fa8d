package belfry

import "testing"

func TestReservedQueuesTakeBelfrysOwnTasksAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue, task string
		kind        Kind
		ok          bool
	}{
		{"default", "t", KindHTTP, true},
		{"builds", "t", KindCommand, true},
		{ChecksQueue, "t", KindHTTP, false},
		{ChecksQueue, OwnedName("shop"), KindHTTP, true},
		{ChecksQueue, CanaryTask, KindFunc, true},
		{SystemQueue, "t", KindFunc, false},
		{SystemQueue, OwnedName("shop"), KindHTTP, false},
		{SystemQueue, CanaryTask, KindFunc, true},
		{SystemQueue, CanaryTask, "", true},
		{SystemQueue, CanaryTask, KindHTTP, false},
		{"default", CanaryTask, KindCommand, false},
	} {
		if err := CheckReserved(c.queue, c.task, c.kind); (err == nil) != c.ok || err != nil && CodeOf(err) != Invalid {
			t.Errorf("%s in %s, kind %q: %v", c.task, c.queue, c.kind, err)
		}
	}
}
