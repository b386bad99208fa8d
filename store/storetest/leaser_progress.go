package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

func init() {
	addLeaser("progress is the last that the attempt said, with an estimate of its end, and a later attempt begins anew", caseProgressIsTheLast)
	addLeaser("progress under a lost lease, or by another session, is dropped", caseProgressUnderALostLease)
	add("housekeeping removes the progress of jobs that are gone, and no other", caseHousekeepingRemovesProgress)
}

func (d *leaserBench) sendProgress(session string, ref job.Ref, percent float64, message string) {
	d.Helper()
	k, is := d.br.(job.ProgressKeeper)
	if !is {
		d.Fatalf("%T does not implement ProgressKeeper", d.br)
	}
	ok(d, k.SaveProgress(d.ctx, session, []job.AttemptProgress{{Ref: ref, Progress: job.Progress{Percent: percent, Message: message, Counters: map[string]int64{"rows": int64(percent)}}}}))
}

func (d *leaserBench) progress(id int64) string {
	d.Helper()
	g := d.job(id).Progress
	if g == nil {
		return "none"
	}
	end := "unknown"
	if !g.EndAt.IsZero() {
		end = "in " + g.EndAt.Sub(g.At).String()
	}
	return fmt.Sprintf("%.2f %s %d, ends %s", g.Percent, g.Message, g.Counters["rows"], end)
}

func caseProgressIsTheLast(d *leaserBench) {
	d.task("t", attempts(3))
	id := d.one("t")
	s := d.session("t")
	ref := d.claimOne(s)
	want(d, "at first", d.progress(id), "none")
	d.sendProgress(s, ref, 10, "reads")
	want(d, "progress after one report", d.progress(id), "10.00 reads 10, ends unknown")
	d.Move(10 * time.Second)
	d.sendProgress(s, ref, 30.25, "writes")
	want(d, "progress after the second report", d.progress(id), "30.25 writes 30, ends in 34s")
	d.Move(10 * time.Second)
	d.sendProgress(s, ref, 30.25, "")
	want(d, "progress after a report without a change", d.progress(id), "30.25  30, ends in 1m8s")
	d.finish(s, ref, job.OutcomeError)
	want(d, "progress of a waiting job", d.progress(id), "30.25  30, ends unknown")
	d.Move(time.Minute)
	d.promote()
	ref = d.claimOne(s)
	want(d, "progress of the next attempt before its first report", d.progress(id), "none")
	d.sendProgress(s, ref, 50, "again")
	want(d, "progress of the next attempt", d.progress(id), "50.00 again 50, ends unknown")
	d.sendProgress(s, ref, 100, "done")
	d.finish(s, ref, job.OutcomeOK)
	want(d, "in the end", d.progress(id), "100.00 done 100, ends unknown")
	k := d.br.(job.ProgressKeeper)
	for _, bad := range []job.Progress{{Percent: -1}, {Percent: 100.5}, {Message: strings.Repeat("x", job.MaxProgressMessage+1)}, {Counters: map[string]int64{"": 1}}} {
		wantCode(d, k.SaveProgress(d.ctx, s, []job.AttemptProgress{{Ref: ref, Progress: bad}}), core.Invalid, "")
	}
	if (job.Progress{Percent: math.NaN()}).Validate() == nil {
		d.Error("progress of NaN percent: got no error")
	}
}

func caseProgressUnderALostLease(d *leaserBench) {
	d.task("t", attempts(3))
	id := d.one("t")
	s, other := d.session("t"), d.session("t")
	ref := d.claimOne(s)
	d.sendProgress(other, ref, 10, "forged")
	want(d, "by another session", d.progress(id), "none")
	d.sendProgress(s, ref, 20, "own")
	d.finish(s, ref, job.OutcomeError)
	d.sendProgress(s, ref, 30, "late")
	want(d, "after the end", d.progress(id), "20.00 own 20, ends unknown")
	d.Move(time.Minute)
	d.promote()
	d.claimOne(s)
	d.sendProgress(s, ref, 40, "later")
	want(d, "under a lost lease", d.progress(id), "none")
}

func caseHousekeepingRemovesProgress(b *bench) {
	b.task("t")
	s := b.session("t")
	b.enqueue(job.NewJob{Task: "t"})
	b.enqueue(job.NewJob{Task: "t"})
	jobs := b.claim(s, 2).Jobs
	ok(b, b.st.SaveProgress(b.ctx, s.ID, []job.AttemptProgress{
		{Ref: refOf(jobs[0]), Progress: job.Progress{Percent: 1}}, {Ref: refOf(jobs[1]), Progress: job.Progress{Percent: 1}}, {Ref: refOf(jobs[1]), Progress: job.Progress{Percent: 2}},
	}))
	list := must(b.st.Jobs(b.ctx, job.Filter{}))(b).Items
	want(b, "in a list", fmt.Sprint(list[0].Progress.Percent, list[1].Progress.Percent), "2 1")
	b.finish(s, jobs[0], job.OutcomeOK)
	b.sql(`delete from belfry.jobs_done`)
	must(b.st.Prune(b.ctx))(b)
	want(b, "left", b.count(`select min(job_id) from belfry.progress`), jobs[1].Job.ID)
}
