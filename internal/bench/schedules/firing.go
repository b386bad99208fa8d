//go:build linux

// Package schedules measures the cost of idle schedules and the delay of due ones. The due schedules fire each at a moment of
// its own, and then all at once.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Prefixes of the names of schedules.
const (
	idlePrefix  = "idle-"
	duePrefix   = "due-"
	eachPrefix  = duePrefix + "each-"
	burstPrefix = duePrefix + "burst-"
)

// Idle saves n schedules that run once a day, spread over the minutes of a day, from the day after tomorrow on. None comes
// due while this program runs.
func Idle(ctx context.Context, s *database.Site, st *store.Store, n int) error {
	models := min(n, 1000)
	m := view.Manifest{Tasks: []task.Task{{Name: database.Noop, Kind: task.KindFunc}}}
	start := time.Now().Add(48 * time.Hour).UTC()
	for i := range models {
		minute := i * 1440 / models
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprintf("%s%04d", idlePrefix, i), Task: database.Noop, Start: start,
			Rules: []schedule.Rule{{Cron: fmt.Sprintf("%d %d * * *", minute%60, minute/60)}}})
	}
	if _, err := st.Apply(ctx, m, view.ApplyOptions{}); err != nil {
		return err
	}
	if copies := n/models - 1; copies > 0 {
		return s.CloneSchedules(ctx, st, idlePrefix, copies)
	}
	return nil
}

// Firing has the parameters of schedules that come due while a node runs, in a database with any other content.
type Firing struct {
	PerSecond int
	Seconds   int
	Burst     int           // due at one instant
	Gap       time.Duration // from the end of the steady ones to the burst
	Lead      time.Duration // from now to the first run: the time to prepare everything
	Slots     int           // 0: default
}

// Fired has the measured delays.
type Fired struct {
	Made, Began report.Quantiles // of the steady runs, from the nominal time
	BurstMade   report.Quantiles // to the transaction
	BurstBegan  report.Quantiles // to the handler
	Node        float64          // share of a core during the steady runs
	Server      float64          // the same of PostgreSQL
}

// errLate is the error when the first schedules were due before a node was ready.
var errLate = errors.New("the due schedules were not ready in time")

// Run makes the schedules, starts a node and reads its records. Each schedule runs once a minute, so within a minute no
// run meets an earlier one of its schedule. If the machine is too slow for the lead, Run begins again with a longer one.
func (f Firing) Run(ctx context.Context, s *database.Site) (out Fired, err error) {
	for range 4 {
		if out, err = f.try(ctx, s); !errors.Is(err, errLate) {
			break
		}
		f.Lead *= 2
	}
	return out, err
}

func (f Firing) try(ctx context.Context, s *database.Site) (out Fired, err error) {
	start := time.Now().Add(f.Lead).Truncate(time.Second).UTC()
	end := start.Add(time.Duration(f.Seconds) * time.Second)
	defer func() { err = errors.Join(err, forget(ctx, s)) }()
	if err := s.With(ctx, store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
		return f.schedules(ctx, s, st, start, end)
	}); err != nil {
		return out, err
	}
	if err := s.Calm(ctx); err != nil {
		return out, err
	}
	if time.Until(start) < time.Second { // a node would only catch up on missed runs
		return out, errLate
	}
	node, err := node.Spawn(s, f.Slots)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, node.Stop()) }()
	if time.Until(start) < 0 {
		return out, errLate
	}
	return f.listen(ctx, s, node, start, end)
}

func (f Firing) schedules(ctx context.Context, s *database.Site, st *store.Store, start, end time.Time) error {
	m := view.Manifest{Tasks: []task.Task{{Name: database.Noop, Kind: task.KindFunc}}}
	for i := range min(f.Seconds, 60) {
		second := start.Add(time.Duration(i) * time.Second).Second()
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprintf("%s%02d", eachPrefix, second), Task: database.Noop, Start: start,
			Rules: []schedule.Rule{{Cron: fmt.Sprintf("%d * * * * *", second)}}})
	}
	if f.Burst > 0 {
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: burstPrefix + "0", Task: database.Noop, Rules: []schedule.Rule{{At: []time.Time{end.Add(f.Gap)}}}})
	}
	if _, err := st.Apply(ctx, m, view.ApplyOptions{}); err != nil {
		return err
	}
	for prefix, n := range map[string]int{eachPrefix: f.PerSecond, burstPrefix: f.Burst} {
		if n > 1 {
			if err := s.CloneSchedules(ctx, st, prefix, n-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen reads the records of the node until all expected runs have come.
func (f Firing) listen(ctx context.Context, s *database.Site, node *node.Offspring, start, end time.Time) (out Fired, err error) {
	const patience = 2 * time.Minute
	late := time.AfterFunc(time.Until(end.Add(f.Gap+patience)), node.Kill) // ends the reading below
	defer late.Stop()
	defer context.AfterFunc(ctx, node.Kill)()
	type shares struct {
		node, server float64
		err          error
	}
	used := make(chan shares, 1)
	go func() {
		var u shares
		u.node, u.server, u.err = s.Shares(ctx, node.Process, start, end)
		used <- u
	}()
	var made, began, burstMade, burstBegan []time.Duration
	for len(began) < f.PerSecond*f.Seconds || len(burstBegan) < f.Burst {
		r, err := node.Next()
		if err != nil {
			return out, node.Trouble(fmt.Errorf("%d of %d jobs each second and %d of %d at once were run: %w",
				len(began), f.PerSecond*f.Seconds, len(burstBegan), f.Burst, err))
		}
		switch nominal := time.Unix(0, r.Nominal); {
		case !nominal.Before(start) && nominal.Before(end):
			made, began = append(made, r.ToMade()), append(began, r.ToStart())
		case nominal.Equal(end.Add(f.Gap)):
			burstMade, burstBegan = append(burstMade, r.ToMade()), append(burstBegan, r.ToStart())
		}
	}
	u := <-used
	return Fired{report.QuantilesOf(made), report.QuantilesOf(began), report.QuantilesOf(burstMade), report.QuantilesOf(burstBegan), u.node, u.server}, u.err
}

// forget removes the schedules, so that a later node has nothing to catch up on.
func forget(ctx context.Context, s *database.Site) error {
	return s.With(context.WithoutCancel(ctx), store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
		return database.DeleteSchedules(context.WithoutCancel(ctx), st, duePrefix)
	})
}
