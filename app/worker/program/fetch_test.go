package program_test

import (
	"context"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/program"
	"github.com/belfry-run/belfry/internal/leasertest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// serve runs one job through a broker, which adds to the claim what a server
// would.
func (w *world) serve(t *testing.T, p task.Program, add func(*job.LeasedJob)) (*leasertest.Leaser, int64) {
	t.Helper()
	b := leasertest.New()
	b.Leased = add
	b.AddTask(task.Task{Name: "prog", Program: &p, Retry: task.Retry{MaxAttempts: 1}}.WithDefaults())
	id := b.Enqueue(job.NewJob{Task: "prog"}).ID
	one, err := worker.New(worker.Options{
		Leaser: b, Has: w.exe.Has(),
		Executors: map[task.Kind]worker.Executor{task.KindProgram: w.exe},
	})
	must(t, err)
	_, err = one.RunOnce(t.Context())
	must(t, err)
	w.nothingIsLeft(t)
	if breaches := b.Breaches(); len(breaches) > 0 {
		t.Error(breaches)
	}
	return b, id
}

func last(t *testing.T, b *leasertest.Leaser, id int64) job.Finish {
	t.Helper()
	as := b.Attempts(id)
	if len(as) == 0 {
		t.Fatal("no attempt was reported")
	}
	return as[len(as)-1]
}

const script = "#!/bin/sh\necho ran\n"

func TestAnArtifactIsFetchedByItsLink(t *testing.T) {
	t.Parallel()
	var fails atomic.Int32
	var status atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case fails.Add(-1) >= 0:
			w.WriteHeader(int(status.Load()))
		case r.Header.Get("X-Signed") != "yes":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(script))
		}
	}))
	defer srv.Close()
	for name, c := range map[string]struct {
		url    string
		fails  int32
		status int
		says   string
	}{
		"by a whole link":        {srv.URL + "/bin?signature=hidden", 0, 0, ""},
		"by a path":              {"/bin?signature=hidden", 0, 0, ""},
		"after a store was away": {srv.URL + "/bin", 2, 503, ""},
		"not from one that is":   {srv.URL + "/bin?signature=hidden", 9, 503, "cannot be fetched: its store answers 503"},
		"not when it is gone":    {srv.URL + "/bin?signature=hidden", 9, 404, "cannot be fetched: its store answers 404"},
		"not by a redirect":      {srv.URL + "/bin?signature=hidden", 9, 302, "cannot be fetched: its store answers 302"},
		"not where nobody is":    {"http://127.0.0.1:1/bin?signature=hidden", 0, 0, "its store does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *program.Options) { o.Source, o.Server = nil, srv.URL })
			fails.Store(c.fails)
			status.Store(int32(c.status))
			b, id := w.serve(t, w.addBytes(t, script), func(j *job.LeasedJob) {
				j.Artifact = &task.SignedRequest{Method: http.MethodGet, URL: c.url, Headers: map[string]string{"X-Signed": "yes"}, Expires: time.Now().Add(time.Minute)}
			})
			f := last(t, b, id)
			if c.says == "" {
				if f.Outcome != job.OutcomeOK || b.Text(id) != "ran\n" {
					t.Errorf("%+v %q", f, b.Text(id))
				}
				return
			}
			if f.Outcome != job.OutcomeError || !f.Infra || f.NoRetry || !strings.Contains(f.Error, c.says) || strings.Contains(f.Error, "hidden") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A server whose certificate is of a private authority gives its links with it too.
func TestAnArtifactIsFetchedFromAServerOfAPrivateAuthority(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(script)) }))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	for _, c := range []struct{ file, says string }{{file, ""}, {"", "certificate"}, {file + "x", "ca_file"}} {
		w := newWorld(t, func(o *program.Options) { o.Source, o.Server, o.CAFile = nil, srv.URL, c.file })
		b, id := w.serve(t, w.addBytes(t, script), func(j *job.LeasedJob) {
			j.Artifact = &task.SignedRequest{Method: http.MethodGet, URL: "/bin", Expires: time.Now().Add(time.Minute)}
		})
		if f := last(t, b, id); (f.Outcome == job.OutcomeOK) != (c.says == "") || !strings.Contains(f.Error, c.says) {
			t.Errorf("with %q: %+v", c.file, f)
		}
	}
}

func TestSecretsAreGivenAndNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.being(t, "secret")
	p.Secrets = map[string]string{"KEY": "api-key"}
	b, id := w.serve(t, p, func(j *job.LeasedJob) { j.Secrets = map[string]string{"KEY": "swordfish99"} })
	f := last(t, b, id)
	if f.Error != "exit code 3: key is ***" || !strings.Contains(b.Text(id), "<***>") || strings.Contains(b.Text(id), "swordfish99") {
		t.Errorf("%+v %q", f, b.Text(id))
	}
	b, id = w.serve(t, p, nil)
	if f := last(t, b, id); !f.Infra || !strings.Contains(f.Error, `no value for secret "api-key"`) {
		t.Errorf("%+v", f)
	}
}

// stuck is a source that gives nothing until the child which fetches has begun
// to write, and then breaks it off.
type stuck struct {
	ctx   context.Context
	stop  func()
	begun func() bool
}

func (s stuck) Open(context.Context, string) (io.ReadCloser, error) { return io.NopCloser(s), nil }

func (s stuck) Read([]byte) (int, error) {
	for !s.begun() {
		time.Sleep(time.Millisecond)
	}
	s.stop()
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestAPrefetchThatIsBrokenOffLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &world{store: newStore(), dir: public(t)}
	w.exe = w.open(t, func(o *program.Options) {
		o.Source = stuck{ctx, cancel, func() bool { return len(w.files(t, "*.coming")) > 0 }}
	})
	p := w.addBytes(t, script)
	if err := w.exe.Prefetch(ctx, job.LeasedJob{Task: new(task.Task{Name: "prog", Program: &p}.WithDefaults())}); err == nil {
		t.Error("it was fetched")
	}
	w.nothingIsLeft(t)
}

// Leftovers of a worker that is killed during a fetch are removed by the next worker.
func TestFilesOfAKilledPrefetchAreRemoved(t *testing.T) {
	t.Parallel()
	w := &world{store: newStore(), dir: public(t)}
	dead := w.open(t)
	for _, h := range w.files(t, "*.lock") {
		must(t, os.WriteFile(filepath.Join(strings.TrimSuffix(h, ".lock"), "prefetch-1.coming"), nil, 0o600))
	}
	must(t, dead.Close())
	w.exe = w.open(t)
	w.nothingIsLeft(t)
}

// files are those of a name at any depth below the homes of workers.
func (w *world) files(t *testing.T, name string) (found []string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(w.dir, "runs"), func(path string, d fs.DirEntry, err error) error {
		if is, _ := filepath.Match(name, filepath.Base(path)); is && err == nil {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
