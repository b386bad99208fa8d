//go:build linux

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/belfry-run/belfry/bench/load"
)

var (
	riverDefault = riverOnPostgres("River default, PostgreSQL", "100 workers, FetchCooldown 100 ms, poll 1 s",
		river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}})
	riverBench = riverOnPostgres("River tuned, PostgreSQL", "as in `river bench`: 2,000 workers, FetchCooldown 2 ms, poll 20 ms",
		river.Config{
			Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
			FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		})
)

func riverOnPostgres(name, settings string, config river.Config) contender {
	return contender{
		name: name, class: servers, settings: settings, history: "kept for 24 hours, as by default",
		open: func(ctx context.Context, s *site) (*seat, error) {
			return s.onPostgres(ctx, func(url string) (load.Driver, error) { return openRiver(ctx, url, config) })
		},
	}
}

type riverArgs struct {
	Job int64 `json:"job"`
}

func (riverArgs) Kind() string { return "noop" }

type riverHandler struct {
	river.WorkerDefaults[riverArgs]
	ran func(int64)
}

func (h *riverHandler) Work(_ context.Context, job *river.Job[riverArgs]) error {
	h.ran(job.Args.Job)
	return nil
}

// riverQueue is River with a client that inserts and one that works.
type riverQueue struct {
	config         river.Config
	caller, worker *pgxpool.Pool
	client         *river.Client[pgx.Tx]
}

func openRiver(ctx context.Context, url string, config river.Config) (load.Driver, error) {
	config.Logger = slog.New(slog.DiscardHandler)
	caller, err := pool(ctx, url)
	if err != nil {
		return nil, err
	}
	worker, err := pool(ctx, url)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(caller), nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(caller), &river.Config{Logger: config.Logger})
	return load.NewLocal(&riverQueue{config, caller, worker, client}), err
}

// pool is large enough for 32 callers.
func pool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 40
	return pgxpool.NewWithConfig(ctx, config)
}

func (q *riverQueue) Enqueue(ctx context.Context, job int64) error {
	_, err := q.client.Insert(ctx, riverArgs{job}, nil)
	return err
}

func riverParams(jobs []int64) []river.InsertManyParams {
	list := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		list[i].Args = riverArgs{job}
	}
	return list
}

func (q *riverQueue) EnqueueMany(ctx context.Context, jobs []int64) error {
	_, err := q.client.InsertMany(ctx, riverParams(jobs))
	return err
}

// EnqueueFast uses COPY.
func (q *riverQueue) EnqueueFast(ctx context.Context, jobs []int64) error {
	_, err := q.client.InsertManyFast(ctx, riverParams(jobs))
	return err
}

func (q *riverQueue) Work(ctx context.Context, ran func(int64)) (func() error, error) {
	config := q.config
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, &riverHandler{ran: ran})
	client, err := river.NewClient(riverpgxv5.New(q.worker), &config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error { return client.Stop(ctx) }, nil
}

func (q *riverQueue) Unsettled(ctx context.Context) (bool, error) {
	var one int
	err := q.caller.QueryRow(ctx, "select 1 from river_job where state in ('available', 'running', 'scheduled', 'retryable', 'pending') limit 1").Scan(&one)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (q *riverQueue) Close() error {
	q.caller.Close()
	q.worker.Close()
	return nil
}
