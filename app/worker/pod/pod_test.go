package pod_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/pod"
	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestMain(m *testing.M) {
	program.Init()
	os.Exit(m.Run())
}

// twoContainers are a pod, and a server that has one job for it.
type twoContainers struct {
	*leasertest.Leaser
	dir    string
	id     int64
	script string
	away   bool
}

func newPod(t *testing.T, script string) *twoContainers {
	t.Helper()
	p := &twoContainers{Leaser: leasertest.New(), script: script}
	var err error
	if p.dir, err = os.MkdirTemp("", "belfry-pod-"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.dir, 0o711); err != nil { //nolint:gosec // programs with a user of their own pass through
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scratch.Remove(p.dir); err != nil {
			t.Error(err)
		}
	})
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.away {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(p.script))
	}))
	t.Cleanup(store.Close)
	sum := sha256.Sum256([]byte(script))
	p.AddTask(task.Task{Name: "prog", Program: &task.Program{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(script))}, Retry: task.Retry{MaxAttempts: 1}}.WithDefaults())
	p.Leased = func(j *job.LeasedJob) {
		j.Token = "for-this-attempt"
		j.Artifact = &task.SignedRequest{Method: http.MethodGet, URL: store.URL}
	}
	return p
}

func (p *twoContainers) executor(ctx context.Context, t *testing.T) *program.Executor {
	t.Helper()
	ex, err := program.Open(ctx, program.Options{StateDir: pod.StateDir(p.dir)})
	if err != nil {
		t.Fatal(err)
	}
	return ex
}

func (p *twoContainers) init(t *testing.T) (bool, error) {
	t.Helper()
	ex := p.executor(t.Context(), t)
	defer func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
	}()
	return pod.Claim(t.Context(), pod.ClaimOptions{
		Leaser: p, Fetcher: ex, Server: "http://server", Dir: p.dir, Logger: slog.New(slog.DiscardHandler),
		Worker: job.WorkerInfo{Name: "pod", Queues: map[string]int{"default": 5}, Has: ex.Has()},
	})
}

func (p *twoContainers) main(t *testing.T) error {
	t.Helper()
	var ex *program.Executor
	defer func() {
		if ex != nil {
			if err := ex.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	return pod.Run(t.Context(), pod.RunOptions{
		Dir: p.dir, Name: "pod",
		Connect: func(h pod.Handover) (job.Leaser, error) {
			if h.Server != "http://server" || h.Leased.Token != "for-this-attempt" {
				t.Errorf("%+v", h)
			}
			return &attempt{Leaser: p, handover: h}, nil
		},
		Executor: func(ctx context.Context, _ pod.Handover) (worker.Executor, task.Has, error) {
			ex = p.executor(ctx, t)
			return ex, ex.Has(), nil
		},
	})
}

func TestTheFirstContainerPreparesTheProgramOfTheSecond(t *testing.T) {
	p := newPod(t, "#!/bin/sh\nfor f in "+"$BELFRY_INPUT_DIR"+"/attempt.json /belfry/*; do cat $f 2>/dev/null | grep -c for-this-at[t]empt; done\necho ran\n")
	p.id = p.Enqueue(job.NewJob{Task: "prog", Input: []byte(`{"dir":"` + p.dir + `"}`)}).ID
	p.Enqueue(job.NewJob{Task: "prog"})
	if found, err := p.init(t); err != nil || !found {
		t.Fatal(found, err)
	}
	file := filepath.Join(p.dir, "attempt.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	p.away = true // what the second needs is there
	if err := p.main(t); err != nil {
		t.Fatal(err)
	}
	if as := p.Attempts(p.id); len(as) != 1 || as[0].Outcome != job.OutcomeOK || as[0].Sandboxed == nil || !strings.HasSuffix(p.Text(p.id), "ran\n") || strings.Contains(p.Text(p.id), "1\n") {
		t.Errorf("%+v %q", as, p.Text(p.id))
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the token's file is left:", err)
	}
	if j, _ := p.Job(t.Context(), "", p.id+1); j.State != job.Ready {
		t.Errorf("another job is %s", j.State)
	}
	if err := pod.Clear(p.dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if breaches := p.Breaches(); len(breaches) > 0 {
		t.Error(breaches)
	}
}

func TestPodWithoutAJobEndsWithoutAnError(t *testing.T) {
	p := newPod(t, "#!/bin/sh\n")
	if found, err := p.init(t); err != nil || found {
		t.Error(found, err)
	}
	if err := p.main(t); core.CodeOf(err) != core.NotFound {
		t.Error(err)
	}
}

func TestPodHandsBackJobsThatItCannotPrepare(t *testing.T) {
	for name, spoil := range map[string]func(*twoContainers){
		"no artifact": func(p *twoContainers) { p.away = true },
		"no token":    func(p *twoContainers) { p.Leased = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, "#!/bin/sh\n")
			p.id = p.Enqueue(job.NewJob{Task: "prog"}).ID
			spoil(p)
			if found, err := p.init(t); err == nil || found {
				t.Error(found, err)
			}
			if as := p.Attempts(p.id); len(as) != 1 || !as[0].Infra || as[0].Error == "" {
				t.Errorf("%+v", as)
			}
		})
	}
}

// stopped is a fetcher whose process is told to stop meanwhile.
type stopped func()

func (stop stopped) Prefetch(ctx context.Context, _ job.LeasedJob) error {
	stop()
	<-ctx.Done()
	return ctx.Err()
}

func TestAStopBeforeTheStartCountsAsNoFault(t *testing.T) {
	p := newPod(t, "#!/bin/sh\n")
	p.id = p.Enqueue(job.NewJob{Task: "prog"}).ID
	ctx, stop := context.WithCancel(t.Context())
	found, err := pod.Claim(ctx, pod.ClaimOptions{
		Leaser: p, Fetcher: stopped(stop), Server: "http://server", Dir: p.dir, Logger: slog.New(slog.DiscardHandler),
		Worker: job.WorkerInfo{Name: "pod", Queues: map[string]int{"default": 1}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}},
	})
	if !errors.Is(err, context.Canceled) || found {
		t.Error(found, err)
	}
	if as := p.Attempts(p.id); len(as) != 1 || as[0].Outcome != job.OutcomeHandedBack {
		t.Errorf("%+v", as)
	}
	if j, _ := p.Job(t.Context(), "", p.id); j.State != job.Ready {
		t.Errorf("the job is %s", j.State)
	}
}

func TestALeaseThatIsLostIsNotStarted(t *testing.T) {
	p := newPod(t, "#!/bin/sh\necho ran\n")
	p.id = p.Enqueue(job.NewJob{Task: "prog"}).ID
	if found, err := p.init(t); err != nil || !found {
		t.Fatal(found, err)
	}
	p.Lose()
	if err := p.main(t); core.CodeOf(err) != core.Unauthorized || p.Text(p.id) != "" {
		t.Error(err, p.Text(p.id))
	}
}

func TestAResultIsOfferedUntilTheServerIsBack(t *testing.T) {
	p := newPod(t, "#!/bin/sh\nexit 3\n")
	p.id = p.Enqueue(job.NewJob{Task: "prog"}).ID
	if found, err := p.init(t); err != nil || !found {
		t.Fatal(found, err)
	}
	refused := 0
	p.Before = func(_ context.Context, call string) error {
		if call == "finish" && refused < 3 {
			refused++
			return errors.Join(errors.New("away"), context.DeadlineExceeded)
		}
		return nil
	}
	begun := time.Now()
	if err := p.main(t); err != nil {
		t.Fatal(err, time.Since(begun))
	}
	if as := p.Attempts(p.id); len(as) != 1 || as[0].ExitCode == nil || *as[0].ExitCode != 3 {
		t.Errorf("%+v", as)
	}
}

// attempt is the broker of exactly one, as the client of the server is.
type attempt struct {
	job.Leaser
	handover pod.Handover
	given    atomic.Bool
}

func (a *attempt) OpenSession(ctx context.Context, _ job.WorkerInfo) (job.Session, error) {
	r, err := a.Renew(ctx, a.handover.Session.ID, job.Held(a.handover.Ref()))
	if err == nil && r.Lost {
		err = core.Errorf(core.Unauthorized, "the attempt has ended")
	}
	return a.handover.Session, err
}

func (a *attempt) Claim(context.Context, job.ClaimRequest) (job.Claim, error) {
	if a.given.Swap(true) {
		return job.Claim{}, nil
	}
	return job.Claim{Lease: a.handover.Lease, Jobs: []job.LeasedJob{a.handover.Leased}}, nil
}
