package batch

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/worker"
)

// suspended is the context of a job whose lease ended while its process was suspended: Err looks at the clock, and the timer that
// closes Done has not fired yet.
type suspended struct{ context.Context }

func (suspended) Err() error { return worker.ErrLost }

func TestABatchThatBeginsAfterASuspensionLeavesOutJobsWithoutALease(t *testing.T) {
	t.Parallel()
	var got []int
	g := gathering[int, int]{
		options: Options{Size: 2, Wait: time.Minute}, forming: map[string]*group[int, int]{},
		fn: func(_ context.Context, jobs []*Job[int, int]) error {
			for _, j := range jobs {
				got = append(got, j.In)
				j.Succeed(0)
			}
			return nil
		},
	}
	for _, batch := range [][]*Job[int, int]{
		{{In: 1, ctx: suspended{t.Context()}}, {In: 2, ctx: t.Context()}},
		{{In: 3, ctx: suspended{t.Context()}}, {In: 4, ctx: suspended{t.Context()}}},
	} {
		for _, j := range batch {
			j.ended = make(chan struct{})
			g.join(j)
		}
		for _, j := range batch {
			<-j.ended
			if lost := j.In != 2; (j.err != nil) != lost {
				t.Errorf("job %d: %v", j.In, j.err)
			}
		}
	}
	if len(got) != 1 || got[0] != 2 {
		t.Errorf("the batches had jobs %v, want only 2", got)
	}
}
