//go:build linux

package rates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Noisy measures quiet tenants beside a tenant that always has waiting jobs. The quiet tenants use a tenth of the workers.
type Noisy struct {
	For   time.Duration
	Fair  bool // the queue takes turns by tenant
	Alone bool // without the noisy tenant
}

const (
	noisySlots   = 20
	noisyTakes   = 20 * time.Millisecond // each job
	noisyTenants = 10                    // quiet ones
	noisyBacklog = 5000
)

// tenantJob is the input of a tenant's job, with the time of its enqueue.
type tenantJob struct {
	Tenant string        `json:"tenant"`
	Asked  time.Duration `json:"asked"`
}

// Run measures the waits of quiet tenants' jobs, from the call that enqueues them to the first line of their handler.
func (o Noisy) Run(ctx context.Context, st *store.Store) (q report.Quantiles, err error) {
	queue := job.Queue{Name: "default", Concurrency: noisySlots}
	if o.Fair {
		queue.Fair = &flow.Fair{Key: "input.tenant"}
	}
	if _, err := st.SaveQueue(ctx, queue); err != nil {
		return q, err
	}
	var lags report.Lags
	var h worker.Handlers
	worker.Handle(&h, "tenant", func(ctx context.Context, j tenantJob) (struct{}, error) {
		if j.Asked > 0 {
			lags.Add(time.Since(epoch) - j.Asked)
		}
		process.Pause(ctx, noisyTakes)
		return struct{}{}, nil
	})
	run, err := node.Embed(ctx, st, node.Tuning{Slots: noisySlots}, &h, node.NewTally())
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, run.Stop()) }()
	const capacity = float64(noisySlots) * float64(time.Second/noisyTakes)
	if !o.Alone {
		for range noisyBacklog / core.MaxBatch {
			if _, err := st.Enqueue(ctx, tenantJobs("noisy", core.MaxBatch)); err != nil {
				return q, err
			}
		}
		neighbour := startLoad(ctx, st, capacity, func(n int) []job.NewJob { return tenantJobs("noisy", n) })
		defer func() { err = errors.Join(err, neighbour.stop()) }()
		process.Pause(ctx, time.Second)
	}
	begun := time.Now()
	for i := 0; time.Since(begun) < o.For && ctx.Err() == nil; i++ {
		process.Pause(ctx, time.Until(begun.Add(time.Duration(float64(i)*10*float64(time.Second)/capacity))))
		jobs := tenantJobs(fmt.Sprint(i%noisyTenants), 1)
		jobs[0].Input = tenantInput(fmt.Sprint(i%noisyTenants), time.Since(epoch))
		if _, err := st.Enqueue(ctx, jobs); err != nil {
			return q, err
		}
	}
	process.Pause(ctx, 200*time.Millisecond)
	return lags.Quantiles(), ctx.Err()
}

func tenantJobs(tenant string, n int) []job.NewJob {
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		jobs[i] = job.NewJob{Task: "tenant", Kind: task.KindFunc, Input: tenantInput(tenant, 0)}
	}
	return jobs
}

func tenantInput(tenant string, asked time.Duration) json.RawMessage {
	text, _ := json.Marshal(tenantJob{tenant, asked}) // a text and a number
	return text
}
