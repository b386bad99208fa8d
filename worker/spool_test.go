package worker

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/spool"
)

// claimed returns an attempt of a worker whose process then crashes.
func claimed(t *testing.T) (b *leasertest.Leaser, session string, ref job.Ref) {
	t.Helper()
	b = leasertest.New()
	b.AddTask(task.Task{Name: "prog", Program: &task.Program{}}.WithDefaults())
	b.Enqueue(job.NewJob{Task: "prog"})
	s, err := b.OpenSession(t.Context(), job.WorkerInfo{Name: "dead", Kinds: []task.Kind{task.KindProgram}, Queues: map[string]int{"default": 1}, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}})
	check(t, err)
	c, err := b.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
	check(t, err)
	return b, s.ID, job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openSpool(t *testing.T, dir string) *Spool {
	t.Helper()
	s, err := OpenSpool(dir)
	check(t, err)
	return s
}

type never struct{}

func (never) Execute(context.Context, *Run) job.Finish { panic("nothing is to run") }

// comeBack runs a worker after the crash of another one.
func comeBack(t *testing.T, b *leasertest.Leaser, dir string) {
	t.Helper()
	s := openSpool(t, dir)
	w, err := New(Options{Leaser: b, Spool: s, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}, Executors: map[task.Kind]Executor{task.KindHTTP: never{}}})
	check(t, err)
	_, err = w.RunOnce(t.Context())
	check(t, err)
	check(t, s.Close())
	wantEmpty(t, dir)
}

// wantEmpty checks that the folder of a spool is empty after the end of its processes.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	check(t, err)
	if len(left) != 1 || filepath.Base(left[0]) != "lock" {
		t.Errorf("left: %v", left)
	}
}

// afterDeath returns the only recorded attempt after a worker crashed with a note in
// its spool and another worker started.
func afterDeath(t *testing.T, note func(dead *Spool, session string, ref job.Ref) error) job.Finish {
	t.Helper()
	b, session, ref := claimed(t)
	dir := t.TempDir()
	dead := openSpool(t, dir)
	check(t, dead.Begin(session, ref, 0))
	check(t, note(dead, session, ref))
	check(t, dead.Close()) // as the kernel does after a crash
	comeBack(t, b, dir)
	as := b.Attempts(ref.JobID)
	if len(as) != 1 || as[0].Lease != ref.Lease {
		t.Fatalf("%+v", as)
	}
	return as[0]
}

func TestAnAttemptOfADeadWorkerIsReportedByTheNext(t *testing.T) {
	t.Parallel()
	a := afterDeath(t, func(*Spool, string, job.Ref) error { return nil })
	if a.Outcome != job.OutcomeLost || a.StartedIn == 0 || a.Error != spool.Died {
		t.Errorf("%+v", a)
	}
}

func TestAResultThatWasNotDeliveredIsDeliveredByTheNext(t *testing.T) {
	t.Parallel()
	a := afterDeath(t, func(dead *Spool, session string, ref job.Ref) error {
		return dead.Keep(session, job.Finish{Ref: ref, Outcome: job.OutcomeOK, Output: []byte(`{"n":1}`)})
	})
	if a.Outcome != job.OutcomeOK || string(a.Output) != `{"n":1}` {
		t.Errorf("%+v", a)
	}
}

// A result of another namespace in the spool is not this worker's to report, and must
// not delay its own results.
func TestAForeignResultInTheSpoolDelaysNoOtherResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		dir := t.TempDir()
		dead := openSpool(t, dir)
		check(t, dead.Keep("of another namespace", job.Finish{Ref: job.Ref{JobID: 7, Lease: 7}, Outcome: job.OutcomeOK}))
		check(t, dead.Close())
		b := leasertest.New()
		b.AddTask(task.Task{Name: "prog", Program: &task.Program{}}.WithDefaults())
		id := b.Enqueue(job.NewJob{Task: "prog"}).ID
		s := openSpool(t, dir)
		ex := quick(func(*Run) job.Finish { return job.Finish{Outcome: job.OutcomeOK} })
		w, err := New(Options{Leaser: forbidding{b}, Spool: s, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}, Executors: map[task.Kind]Executor{task.KindProgram: ex}})
		check(t, err)
		_, err = w.RunOnce(t.Context())
		check(t, err)
		check(t, s.Close())
		wantEmpty(t, dir)
		if as := b.Attempts(id); len(as) != 1 || as[0].Outcome != job.OutcomeOK {
			t.Errorf("%+v", as)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("its own result waited for %s", took)
		}
	})
}

// forbidding is a server that refuses results of a session in another namespace.
type forbidding struct{ *leasertest.Leaser }

func (f forbidding) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	if session == "of another namespace" {
		return nil, core.Errorf(core.Forbidden, "not yours")
	}
	return f.Leaser.Finish(ctx, session, fs)
}

func TestASpoolOfALivingWorkerIsLeftAlone(t *testing.T) {
	t.Parallel()
	_, session, ref := claimed(t)
	dir := t.TempDir()
	living := openSpool(t, dir)
	check(t, living.Begin(session, ref, 0))
	other := openSpool(t, dir)
	if left := other.TakeLeft(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	check(t, living.Forget(ref))
	check(t, living.Close())
	check(t, other.Close())
}

func TestAPartlyWrittenNoteIsIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead := openSpool(t, dir)
	for _, name := range []string{"1-1.json", "1-2.json.new"} {
		check(t, os.WriteFile(filepath.Join(dead.Dir(), name), []byte(`{"session":"s`), 0o600))
	}
	check(t, dead.Close())
	next := openSpool(t, dir)
	if left := next.TakeLeft(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	check(t, next.Close())
	wantEmpty(t, dir)
}

// Answered results are removed, so that the spool does not grow.
func TestTheSpoolIsEmptyWhenAllIsReported(t *testing.T) {
	t.Parallel()
	b := leasertest.New()
	b.AddTask(task.Task{Name: "prog", Program: &task.Program{}}.WithDefaults())
	for range 5 {
		b.Enqueue(job.NewJob{Task: "prog"})
	}
	s := openSpool(t, t.TempDir())
	ex := quick(func(r *Run) job.Finish {
		notes, err := os.ReadDir(s.Dir())
		if err != nil || len(notes) == 0 {
			t.Error("nothing is noted while it runs:", err)
		}
		_, _ = io.WriteString(r.Stdout, "x")
		return job.Finish{Outcome: job.OutcomeOK}
	})
	w, err := New(Options{Leaser: b, Spool: s, Has: task.Has{Arch: "amd64", Isolation: task.IsolationGVisor}, Executors: map[task.Kind]Executor{task.KindProgram: ex}})
	check(t, err)
	n, err := w.RunOnce(t.Context())
	check(t, err)
	notes, err := os.ReadDir(s.Dir())
	check(t, err)
	if n != 5 || len(notes) > 0 {
		t.Errorf("%d jobs, %v left", n, notes)
	}
	check(t, s.Close())
}

type quick func(*Run) job.Finish

func (q quick) Execute(_ context.Context, r *Run) job.Finish { return q(r) }
