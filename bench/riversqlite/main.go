// Command riversqlite runs River on a SQLite file for the requests of package
// load. It is a program of its own, so that its driver of SQLite is not linked
// beside Belfry's.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"log"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"

	"github.com/belfry-run/belfry/bench/load"
)

var (
	file        = flag.String("file", "river.db", "the SQLite file")
	synchronous = flag.String("synchronous", "FULL", "FULL or NORMAL")
	workers     = flag.Int("workers", 2000, "MaxWorkers")
	cooldown    = flag.Duration("cooldown", 2*time.Millisecond, "FetchCooldown")
	poll        = flag.Duration("poll", 20*time.Millisecond, "FetchPollInterval")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	q, err := open(context.Background())
	if err == nil {
		err = load.Serve(q, os.Stdin, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type args struct {
	Job int64 `json:"job"`
}

func (args) Kind() string { return "noop" }

type handler struct {
	river.WorkerDefaults[args]
	ran func(int64)
}

func (h *handler) Work(_ context.Context, job *river.Job[args]) error {
	h.ran(job.Args.Job)
	return nil
}

type queue struct {
	db     *sql.DB
	caller *river.Client[*sql.Tx]
}

func open(ctx context.Context) (*queue, error) {
	// River's documents advise one connection, in WAL mode.
	db, err := sql.Open("sqlite", "file:"+*file+"?"+url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + *synchronous + ")"},
		"_txlock": {"immediate"},
	}.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	migrator, err := rivermigrate.New(riversqlite.New(db), nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	caller, err := river.NewClient(riversqlite.New(db), &river.Config{Logger: quiet()})
	return &queue{db, caller}, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (q *queue) Enqueue(ctx context.Context, job int64) error {
	_, err := q.caller.Insert(ctx, args{job}, nil)
	return err
}

func params(jobs []int64) []river.InsertManyParams {
	list := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		list[i].Args = args{job}
	}
	return list
}

func (q *queue) EnqueueMany(ctx context.Context, jobs []int64) error {
	_, err := q.caller.InsertMany(ctx, params(jobs))
	return err
}

func (q *queue) EnqueueFast(ctx context.Context, jobs []int64) error {
	_, err := q.caller.InsertManyFast(ctx, params(jobs))
	return err
}

func (q *queue) Work(ctx context.Context, ran func(int64)) (func() error, error) {
	handlers := river.NewWorkers()
	river.AddWorker(handlers, &handler{ran: ran})
	client, err := river.NewClient(riversqlite.New(q.db), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: *workers}},
		FetchCooldown:     *cooldown,
		FetchPollInterval: *poll,
		Workers:           handlers,
		Logger:            quiet(),
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error { return client.Stop(ctx) }, nil
}

func (q *queue) Unsettled(ctx context.Context) (bool, error) {
	var one int
	err := q.db.QueryRowContext(ctx, "select 1 from river_job where state in ('available', 'running', 'scheduled', 'retryable', 'pending') limit 1").Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (q *queue) Close() error { return q.db.Close() }
