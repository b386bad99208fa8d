//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// How the names of schedules begin.
const (
	idlePrefix  = "idle-"
	duePrefix   = "due-"
	eachPrefix  = duePrefix + "each-"
	burstPrefix = duePrefix + "burst-"
)

// Idle saves n schedules that run once a day, spread over all minutes but those of the next two days: nothing of them
// is due while this program runs.
func Idle(ctx context.Context, s *Site, st *store.Store, n int) error {
	models := min(n, 1000)
	m := view.Manifest{Tasks: []task.Task{{Name: noop, Kind: task.KindFunc}}}
	start := time.Now().Add(48 * time.Hour).UTC()
	for i := range models {
		minute := i * 1440 / models
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprintf("%s%04d", idlePrefix, i), Task: noop, Start: start,
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

// Firing is schedules that come due while a node runs, beside whatever else the database holds.
type Firing struct {
	PerSecond int
	Seconds   int
	Burst     int           // due at one instant
	Gap       time.Duration // from the end of the steady ones to that
	Lead      time.Duration // from now to the first; what has to be ready by then must be
	Slots     int           // 0: default
}

// Fired is how late it was.
type Fired struct {
	Made, Began Quantiles // of those that came each second, from the nominal time
	BurstMade   Quantiles // the transaction's instant
	BurstBegan  Quantiles // the handler
	Node        float64   // share of a core, while they came
	Server      float64   // the same of PostgreSQL
}

// errLate says that the first schedules were due before a node was there.
var errLate = errors.New("the due schedules were not ready in time")

// Run makes the schedules, starts a node and listens. Each schedule runs once a minute, as a real one would again and
// again, so that over a minute none meets its own predecessor. On a machine that is too slow for the lead it begins
// again with a longer one.
func (f Firing) Run(ctx context.Context, s *Site) (out Fired, err error) {
	for range 4 {
		if out, err = f.try(ctx, s); !errors.Is(err, errLate) {
			break
		}
		f.Lead *= 2
	}
	return out, err
}

func (f Firing) try(ctx context.Context, s *Site) (out Fired, err error) {
	start := time.Now().Add(f.Lead).Truncate(time.Second).UTC()
	end := start.Add(time.Duration(f.Seconds) * time.Second)
	defer func() { err = errors.Join(err, s.forget(ctx)) }()
	if err := s.With(ctx, store.Options{Keep: keepAll}, func(st *store.Store) error {
		return f.schedules(ctx, s, st, start, end)
	}); err != nil {
		return out, err
	}
	if err := s.Calm(ctx); err != nil {
		return out, err
	}
	if time.Until(start) < time.Second { // a node would only make what has been missed
		return out, errLate
	}
	node, err := s.spawn(f.Slots)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, node.stop()) }()
	if time.Until(start) < 0 {
		return out, errLate
	}
	return f.listen(ctx, s, node, start, end)
}

func (f Firing) schedules(ctx context.Context, s *Site, st *store.Store, start, end time.Time) error {
	m := view.Manifest{Tasks: []task.Task{{Name: noop, Kind: task.KindFunc}}}
	for i := range min(f.Seconds, 60) {
		second := start.Add(time.Duration(i) * time.Second).Second()
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprintf("%s%02d", eachPrefix, second), Task: noop, Start: start,
			Rules: []schedule.Rule{{Cron: fmt.Sprintf("%d * * * * *", second)}}})
	}
	if f.Burst > 0 {
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: burstPrefix + "0", Task: noop, Rules: []schedule.Rule{{At: []time.Time{end.Add(f.Gap)}}}})
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

// listen reads what the node tells until all that was to come has come.
func (f Firing) listen(ctx context.Context, s *Site, node *offspring, start, end time.Time) (out Fired, err error) {
	const patience = 2 * time.Minute
	late := time.AfterFunc(time.Until(end.Add(f.Gap+patience)), node.kill) // ends the reading below
	defer late.Stop()
	defer context.AfterFunc(ctx, node.kill)()
	type shares struct {
		node, server float64
		err          error
	}
	used := make(chan shares, 1)
	go func() {
		var u shares
		u.node, u.server, u.err = s.shares(ctx, node.cmd.Process.Pid, start, end)
		used <- u
	}()
	var made, began, burstMade, burstBegan []time.Duration
	for len(began) < f.PerSecond*f.Seconds || len(burstBegan) < f.Burst {
		r, err := node.next()
		if err != nil {
			return out, node.trouble(fmt.Errorf("%d of %d jobs each second and %d of %d at once were run: %w",
				len(began), f.PerSecond*f.Seconds, len(burstBegan), f.Burst, err))
		}
		switch nominal := time.Unix(0, r.Nominal); {
		case !nominal.Before(start) && nominal.Before(end):
			made, began = append(made, r.made()), append(began, r.began())
		case nominal.Equal(end.Add(f.Gap)):
			burstMade, burstBegan = append(burstMade, r.made()), append(burstBegan, r.began())
		}
	}
	u := <-used
	return Fired{QuantilesOf(made), QuantilesOf(began), QuantilesOf(burstMade), QuantilesOf(burstBegan), u.node, u.server}, u.err
}

// shares is how much of a core a node and PostgreSQL take between two instants.
func (s *Site) shares(ctx context.Context, pid int, from, to time.Time) (node, server float64, err error) {
	var cpu [2][2]time.Duration
	for i, at := range []time.Time{from, to} {
		pause(ctx, time.Until(at))
		if cpu[i][0], err = treeCPU(pid); err != nil {
			return 0, 0, err
		}
		if s.Postgres() {
			if cpu[i][1], err = treeCPU(s.pid); err != nil {
				return 0, 0, err
			}
		}
	}
	over := float64(to.Sub(from))
	return float64(cpu[1][0]-cpu[0][0]) / over, float64(cpu[1][1]-cpu[0][1]) / over, nil
}

// forget removes the schedules, so that a later node has nothing to catch up with.
func (s *Site) forget(ctx context.Context) error {
	return s.With(context.WithoutCancel(ctx), store.Options{Keep: keepAll}, func(st *store.Store) error {
		return DeleteSchedules(context.WithoutCancel(ctx), st, duePrefix)
	})
}

// firing is measure 4. The idle schedules are saved once.
func (r *run) firing(ctx context.Context) (err error) {
	sites := map[*Database]*Site{}
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, d := range r.whole {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		sites[d] = s
		if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return Idle(ctx, s, st, r.Idle) }); err != nil {
			return err
		}
		if err := s.Calm(ctx); err != nil {
			return err
		}
	}
	return r.rounds(ctx, r.Slow, r.whole, func(d *Database) error {
		f, err := r.Firing.Run(ctx, sites[d])
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s due each second: ", thousands(fmt.Sprint(r.Firing.PerSecond)))
		r.quantiles(d.Name, name+"nominal time to made", f.Made)
		r.quantiles(d.Name, name+"nominal time to start", f.Began)
		r.report.Add(d.Name, name+"node's CPU, of a core", Percent, f.Node)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", Percent, f.Server)
		}
		name = fmt.Sprintf("%s due at once: ", thousands(fmt.Sprint(r.Firing.Burst)))
		r.report.Add(d.Name, name+"last one made", Time, float64(f.BurstMade.Max))
		r.report.Add(d.Name, name+"half started", Time, float64(f.BurstBegan.P50))
		r.report.Add(d.Name, name+"last one started", Time, float64(f.BurstBegan.Max))
		return nil
	})
}
