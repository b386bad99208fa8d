// Package guide holds the code of docs/guides/go-library.md. Its test runs it,
// and compares the two.
package guide

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/app"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/batch"
)

// Greeting is the input of the task greet.
type Greeting struct {
	Name string `json:"name"`
}

// handle registers the handlers of the program.
func handle(handlers *worker.Handlers) worker.TaskOf[Greeting, string] {
	greet := worker.Handle(handlers, "greet", func(ctx context.Context, in Greeting) (string, error) {
		worker.Logger(ctx).Info("greeting", "name", in.Name) // kept in the log of the attempt
		if in.Name == "" {
			return "", worker.NoRetry(errors.New("name must not be empty"))
		}
		return "hello " + in.Name, nil
	})
	return greet
}

// define applies the definitions of the program.
func define(ctx context.Context, st *store.Store) error {
	_, err := st.Apply(ctx, belfry.Manifest{
		Queues: []belfry.Queue{{Name: "mail", Concurrency: 4}},
		Tasks:  []belfry.Task{{Name: "greet", Queue: "mail", Timeout: belfry.Duration(time.Minute)}},
		Schedules: []belfry.Schedule{{
			Name: "morning", Task: "greet", Rules: []belfry.Rule{{Cron: "0 8 * * *"}}, Zone: "Europe/Berlin",
			Input: json.RawMessage(`{"name": "everybody"}`),
		}},
	}, belfry.ApplyOptions{})
	return err
}

// serve runs queues and schedules until ctx ends.
func serve(ctx context.Context, st *store.Store, handlers *worker.Handlers) error {
	type service interface {
		Start(ctx context.Context) error
		Stop(ctx context.Context) error
	}
	var services []service
	for _, queue := range []string{belfry.DefaultQueue, "mail"} {
		jobs, err := worker.NewRunner(worker.RunnerOptions{Leaser: st, Handlers: handlers, Queue: queue})
		if err != nil {
			return err
		}
		services = append(services, jobs)
	}
	schedules, err := engine.NewRunner(engine.Options{Store: st})
	if err != nil {
		return err
	}
	services = append(services, schedules)

	for _, s := range services {
		if err := s.Start(ctx); err != nil {
			return err
		}
		defer s.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // waits for running jobs, at most Grace
	}
	return st.Run(ctx) // carries wake-ups between processes on PostgreSQL
}

// ask enqueues a job and waits for its result.
func ask(ctx context.Context, st *store.Store, greet worker.TaskOf[Greeting, string]) (string, error) {
	job, err := greet.New(Greeting{Name: "World"})
	if err != nil {
		return "", err
	}
	job.Key = "greet-world-1" // asked again under this key, it is still one job
	made, err := st.Enqueue(ctx, []belfry.NewJob{job})
	if err != nil {
		return "", err
	}
	return greet.Wait(ctx, st, made[0].Job)
}

// cancel ends a job, and reads its log.
func cancel(ctx context.Context, st *store.Store, id int64) (string, error) {
	selected, err := st.CancelJobs(ctx, belfry.DefaultNamespace, belfry.Selection{IDs: []int64{id}, Note: "not needed"})
	if err != nil {
		return "", err
	}
	if reason, left := selected.Left[id]; left {
		return "", errors.New(reason) // such as: it has ended
	}
	page, err := st.Logs(ctx, belfry.DefaultNamespace, id, belfry.LogFilter{})
	if err != nil {
		return "", err
	}
	text := ""
	for _, line := range page.Items {
		text += line.Text
	}
	return text, nil
}

// timed wraps a handler.
func timed[In, Out any](log *slog.Logger, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		begun := time.Now()
		out, err := fn(ctx, in)
		job, _ := worker.JobFrom(ctx)
		log.Info("job ended", "task", job.Task, "job", job.ID, "took", time.Since(begun), "error", err)
		return out, err
	}
}

// order writes an order and enqueues its greeting in one transaction.
func order(ctx context.Context, db *sql.DB, st *store.Store, greet worker.TaskOf[Greeting, string], name string) error {
	job, err := greet.New(Greeting{Name: name})
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after a commit
	if _, err := tx.ExecContext(ctx, `insert into orders (name) values ($1)`, name); err != nil {
		return err
	}
	if _, err := st.EnqueueTx(ctx, tx, []belfry.NewJob{job}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	st.Wake("mail") // or workers find the job at their next poll
	return nil
}

// ownPool opens a store on a pool of the program's.
func ownPool(ctx context.Context, dsn string, password func(context.Context) (string, error)) (*store.Store, *pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = 20
	cfg.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) (err error) {
		c.Password, err = password(ctx)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	st, err := postgres.New(ctx, pool, postgres.Options{Schema: "belfry"})
	return st, pool, err
}

// ownHandle opens a store on the file of a handle of the program's.
func ownHandle(ctx context.Context, path string) (*store.Store, *sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, nil, err
	}
	st, err := sqlite.New(ctx, db, sqlite.Options{Prefix: "belfry_"})
	return st, db, err
}

// Reading is the input of the task record.
type Reading struct {
	Sensor string  `json:"sensor"`
	Value  float64 `json:"value"`
}

// inBatches registers a handler that takes many jobs at once.
func inBatches(handlers *worker.Handlers, insert func(context.Context, []*batch.Job[Reading, int]) ([]int, error)) worker.TaskOf[Reading, int] {
	record := batch.Handle(handlers, "record", batch.Options{Size: 100, Wait: 200 * time.Millisecond},
		func(ctx context.Context, jobs []*batch.Job[Reading, int]) error {
			ids, err := insert(ctx, jobs)
			if err != nil {
				return err // jobs without a result fail with it, and are tried again
			}
			for i, j := range jobs {
				j.Succeed(ids[i])
			}
			return nil
		})
	return record
}

// pages serves Belfry's API and pages under a path of the program's own mux,
// behind its own login.
func pages(node *app.App, login func(http.Handler) http.Handler) (*http.ServeMux, error) {
	target, err := url.Parse(node.URL()) // listens on 127.0.0.1 alone
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	mux := http.NewServeMux()
	mux.Handle("/belfry/", login(http.StripPrefix("/belfry", proxy)))
	return mux, nil
}

// basicLogin stands for a login of the program's.
func basicLogin(user, password string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			u, p, _ := r.BasicAuth()
			if subtle.ConstantTimeCompare([]byte(u+":"+p), []byte(user+":"+password)) != 1 {
				w.Header().Set("WWW-Authenticate", `Basic realm="app"`)
				http.Error(w, "sign in", http.StatusUnauthorized)
				return
			}
			r.Header.Del("Authorization") // Belfry would take it for its own
			next.ServeHTTP(w, r)
		})
	}
}
