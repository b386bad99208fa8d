//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// lines reads the file to which members append: the true record of their runs.
func (s *site) lines(file string) []string {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// writes waits for a line in this file.
func (s *site) writes(file, line string) {
	s.t.Helper()
	eventually(s.t, patience, "there is a line "+line, func() (bool, string) {
		all := s.lines(file)
		return slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, line) }), strings.Join(all, "\n")
	})
}

// members makes a cycle of five members. A member writes a line at its start and
// end, and waits in between for a file.
func (n *node) members(held string) (names []string) {
	n.t.Helper()
	c := &task.Cycle{}
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5"} {
		gate := ""
		if name == held {
			gate = "while [ ! -e go ]; do sleep 0.05; done\n"
		}
		script := fmt.Sprintf("cd %s\necho start %s $BELFRY_JOB_ID $BELFRY_ATTEMPT >>ran\n%secho end %s $BELFRY_JOB_ID $BELFRY_ATTEMPT >>ran", n.site.dir, name, gate, name)
		n.shellTask(name, script, func(t *task.Task) {
			t.Retry = task.Retry{MaxAttempts: 20, Delay: core.Duration(10 * time.Millisecond), Backoff: task.BackoffFixed, Jitter: -1}
		})
		c.Members = append(c.Members, task.Member{Task: name})
		names = append(names, name)
	}
	if _, err := n.api.CreateTask(n.t.Context(), task.Task{Name: "round", Cycle: c}); err != nil {
		n.t.Fatal(err)
	}
	return names
}

// checkRound fails unless every member ran once from start to end, apart from
// attempts that were cut off, and the record agrees with the file.
func (n *node) checkRound(id int64, names []string) {
	n.t.Helper()
	j := n.becomes(id, 4*patience, job.Succeeded)
	var out cycle.Output
	if err := json.Unmarshal(j.Output, &out); err != nil || len(out.Members) != len(names) {
		n.t.Fatalf("%s: %v", j.Output, err)
	}
	ran := n.site.lines("ran")
	furthest := 0
	for _, l := range ran {
		place := slices.Index(names, strings.Fields(l)[1])
		if place < furthest || place > furthest+1 {
			n.t.Errorf("%q comes after one of %s", l, names[furthest])
		}
		furthest = place
	}
	for i, m := range out.Members {
		if m.Task != names[i] || m.State != cycle.MemberOK || m.JobID == 0 {
			n.t.Errorf("result %d: got %+v, want %s", i, m, names[i])
		}
		tries := n.attempts(m.JobID)
		said := outcomes(tries)
		for k, outcome := range said {
			if (outcome == job.OutcomeOK) != (k == len(said)-1) || outcome != job.OutcomeOK && outcome != job.OutcomeLost {
				n.t.Errorf("outcomes of member %s: got %v", m.Task, said)
			}
		}
		var starts, ends int
		for _, l := range ran {
			var what, name string
			var work int64
			var try int
			if _, err := fmt.Sscan(l, &what, &name, &work, &try); err != nil {
				n.t.Fatalf("%q: %v", l, err)
			}
			if name != m.Task {
				continue
			}
			if work != m.JobID || try > len(said) {
				n.t.Fatalf("line %q of the file: the record has job %d with %d attempts", l, m.JobID, len(said))
			}
			if what == "start" {
				starts++
			} else if ends++; try != len(said) && said[try-1] != job.OutcomeLost {
				n.t.Errorf("line %q of the file: the record has outcomes %v", l, said)
			}
		}
		if starts < 1 || starts > len(said) || ends < 1 {
			n.t.Errorf("%s: %d starts and %d ends, %d attempts", m.Task, starts, ends, len(said))
		}
		if jobs := allJobs(n.t, n.api, job.Filter{Task: m.Task}); len(jobs) != 1 {
			n.t.Errorf("jobs of member %s: got %d", m.Task, len(jobs))
		}
	}
}

// A node is killed with kill -9 while a member runs, and again when the member has
// ended: for each member in turn, before the first, and after the last.
func TestACycleSurvivesItsNodeAtEveryTransition(t *testing.T) {
	t.Parallel()
	for _, db := range databases {
		for k := range 6 {
			t.Run(fmt.Sprintf("%s/%d", db.name, k), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, db.make(t))
				flags := []string{"--allow-commands", "--session-ttl", s.ttl()}
				n := s.serve(flags...)
				held := fmt.Sprintf("m%d", max(1, k))
				names := n.members(held)
				id := n.enqueue("round").ID
				restart := func() {
					n.kill()
					n = s.serve(flags...)
				}
				if k == 0 { // at any progress of the cycle
					s.write("go", "")
					restart()
				} else {
					s.writes("ran", "start "+held)
					restart()
					s.write("go", "")
					s.writes("ran", "end "+held)
					restart()
				}
				n.checkRound(id, names)
				if k == len(names) { // the cycle has ended, and no member begins again
					before := len(s.lines("ran"))
					restart()
					next := n.enqueue("round").ID
					n.becomes(next, patience, job.Succeeded)
					if after := len(s.lines("ran")); after != before+2*len(names) {
						t.Errorf("lines after another round: got %[2]d, want %[1]d", before, after)
					}
				}
			})
		}
	}
}

// A step of the clock does not change how often a member runs. The clock is set by an
// hour, forward and back, during the first run, between runs, and in the longer lane
// while no node runs. Cycles continue, and a member with an interval of an hour runs
// once in the minute that really passes.
func TestACycleGoesOnWhenTheClockIsSet(t *testing.T) {
	t.Parallel()
	rounds := fewRounds
	fromEnv(t, "BELFRY_E2E_ROUNDS", func(n int64) { rounds = int(n) })
	on := []string{"postgres"}
	if rounds > fewRounds { // make chaos: SQLite needs a build of its own, and the store's tests show the same
		on = append(on, "sqlite")
	}
	for _, database := range on {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			var decides clock
			var s *site
			if database == "sqlite" {
				s = newSite(t, "sqlite:belfry.db")
				s.program = steppedBelfry(t, false)
				faked, env := stepTime(t)
				s.env, decides = append(s.env, env), faked
			} else {
				faked, env := fakeTime(t)
				s, decides = newSite(t, pgtest.NewServer(t, pgtest.Options{Env: env}).New(t)), faked
			}
			n := s.serve("--allow-commands", "--session-ttl", "8s")
			cyclesUnderway(n)
			goOn := func(cycles ...string) {
				t.Helper()
				for _, name := range cycles {
					before := len(s.lines(name))
					eventually(t, patience, name+" goes on", func() (bool, string) {
						if len(s.lines(name)) >= before+2 {
							return true, ""
						}
						return false, n.standing(name)
					})
				}
			}
			s.writes("hourly", "start") // the member has not ended
			decides.set(t, time.Hour)
			s.write("go", "")
			goOn("plan", "loop")
			decides.set(t, 0) // rules with fixed times do not fire until that time is over
			goOn("loop")
			decides.set(t, time.Hour)
			goOn("plan", "loop")
			decides.set(t, 2*time.Hour)
			goOn("plan", "loop")
			if rounds > fewRounds { // the running job is given up after half a minute
				n.kill()
				decides.set(t, time.Hour)
				n = s.serve("--allow-commands", "--session-ttl", "8s")
				goOn("loop")
			}
			decides.set(t, 0)
			goOn("loop")
			for _, file := range []string{"hourly", "daily"} {
				if ran := s.lines(file); len(ran) != 1 {
					t.Errorf("runs of %s: got %d: %v", file, len(ran), ran)
				}
			}
			for _, j := range allJobs(t, n.api, job.Filter{States: []job.State{job.Failed, job.Canceled}}) {
				if j.Task != "beat-plan" && j.Task != "beat-loop" {
					t.Errorf("job %d of %s is %s: %s %s", j.ID, j.Task, j.State, j.Reason, j.Error)
				}
			}
		})
	}
}

// standing describes the state of a cycle and its schedule.
func (n *node) standing(name string) string {
	sc, err := n.api.Schedule(n.t.Context(), "default", name)
	text := fmt.Sprintf("schedule %s: %s, next %s, %d runs, %v", name, sc.State, sc.NextAt, sc.Runs, err)
	p, err := n.api.Jobs(n.t.Context(), job.Filter{States: []job.State{job.Waiting, job.Scheduled, job.Ready, job.Running}})
	for _, j := range p.Items {
		text += fmt.Sprintf("\njob %d of %s is %s, due %s: %s", j.ID, j.Task, j.State, j.DueAt, j.Note)
	}
	return fmt.Sprint(text, err)
}

// cyclesUnderway makes two cycles that share a member with an interval: one with
// fixed times, one that counts from its finish.
func cyclesUnderway(n *node) {
	n.t.Helper()
	n.shellTask("hourly", "cd "+n.site.dir+"\necho start >>hourly\nwhile [ ! -e go ]; do sleep 0.05; done")
	n.shellTask("daily", "cd "+n.site.dir+"\necho start >>daily")
	for name, rule := range map[string]schedule.Rule{
		"plan": {Every: core.Duration(time.Second)},
		"loop": {Every: core.Duration(time.Second), Anchor: schedule.AnchorFinish},
	} {
		n.shellTask("beat-"+name, "cd "+n.site.dir+"\necho beat >>"+name)
		c := &task.Cycle{Members: []task.Member{
			{Task: "hourly", Every: core.Duration(time.Hour)}, {Task: "beat-" + name}, {Task: "daily", Every: core.Duration(24 * time.Hour)},
		}}
		if _, err := n.api.CreateTask(n.t.Context(), task.Task{Name: name, Cycle: c}); err != nil {
			n.t.Fatal(err)
		}
		if _, err := n.api.CreateSchedule(n.t.Context(), schedule.Schedule{Name: name, Task: name, Rules: []schedule.Rule{rule}}); err != nil {
			n.t.Fatal(err)
		}
	}
}
