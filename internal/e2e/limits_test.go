//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// Jobs record their starts and ends. By this record, jobs of a key never exceed their limit, even when a node is killed,
// and all jobs run.
func TestLimitsHoldByTheJobsOwnRecord(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		const perKey, all, jobs, keys = 2, 5, 60, 4
		record := filepath.Join(s.dir, "record")
		flags := []string{"--allow-commands", "--queues", "default=20", "--session-ttl", "15s"} // no node that lives is taken for lost on a busy machine
		n := s.serve(flags...)
		n.shellTask("work", `key=$(cat); echo "+ $key $$" >> `+record+`; sleep 0.15; echo "- $key $$" >> `+record, func(t *task.Task) {
			t.Limits = []flow.Limit{{Key: "input.customer", Running: perKey}, {Name: "all", Running: all}}
			t.Retry = task.Retry{MaxAttempts: 10, Delay: core.Duration(10 * time.Millisecond)}
		})
		var ids []int64
		for i := range jobs {
			ids = append(ids, n.enqueue("work", func(j *job.NewJob) { j.Input = fmt.Appendf(nil, `{"customer":%d}`, i%keys) }).ID)
		}
		eventually(t, patience, "some have run", func() (bool, string) {
			return len(s.lines("record")) > 30, fmt.Sprint(len(s.lines("record")))
		})
		n.kill()
		time.Sleep(time.Second) // its commands die with it
		f, err := os.OpenFile(record, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("killed\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		n = s.serve(flags...)
		for _, id := range ids {
			n.becomes(id, patience, job.Succeeded)
		}
		running, most := map[string]int{}, 0
		total := 0
		for _, line := range s.lines("record") {
			sign, rest, _ := strings.Cut(line, " ")
			key, _, _ := strings.Cut(rest, " ")
			switch sign {
			case "killed":
				running, total = map[string]int{}, 0
			case "+":
				running[key]++
				total++
			case "-":
				running[key]--
				total--
			}
			if running[key] > perKey || total > all {
				t.Fatalf("jobs running at once: got %d of key %s and %d in all, above a limit", running[key], key, total)
			}
			most = max(most, total)
		}
		if most < 2 {
			t.Errorf("jobs running at once: got never two")
		}
		s.run("task", "limits", "work")
		s.fails(2, "pause the queue", "task", "update", "work", "--limit", "running=0")
	})
}
