package guide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/batch"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Each block of Go in the guide stands in this package, word for word.
func TestGuideShowsThisCode(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/go-library.md")
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, path := range []string{"guide.go", "guide_test.go"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code += string(b)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 10 {
		t.Fatalf("the guide has %d blocks of Go", len(blocks))
	}
	line := regexp.MustCompile(`(?m)^(.)`)
	for _, b := range blocks {
		found := false
		for indent := range 4 {
			found = found || strings.Contains(code, "\n"+line.ReplaceAllString(b[1], strings.Repeat("\t", indent)+"$1"))
		}
		if !found {
			t.Errorf("this block of the guide is not in app/examples/guide:\n%s", b[1])
		}
	}
}

// A batch by itself, of the one job that there is.
func TestRecord(t *testing.T) {
	var handlers worker.Handlers
	inBatches(&handlers, func(_ context.Context, jobs []*batch.Job[Reading, int]) ([]int, error) {
		return []int{len(jobs) + len(jobs[0].In.Sensor)}, nil
	})
	executors := map[belfry.Kind]worker.Executor{belfry.KindFunc: &handlers}
	end := worker.Direct(t.Context(), executors, belfry.Task{Name: "record"}, []byte(`{"sensor": "roof", "value": 1.5}`), io.Discard, io.Discard)
	if end.Outcome != belfry.OutcomeOK || string(end.Output) != "5" {
		t.Error(end.Outcome, end.Error, string(end.Output))
	}
}

// A handler by itself: no store, no queue, no retry.
func TestGreet(t *testing.T) {
	var handlers worker.Handlers
	handle(&handlers)
	executors := map[belfry.Kind]worker.Executor{belfry.KindFunc: &handlers}
	end := worker.Direct(t.Context(), executors, belfry.Task{Name: "greet"}, []byte(`{"name": "Ann"}`), io.Discard, io.Discard)
	if end.Outcome != belfry.OutcomeOK || string(end.Output) != `"hello Ann"` {
		t.Error(end.Outcome, end.Error, string(end.Output))
	}
}

// A schedule when it is due: in a bubble, time stands still until all sleep.
func TestTheMorningReportRunsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		var handlers worker.Handlers
		handle(&handlers)
		if err := define(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		schedules, err := engine.NewRunner(engine.Options{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: &handlers, Queue: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Hour) // from midnight UTC to 08:00 in Berlin
		fired, err := schedules.RunOnce(t.Context())
		if fired != 1 || err != nil {
			t.Fatal(fired, err)
		}
		ran, err := jobs.RunOnce(t.Context())
		if ran != 1 || err != nil {
			t.Fatal(ran, err)
		}
	})
}

func TestServingAndAsking(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	for start := range 2 { // a program starts more than once
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var handlers worker.Handlers
		greet := handle(&handlers)
		if err := define(t.Context(), st); err != nil {
			t.Fatalf("start %d: %v", start, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, st, &handlers) }()
		if text, err := ask(ctx, st, greet); err != nil || text != "hello World" {
			t.Error(text, err)
		}
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n, err := st.CountJobs(t.Context(), belfry.JobFilter{}, belfry.CountOptions{}); err != nil || n.Count != 1 {
			t.Errorf("start %d: %d jobs, %v", start, n.Count, err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCancelAndLog(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // of a test
	var handlers worker.Handlers
	greet := handle(&handlers)
	if err := define(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	job, err := greet.New(Greeting{Name: "Ann"})
	if err != nil {
		t.Fatal(err)
	}
	job.Delay = belfry.Duration(time.Hour)
	made, err := st.Enqueue(t.Context(), []belfry.NewJob{job})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := cancel(t.Context(), st, made[0].Job.ID); err != nil || text != "" {
		t.Error(text, err)
	}
	if _, err := cancel(t.Context(), st, made[0].Job.ID); err == nil {
		t.Error("a job that has ended was canceled again")
	}
}

func TestWrappedHandler(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	hello := func(_ context.Context, in Greeting) (string, error) { return "hello " + in.Name, nil }
	var handlers worker.Handlers
	worker.Handle(&handlers, "hello", timed(logger, hello))
	end := worker.Direct(t.Context(), map[belfry.Kind]worker.Executor{belfry.KindFunc: &handlers}, belfry.Task{Name: "hello"}, []byte(`{"name": "Bob"}`), io.Discard, io.Discard)
	if string(end.Output) != `"hello Bob"` || !strings.Contains(log.String(), "task=hello") {
		t.Error(string(end.Output), log.String())
	}
}

func TestOrderInATransaction(t *testing.T) {
	t.Parallel()
	st, db, err := ownHandle(t.Context(), filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // of a test
	defer st.Close() //nolint:errcheck // likewise
	if _, err := db.ExecContext(t.Context(), `create table orders (name text primary key)`); err != nil {
		t.Fatal(err)
	}
	var handlers worker.Handlers
	greet := handle(&handlers)
	if err := define(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if err := order(t.Context(), db, st, greet, "coffee"); err != nil {
		t.Error(err)
	}
	if err := order(t.Context(), db, st, greet, "coffee"); err == nil {
		t.Error("an order was written twice")
	}
	if n, err := st.CountJobs(t.Context(), belfry.JobFilter{}, belfry.CountOptions{}); err != nil || n.Count != 1 {
		t.Errorf("%d jobs, %v", n.Count, err)
	}
}

func TestOwnPool(t *testing.T) {
	t.Parallel()
	asked := errors.New("asked for the password")
	_, _, err := ownPool(t.Context(), pgtest.New(t), func(context.Context) (string, error) { return "", asked })
	if !errors.Is(err, asked) {
		t.Error(err)
	}
	st, pool, err := ownPool(t.Context(), pgtest.New(t), func(context.Context) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := st.Close(); err != nil || pool.Ping(t.Context()) != nil {
		t.Error("the store has closed the pool: ", err)
	}
}

func TestPagesInOnesOwnMux(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node, err := app.New(app.Options{Config: config.Config{
		Database: filepath.Join(dir, "app.db"), Listen: "127.0.0.1:0", TokenFile: filepath.Join(dir, "token"),
		PublicURL: "http://app.example/belfry", Roles: []string{config.RoleAPI},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer node.Stop(context.WithoutCancel(t.Context())) //nolint:errcheck // of a test
	mux, err := pages(node, basicLogin("ann", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, password string) (int, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.SetBasicAuth("ann", password)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if code, _ := get("/belfry/healthz", "wrong"); code != http.StatusUnauthorized {
		t.Errorf("without a login: %d", code)
	}
	if code, _ := get("/belfry/healthz", "secret"); code != http.StatusOK {
		t.Errorf("with a login: %d", code)
	}
	if code, body := get("/belfry/sign-in", "secret"); code != http.StatusOK || !strings.Contains(body, `"/belfry/`) {
		t.Errorf("the page to sign in: %d\n%s", code, body)
	}
	var problem struct{ Code belfry.Code }
	code, body := get("/belfry/v1/jobs", "secret")
	if err := json.Unmarshal([]byte(body), &problem); code != http.StatusUnauthorized || err != nil || problem.Code != belfry.Unauthorized {
		t.Errorf("the API without a token: %d %s, %v", code, body, err)
	}
}
