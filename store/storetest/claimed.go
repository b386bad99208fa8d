package storetest

import (
	"reflect"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func init() {
	add("jobs that are claimed together are each what they were enqueued as", caseJobsThatAreClaimedTogetherAreEachWhatThey)
}

func caseJobsThatAreClaimedTogetherAreEachWhatThey(b *bench) {
	b.task("t")
	b.task("other")
	s := b.session("t", "other")
	priority, timeout := 7, core.Duration(5*time.Second)
	for _, n := range []job.NewJob{
		{}, {Input: []byte(`{"a":[1]}`)}, {Priority: &priority}, {Tags: []string{"red", "blue"}}, {Timeout: timeout},
		{MaxAttempts: 9}, {ActiveKey: "a"}, {Key: "k"}, {Task: "other"}, {}, {Delay: core.Duration(time.Millisecond)},
	} {
		if n.Task == "" {
			n.Task = "t"
		}
		b.clock.Move(time.Microsecond)
		b.enqueue(n)
	}
	b.clock.Move(time.Second)
	want(b, "promoted", b.promote(), 1)
	asTheyAre := func(claimed []job.LeasedJob, n int) {
		b.Helper()
		want(b, "claimed", len(claimed), n)
		for _, j := range claimed {
			if row := must(b.st.Job(b.ctx, "default", j.Job.ID))(b); !reflect.DeepEqual(j.Job, row) {
				b.Errorf("claimed job:\ngot %+v\nwant %+v", j.Job, row)
			}
		}
	}
	c := b.claim(s, 20)
	asTheyAre(c.Jobs, 11)
	b.enqueue(job.NewJob{Task: "t"})
	asTheyAre(b.claim(s, 20).Jobs, 1)
	b.finish(s, c.Jobs[1], job.OutcomeHandedBack) // the job has an attempt already
	asTheyAre(b.claim(s, 20).Jobs, 1)
}
