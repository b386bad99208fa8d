package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func TestABrokersAddressIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"sqs://key:hunter2@eu-central-1/render", "sqs://eu-central-1/render.fifo", "nats://me:hunter2@n/RENDER", "nats://n/RENDER?token=hunter2", "nats://n",
	} {
		o := options(t)
		o.Brokers = map[string]string{"render": address}
		_, err := New(o)
		if core.CodeOf(err) != core.Invalid || !strings.Contains(err.Error(), "brokers.render") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
		w := Workers{Config: o.Config, Logger: slog.New(slog.DiscardHandler)}
		if err := w.Run(t.Context()); core.CodeOf(err) != core.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("worker: %s: %v", address, err)
		}
	}
}

func TestABrokerThatIsAwayIsNoReasonNotToStart(t *testing.T) {
	t.Parallel()
	c := config.Config{Brokers: map[string]string{"render": "nats://127.0.0.1:1/RENDER"}}
	brokers, err := OpenBrokers(t.Context(), c, []string{"render", "default"}, slog.New(slog.DiscardHandler))
	if err != nil || len(brokers) != 1 {
		t.Fatal(brokers, err)
	}
	defer func() { _ = brokers.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits for it here
	if err := brokers.Check(ctx, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if err := brokers.Verify(ctx); err == nil {
		t.Error("said to be well")
	}
}

func TestANodeLeavesQueuesWithABrokerToOthers(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Roles = []string{config.RoleWorker}
	a := start(t, o)
	w := Workers{Queues: a.store, Config: a.opt.Config, Skip: []string{task.DefaultQueue}}
	served, err := w.serving(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, serves := served[task.DefaultQueue]; serves || len(served) == 0 {
		t.Error(served)
	}
}
