package probe

import (
	"context"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// look is one check under way, or the request of a job that is none.
type look struct {
	*reach.Look
	e   *Executor
	run *worker.Run // of a job that is no check
}

func (e *Executor) begin(ctx context.Context, t task.Task) *look {
	return &look{Look: e.net.Begin(ctx, t), e: e}
}

// kind is how a kind is looked at.
type kind struct {
	look func(*look, context.Context) *reach.Fault
	vet  func(t task.Task, refuse refusal) // finds what the task's own rules cannot see
}

var kinds = map[task.Kind]kind{
	task.KindHTTP:      {look: (*look).http, vet: vetHTTP},
	task.KindTCP:       {look: (*look).tcp},
	task.KindDNS:       {look: (*look).dns, vet: vetDNS},
	task.KindTLS:       {look: (*look).tls, vet: vetTLS},
	task.KindPing:      {look: (*look).ping},
	task.KindGRPC:      {look: (*look).grpc, vet: vetGRPC},
	task.KindWebSocket: {look: (*look).websocket},
	task.KindUDP:       {look: (*look).udp},
	task.KindDomain:    {look: (*look).domain},
}

// Check looks once at the target of a task. There need be no job: it is also
// what a dry run does. The context's deadline is the check's; without one the
// task's timeout is, or else [task.DefaultCheckTimeout].
func (e *Executor) Check(ctx context.Context, t task.Task) task.CheckResult {
	ctx, cancel := reach.Bounded(ctx, t)
	defer cancel()
	l := e.begin(ctx, t.WithDefaults())
	defer l.Free()
	return l.Run(ctx, func(ctx context.Context) *reach.Fault {
		k, known := kinds[l.Task.Kind]
		if !known {
			return reach.Ours(task.CodeUnsupported, "kind %s is not a network check", l.Task.Kind)
		}
		return k.look(l, ctx)
	})
}

// reads reports whether some condition asks for a variable.
func (l *look) reads(name string) bool {
	for _, list := range [][]string{l.Task.Conditions, l.Task.Warnings} {
		for _, text := range list {
			if p, err := condition.Get(l.Task.Kind, text); err == nil && p.Uses(name) {
				return true
			}
		}
	}
	return false
}
