package probe_test

import (
	"testing"

	"github.com/belfry-run/belfry/task"
)

// Whether a machine lets us ping is its own choice. Both ends are asked for.
func TestPing(t *testing.T) {
	t.Parallel()
	tk := task.Task{Ping: &task.Ping{Host: "127.0.0.1", Count: 5}, Conditions: []string{"loss == 0 and rtt < 5s and rtt_min <= rtt and rtt <= rtt_max"}}
	m := look(t, tk)
	if m.Outcome == task.CheckError {
		wants(t, m, task.CheckError, task.CodeUnsupported, "net.ipv4.ping_group_range")
		return
	}
	if wants(t, m, task.CheckOK, "", ""); m.IP != "127.0.0.1" || m.Latency <= 0 {
		t.Errorf("%+v", m)
	}
}

func TestPingIsGuarded(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.2", "169.254.169.254", "::1", "10.0.0.1"} {
		wants(t, look(t, task.Task{Ping: &task.Ping{Host: host}}), task.CheckError, task.CodeBlocked, "may not be reached")
	}
}
