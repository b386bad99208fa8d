//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Samples makes twenty finished jobs in the ordinary way: most were enqueued and went well at once, one went well at its
// second attempt, one failed, and some came from schedules.
func Samples(ctx context.Context, st *store.Store) error {
	const fails, again, fired = "fails", "again", 4
	var h worker.Handlers
	nothing(&h)
	worker.Handle(&h, fails, func(context.Context, struct{}) (struct{}, error) {
		return struct{}{}, errors.New("the sample fails, as it should")
	})
	worker.Handle(&h, again, func(ctx context.Context, _ struct{}) (struct{}, error) {
		if j, _ := worker.JobFrom(ctx); j.Snoozes == 0 {
			return struct{}{}, worker.Snooze(time.Millisecond)
		}
		return struct{}{}, nil
	})
	if err := st.EnsureFuncs(ctx, core.DefaultNamespace, h.Names()); err != nil {
		return err
	}
	jobs := append(newJobs(14), job.NewJob{Task: fails, MaxAttempts: 1}, job.NewJob{Task: again})
	if _, err := st.Enqueue(ctx, jobs); err != nil {
		return err
	}
	soon := time.Now().Add(100 * time.Millisecond).UTC()
	for i := range fired {
		if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: fmt.Sprintf("sample-%d", i), Task: noop, Rules: []schedule.Rule{{At: []time.Time{soon}}}}); err != nil {
			return err
		}
	}
	counted := newTally()
	node, err := embed(ctx, st, Tuning{}, &h, counted)
	if err != nil {
		return err
	}
	err = node.await(ctx, counted, int64(len(jobs)+1+fired)) // the snooze is a result too
	return errors.Join(err, node.stop())
}

// Fill makes a history of n finished jobs that ended over the days before now, beside the samples that they copy.
func Fill(ctx context.Context, s *Site, n, days int) error {
	err := s.With(ctx, store.Options{Keep: keepAll}, func(st *store.Store) error {
		if err := Samples(ctx, st); err != nil || n == 0 {
			return err
		}
		return s.CloneHistory(ctx, st, n, time.Duration(days)*24*time.Hour)
	})
	if err != nil {
		return err
	}
	return s.Calm(ctx)
}

// history is measure 7: the same with and without finished jobs, in turns.
func (r *run) history(ctx context.Context) (err error) {
	var sites []*Site
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	pair := map[*Database][]*Site{}
	for _, d := range r.whole {
		for range 2 {
			s, err := d.NewSite(ctx)
			if err != nil {
				return err
			}
			sites, pair[d] = append(sites, s), append(pair[d], s)
		}
		begun := time.Now()
		if err := Fill(ctx, pair[d][1], r.Past, r.Days); err != nil {
			return err
		}
		if err := Fill(ctx, pair[d][0], 0, 1); err != nil { // the samples alone
			return err
		}
		r.say("%s: history of %s jobs in %s", d.Name, thousands(fmt.Sprint(r.Past)), time.Since(begun).Round(time.Second))
	}
	round := 0
	return r.rounds(ctx, r.Slow, r.whole, func(d *Database) error {
		round++
		var both [2]figures
		for k := range 2 {
			side := (k + round/len(r.whole)) % 2
			if both[side], err = r.figures(ctx, pair[d][side]); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("beside %s finished jobs, to none: ", thousands(fmt.Sprint(r.Past)))
		for i, f := range both[1] {
			r.report.Compare(d.Name, name+f.name, f.unit, f.value, both[0][i].value)
		}
		return nil
	})
}

type figures []struct {
	name  string
	unit  Unit
	value float64
}

// figures are what a history might slow down.
func (r *run) figures(ctx context.Context, s *Site) (out figures, err error) {
	add := func(name string, unit Unit, value float64) {
		out = append(out, struct {
			name  string
			unit  Unit
			value float64
		}{name, unit, value})
	}
	err = s.With(ctx, store.Options{Keep: keepAll}, func(st *store.Store) error {
		singly, err := EnqueueSingly(ctx, s, st, 1, r.Singly)
		if err != nil {
			return err
		}
		if _, err := Burn(ctx, s, st, singly.Jobs+1, r.Tuned); err != nil {
			return err
		}
		in, err := EnqueueBulk(ctx, s, st, r.Now)
		if err != nil {
			return err
		}
		burn, err := Burn(ctx, s, st, r.Now, Tuning{})
		if err != nil {
			return err
		}
		if _, err = EnqueueBulk(ctx, s, st, r.Now); err != nil {
			return err
		}
		tuned, err := Burn(ctx, s, st, r.Now, r.Tuned)
		if err != nil {
			return err
		}
		q, err := Latency(ctx, st, st, r.Probes, 0, Tuning{})
		add("enqueue one by one", Rate, singly.Rate())
		add("enqueue 1,000 in a call", Rate, in.Rate())
		add("burn-down, default", Rate, burn.Rate())
		add("burn-down, tuned", Rate, tuned.Rate())
		add("burn-down, tuned, CPU per job", Time, tuned.Per(float64(tuned.CPU())))
		add("enqueue to start, idle, p50", Time, float64(q.P50))
		add("enqueue to start, idle, p99", Time, float64(q.P99))
		return err
	})
	if err != nil {
		return out, err
	}
	f := r.Firing
	f.Seconds, f.Burst, f.Lead = max(f.Seconds/2, 3), 0, f.Lead/2
	fired, err := f.Run(ctx, s)
	add("due to start, p50", Time, float64(fired.Began.P50))
	add("due to start, p99", Time, float64(fired.Began.P99))
	return out, err
}
