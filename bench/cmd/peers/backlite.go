//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	"github.com/mikestefanello/backlite"

	"github.com/belfry-run/belfry/bench/load"
)

func backliteOn(c class) contender {
	return contender{
		name: "backlite, " + c.synchronous(), class: c, settings: "1,000 workers (its fastest)", history: "deleted",
		open: func(_ context.Context, s *site) (*seat, error) {
			return s.onFile(func(dir string) (load.Driver, error) {
				return openBacklite(filepath.Join(dir, "backlite.db"), c.synchronous())
			})
		},
	}
}

type backliteTask struct {
	Job int64 `json:"job"`
}

func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "noop", MaxAttempts: 3, Timeout: time.Minute, Backoff: time.Second}
}

type backliteQueue struct {
	db     *sql.DB
	client *backlite.Client
	ran    func(int64)
}

func openBacklite(path, synchronous string) (load.Driver, error) {
	db, err := openSQLite(path, synchronous, 1)
	if err != nil {
		return nil, err
	}
	q := &backliteQueue{db: db}
	if err := q.connect(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return load.NewLocal(q), q.client.Install()
}

// connect makes a client. A stopped client cannot start again.
func (q *backliteQueue) connect() (err error) {
	q.client, err = backlite.NewClient(backlite.ClientConfig{DB: q.db, NumWorkers: 1000, ReleaseAfter: 10 * time.Minute})
	if err != nil {
		return err
	}
	q.client.Register(backlite.NewQueue(func(_ context.Context, t backliteTask) error {
		q.ran(t.Job)
		return nil
	}))
	return nil
}

func (q *backliteQueue) Enqueue(ctx context.Context, job int64) error {
	return q.EnqueueMany(ctx, []int64{job})
}

func (q *backliteQueue) EnqueueMany(ctx context.Context, jobs []int64) error {
	list := make([]backlite.Task, len(jobs))
	for i, job := range jobs {
		list[i] = backliteTask{job}
	}
	_, err := q.client.Add(list...).Ctx(ctx).Save()
	return err
}

func (q *backliteQueue) Work(ctx context.Context, ran func(int64)) (func() error, error) {
	q.ran = ran
	ctx, cancel := context.WithCancel(ctx)
	q.client.Start(ctx)
	return func() error {
		defer cancel()
		patient, done := context.WithTimeout(ctx, time.Minute)
		defer done()
		if !q.client.Stop(patient) {
			return errors.New("its workers did not end")
		}
		return q.connect()
	}, nil
}

func (q *backliteQueue) Unsettled(ctx context.Context) (some bool, err error) {
	return some, q.db.QueryRowContext(ctx, "select exists (select 1 from backlite_tasks)").Scan(&some)
}

func (q *backliteQueue) Close() error { return q.db.Close() }
