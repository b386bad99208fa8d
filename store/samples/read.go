package samples

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// MaxQueues bounds the queues in one answer.
const MaxQueues = 1000

// QueueSamples returns how many jobs waited in queues over time. A sample without waiting jobs is a point of zeros.
func (s *Store) QueueSamples(ctx context.Context, q job.SampleQuery) (out job.Samples, err error) {
	q = q.WithDefaults()
	if err := q.Validate(); err != nil {
		return out, err
	}
	if len(q.Queues) > MaxQueues {
		return out, core.InvalidField("queue", "", "lists more than 1000 queues", "ask for fewer at a time")
	}
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	out.Step = core.Duration(q.Step)
	span := minuteSpan
	if q.Hourly() {
		span = hourSpan
	}
	from := now.Add(-q.Within).Truncate(q.Step)
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		points, err := s.taken(ctx, tx, span, from, now, q.Step)
		if err != nil {
			return err
		}
		out.Items = []job.QueueSamples{}
		for _, name := range slices.Sorted(slices.Values(base.Unique(q.Queues))) {
			seen, err := base.Collect(ctx, tx, scanSample, `
				select queue, at, ready, more, oldest, running
				from belfry.queue_samples
				where queue = $1 and namespace = $2 and span = $3 and at >= $4 and at <= $5
				order by at`, name, base.NamespaceOr(q.Namespace), span, base.Micros(from), base.Micros(now))
			if err != nil {
				return err
			}
			out.Items = append(out.Items, job.QueueSamples{Queue: name, Points: fold(points, seen, q.Step)})
		}
		if q.Queues != nil {
			return nil
		}
		all, err := base.Collect(ctx, tx, scanSample, `
			select queue, at, ready, more, oldest, running
			from belfry.queue_samples
			where span = $1 and at >= $2 and at <= $3 and namespace = $4
			order by queue, at`, span, base.Micros(from), base.Micros(now), base.NamespaceOr(q.Namespace))
		for len(all) > 0 && len(out.Items) < MaxQueues {
			name := all[0].queue
			n := slices.IndexFunc(all, func(o seenIn) bool { return o.queue != name })
			if n < 0 {
				n = len(all)
			}
			out.Items = append(out.Items, job.QueueSamples{Queue: name, Points: fold(points, all[:n], q.Step)})
			all = all[n:]
		}
		return err
	})
	return out, err
}

// taken returns a point of zeros for each step in which a sample was taken.
func (s *Store) taken(ctx context.Context, tx base.Tx, span int, from, now time.Time, step time.Duration) ([]job.QueueSample, error) {
	all, err := base.Collect(ctx, tx, func(r base.Rows) (p job.QueueSample, err error) {
		var more int64
		err = r.Scan(base.ScanTime(&p.At), &more)
		p.More = more > 0
		return p, err
	}, `select at, more from belfry.sampled where span = $1 and at >= $2 and at <= $3 order by at`, span, base.Micros(from), base.Micros(now))
	points := []job.QueueSample{}
	for _, p := range all {
		p.At = p.At.Truncate(step)
		if n := len(points); n > 0 && points[n-1].At.Equal(p.At) {
			points[n-1].Merge(p)
		} else {
			points = append(points, p)
		}
	}
	return points, err
}

type seenIn struct {
	queue string
	job.QueueSample
}

func scanSample(r base.Rows) (o seenIn, err error) {
	var oldest, more int64
	err = r.Scan(&o.queue, base.ScanTime(&o.At), &o.Ready, &more, &oldest, &o.Running)
	o.More = more > 0
	o.Oldest = core.Duration(time.Duration(oldest) * time.Microsecond)
	return o, err
}

// fold adds samples, oldest first, to the existing points.
func fold(points []job.QueueSample, seen []seenIn, step time.Duration) []job.QueueSample {
	points, i := slices.Clone(points), 0
	for _, o := range seen {
		for i < len(points) && points[i].At.Before(o.At.Truncate(step)) {
			i++
		}
		if i < len(points) && points[i].At.Equal(o.At.Truncate(step)) {
			points[i].Merge(o.QueueSample)
		}
	}
	return points
}
