//go:build linux || darwin

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// stepNames has the steps of a job of task "order".
var stepNames = []string{"reserve", "charge", "pack", "ship", "mail"}

const (
	stepsServer = "BELFRY_E2E_STEPS_SERVER" // makes this test program act as the program of a user
	stepsSlots  = 4
)

// stepsWorker is the program of a user. Each step of its handler writes a line into a log of its own.
func stepsWorker() int {
	c, err := client.New(os.Getenv(stepsServer), os.Getenv("BELFRY_TOKEN"), client.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var handlers worker.Handlers
	worker.Handle(&handlers, "order", func(ctx context.Context, _ struct{}) (string, error) {
		j, _ := worker.JobFrom(ctx)
		said := ""
		for i, name := range stepNames {
			if i == 2 {
				if err := worker.Sleep(ctx, "rest", 200*time.Millisecond); err != nil {
					return "", err
				}
			}
			text, err := worker.Step(ctx, name, func(context.Context) (string, error) {
				time.Sleep(20 * time.Millisecond)
				return name + "!", appendLine(os.Getenv("STEPS_LOG"), fmt.Sprint(j.ID, " ", name))
			})
			if err != nil {
				return "", err
			}
			said += text
		}
		return said, nil
	})
	w, err := worker.New(worker.Options{Leaser: c, Name: "steps", Handlers: &handlers, Queues: map[string]int{"default": stepsSlots}, Lease: 8 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := w.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		return err
	}
	return f.Close()
}

// A worker is killed repeatedly while its jobs are between and within steps. Each step is recorded once. A step runs again
// only if the process died between its effect and its record.
func TestStepsOfAKilledWorker(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		const jobs, kills = 30, 3
		n := s.serve("--session-ttl", s.ttl())
		must[task.Task](t)(n.api.CreateTask(t.Context(), task.Task{Name: "order", Kind: task.KindFunc,
			Retry: task.Retry{MaxAttempts: 50, Backoff: task.BackoffFixed, Delay: core.Duration(100 * time.Millisecond)}}))
		ns := make([]job.NewJob, jobs)
		for i := range ns {
			ns[i].Task = "order"
		}
		made := must[[]job.Enqueued](t)(n.api.Enqueue(t.Context(), ns))
		log := filepath.Join(s.dir, "steps.log")
		secret := strings.TrimSpace(s.run("token", "create", "steps", "--scope", "worker", "--for", "*").stdout)
		self := must[string](t)(os.Executable())
		start := func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), stepsServer+"="+n.url, "BELFRY_TOKEN="+secret, "STEPS_LOG="+log)
			cmd.Stderr, cmd.SysProcAttr = os.Stderr, endWithUs()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return cmd
		}
		lines := func() []string {
			text, _ := os.ReadFile(log)
			return strings.Fields(strings.ReplaceAll(string(text), " ", "/"))
		}
		for range kills {
			before, cmd := len(lines()), start()
			eventually(t, 4*patience, "some steps have run", func() (bool, string) {
				return len(lines()) > before+jobs/3, fmt.Sprint(len(lines()))
			})
			time.Sleep(time.Duration(rand.IntN(int(30 * time.Millisecond))))
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		cmd := start()
		eventually(t, 8*patience, "all jobs have ended", func() (bool, string) {
			left := allJobs(t, n.api, job.Filter{States: []job.State{job.Scheduled, job.Ready, job.Running}})
			return len(left) == 0, fmt.Sprint(len(left), " are left")
		})
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		times := map[string]int{}
		for _, line := range lines() {
			times[line]++
		}
		again := 0
		for _, e := range made {
			j := must[job.Job](t)(n.api.Job(t.Context(), "default", e.Job.ID))
			if j.State != job.Succeeded || string(j.Output) != `"reserve!charge!pack!ship!mail!"` {
				t.Errorf("job %d: got state %s, output %s, error %s", j.ID, j.State, j.Output, j.Error)
			}
			var names []string
			for _, step := range must[[]job.Step](t)(n.api.JobSteps(t.Context(), "default", j.ID)) {
				names = append(names, step.Name)
			}
			if got := strings.Join(names, " "); got != "reserve charge rest pack ship mail" {
				t.Errorf("job %d recorded: %s", j.ID, got)
			}
			for _, name := range stepNames {
				ran := times[fmt.Sprint(j.ID, "/", name)]
				if ran == 0 {
					t.Errorf("step %s of job %d: got a record without a run", name, j.ID)
				}
				again += max(0, ran-1)
			}
		}
		if again > kills*stepsSlots {
			t.Errorf("repeated steps: got %d after %d crashes with %d slots", again, kills, stepsSlots)
		}
		t.Logf("%d of %d steps ran again after %d crashes", again, jobs*len(stepNames), kills)
	})
}
