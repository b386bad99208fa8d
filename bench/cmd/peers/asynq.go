//go:build linux

package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/hibiken/asynq"

	"github.com/belfry-run/belfry/bench/load"
)

var (
	asynqDefault   = asynqOn("asynq default, Redis appendfsync always", true, "concurrency = CPUs, TaskCheckInterval 1 s", asynq.Config{})
	asynqTuned     = asynqOn("asynq tuned, Redis appendfsync always", true, "concurrency 100, TaskCheckInterval 1 ms", asynq.Config{Concurrency: 100, TaskCheckInterval: time.Millisecond})
	asynqForgetful = asynqOn("asynq tuned, Redis without persistence", false, "concurrency 100, TaskCheckInterval 1 ms; a crash of Redis loses all jobs", asynq.Config{Concurrency: 100, TaskCheckInterval: time.Millisecond})
)

func asynqOn(name string, durable bool, settings string, config asynq.Config) contender {
	return contender{
		name: name, class: servers, needs: "redis", settings: settings, history: "deleted",
		open: func(ctx context.Context, s *site) (*seat, error) {
			r, err := s.redis(ctx, durable)
			if err != nil {
				return nil, err
			}
			to := asynq.RedisClientOpt{Network: "unix", Addr: r.socket}
			config.LogLevel = asynq.FatalLevel
			q := &asynqQueue{to, config, asynq.NewClient(to), asynq.NewInspector(to)}
			return &seat{Driver: load.NewLocal(q), server: r.cpu, close: func() error { return nil }}, nil
		},
	}
}

type asynqQueue struct {
	to      asynq.RedisConnOpt
	config  asynq.Config
	client  *asynq.Client
	inspect *asynq.Inspector
}

func (q *asynqQueue) Enqueue(ctx context.Context, job int64) error {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask("noop", strconv.AppendInt(nil, job, 10)))
	return err
}

// EnqueueMany makes a call for each job: Asynq has no call for many.
func (q *asynqQueue) EnqueueMany(ctx context.Context, jobs []int64) error {
	for _, job := range jobs {
		if err := q.Enqueue(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

func (q *asynqQueue) Work(_ context.Context, ran func(int64)) (func() error, error) {
	server := asynq.NewServer(q.to, q.config)
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		job, err := strconv.ParseInt(string(t.Payload()), 10, 64)
		ran(job)
		return err
	}))
	return func() error {
		server.Shutdown()
		return nil
	}, err
}

func (q *asynqQueue) Unsettled(context.Context) (bool, error) {
	info, err := q.inspect.GetQueueInfo("default")
	if err != nil {
		return false, err
	}
	return info.Size > 0, nil
}

func (q *asynqQueue) Close() error { return errors.Join(q.client.Close(), q.inspect.Close()) }
