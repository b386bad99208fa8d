package probe

import (
	"context"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// check is one check in progress, or the request of a job that is not a check.
type check struct {
	*reach.Check
	e    *Executor
	run  *worker.Run   // of a job that is not a check
	auth reach.Secrets // of the task's auth alone: a job's output keeps other texts of the answer
}

func (e *Executor) begin(ctx context.Context, t task.Task) *check {
	return &check{Check: e.net.Begin(ctx, t), e: e}
}

// kind is the implementation of a kind.
type kind struct {
	check    func(*check, context.Context) *reach.Fault
	validate func(t task.Task, refuse refusal) // finds faults that package task cannot check
}

var kinds = map[task.Kind]kind{
	task.KindHTTP:      {check: (*check).http, validate: validateHTTP},
	task.KindTCP:       {check: (*check).tcp},
	task.KindDNS:       {check: (*check).dns, validate: validateDNS},
	task.KindTLS:       {check: (*check).tls, validate: validateTLS},
	task.KindPing:      {check: (*check).ping},
	task.KindGRPC:      {check: (*check).grpc, validate: validateGRPC},
	task.KindWebSocket: {check: (*check).websocket},
	task.KindUDP:       {check: (*check).udp},
	task.KindDomain:    {check: (*check).domain},
}

// Check checks the target of a task once. It needs no job, and also serves
// trials. The deadline is that of the context, or else the task's timeout, or
// else [task.DefaultCheckTimeout].
func (e *Executor) Check(ctx context.Context, t task.Task) task.CheckResult {
	ctx, cancel := reach.Bounded(ctx, t)
	defer cancel()
	c := e.begin(ctx, t.WithDefaults())
	defer c.Free()
	return c.Run(ctx, func(ctx context.Context) *reach.Fault {
		k, known := kinds[c.Task.Kind]
		if !known {
			return reach.Ours(task.CodeUnsupported, "kind %s is not a network check", c.Task.Kind)
		}
		return k.check(c, ctx)
	})
}

// reads reports whether a condition uses a variable.
func (c *check) reads(name string) bool {
	for _, list := range [][]string{c.Task.Conditions, c.Task.Warnings} {
		for _, text := range list {
			if p, err := condition.Get(c.Task.Kind, text); err == nil && p.Uses(name) {
				return true
			}
		}
	}
	return false
}
