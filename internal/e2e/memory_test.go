package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/task"
)

// Many callers with large batches take a node the memory of a few. Without a bound these took it more than 500 MB.
func TestManyLargeBatchesTakeANodeBoundedMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite:belfry.db")
	n := s.serve("--allow-commands")
	n.shellTask("work", "true", func(*task.Task) {})
	s.run("queue", "pause", "default", "--reason", "none of them has to run")
	batch := `{"jobs":[` + strings.TrimSuffix(strings.Repeat(`{"task":"work","input":"`+strings.Repeat("x", 600)+`"},`, 5000), ",") + `]}`
	var callers sync.WaitGroup
	statuses := make([]int, 32)
	for i := range statuses {
		callers.Go(func() {
			a, err := request("POST", n.url+"/v1/jobs", s.token(), batch)
			if err != nil {
				t.Error(err)
			}
			statuses[i] = a.StatusCode
		})
	}
	callers.Wait()
	made := 0
	for _, status := range statuses {
		switch status {
		case 201:
			made++
		case 503: // it waited for too long, on a busy machine
		default:
			t.Errorf("status of a batch: got %d, want 201", status)
		}
	}
	if made == 0 {
		t.Error("batches made: got none")
	}
	if most := n.peakMemory(); most > 500<<20 {
		t.Errorf("memory of the node: got a peak of %d MB, want at most 500", most>>20)
	}
	t.Logf("%d of %d batches made, peak %d MB", made, len(statuses), n.peakMemory()>>20)
}

// peakMemory is the most memory that the process of a node has had, in bytes.
func (n *node) peakMemory() int64 {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		n.t.Fatal(err)
	}
	kilobytes, err := strconv.ParseInt(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(text))[1], 10, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return kilobytes << 10
}
