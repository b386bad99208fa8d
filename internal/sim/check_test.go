package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// The checked promises, in the words of docs/guarantees.md.
const (
	jobExists    = "An acknowledged job exists, and ends"
	recordedOnce = "An attempt is recorded once, and a job ends once"
	staleWrites  = "A worker that lost its lease can no longer write about the job"
	leasesGrow   = "The lease numbers of a job only grow"
	oneLease     = "A job has one lease at a time"
	workerStops  = "A worker that cannot renew stops its jobs before others get them"
	onlyDone     = "Nothing is recorded that was not done under its lease"
	oneKey       = "One job per idempotency key, one live job per active key"
	globalLimit  = "At most as many jobs of a queue have a lease as its global_limit says"
	oneNominal   = "A schedule makes at most one job for a nominal time"
	everyNominal = "Every nominal time that did not run has a row with the reason"
	scheduleLive = "An active schedule always has a next run"
	noOverlap    = "A schedule's overlap policy holds"
	itself       = "the simulation" // the simulation itself failed, so that nothing is known
	inOrder      = "Members of a cycle run strictly one after another"
)

// startStint records that a handler begins, and checks the handlers that run beside it.
func (w *world) startStint(s *stint) {
	w.trace("%s runs %d.%d %s", s.node, s.job, s.lease, s.task)
	w.mu.Lock()
	s.start = w.since()
	before := w.diary.open[s.job]
	limited, other := 0, map[string]*stint{}
	for _, all := range w.diary.open {
		for _, o := range all {
			if o.deaf {
				continue
			}
			if o.queue == "limited" {
				limited++
			}
			if o.schedule != "" && o.schedule == s.schedule && o.job != s.job && other[s.schedule] == nil {
				other[s.schedule] = o
			}
			if slices.Contains(members, o.task) && slices.Contains(members, s.task) && o.job != s.job {
				other["members"] = o
			}
		}
	}
	last := w.diary.leases[s.job]
	w.diary.leases[s.job] = max(last, s.lease)
	touched := w.diary.touched[s.job]
	w.diary.stints = append(w.diary.stints, s)
	w.diary.open[s.job] = append(before, s)
	promise, why := w.checkFlow(s)
	if promise == "" {
		promise, why = w.checkPart(s)
	}
	if promise == "" {
		promise, why = w.checkShared(s)
	}
	w.mu.Unlock()
	if promise != "" {
		w.broken(promise, "%s", why)
	}
	w.checkPlace(s)
	if s.lease <= last {
		w.broken(leasesGrow, "job %d runs under lease %d after %d", s.job, s.lease, last)
	}
	for _, o := range before {
		if !o.deaf && !touched {
			w.broken(workerStops, "job %d runs at %s under lease %d and at %s under lease %d", s.job, o.node, o.lease, s.node, s.lease)
		}
	}
	if s.queue == "limited" && limited >= 3 {
		w.broken(globalLimit, "job %d begins beside %d others of queue limited", s.job, limited)
	}
	if o := other[s.schedule]; o != nil && slices.Contains([]string{"skip", "one", "all", "finish"}, s.schedule) && s.planned && o.planned {
		w.broken(noOverlap, "job %d of schedule %s begins while job %d runs", s.job, s.schedule, o.job)
	}
	if o := other["members"]; o != nil {
		w.broken(inOrder, "member %s (job %d) begins while %s (job %d) runs", s.task, s.job, o.task, o.job)
	}
}

// members are the members of the cycle. They run only in the cycle.
var members = []string{"m1", "m2", "m3"}

// endStint records that a handler ended. It returns false if its process was killed before.
func (w *world) endStint(s *stint, ok bool) bool {
	w.mu.Lock()
	cut := s.ended
	if !cut {
		w.close(s)
		s.ok = ok
		w.partEnded(s)
	}
	w.mu.Unlock()
	if !cut {
		w.trace("%s ends %d.%d %v", s.node, s.job, s.lease, ok)
	}
	return !cut
}

// cutStints ends the handlers of a killed process.
func (w *world) cutStints(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.diary.open {
		for _, s := range slices.Clone(all) {
			if s.node == n.name {
				w.close(s)
			}
		}
	}
}

func (w *world) close(s *stint) {
	s.ended, s.end = true, w.since()
	w.diary.open[s.job] = slices.DeleteFunc(w.diary.open[s.job], func(o *stint) bool { return o == s })
	if len(w.diary.open[s.job]) == 0 {
		delete(w.diary.open, s.job)
	}
}

// acknowledged records that a user got the answer to an enqueue.
func (w *world) acknowledged(e job.Enqueued, key string) {
	w.mu.Lock()
	var first int64
	for _, k := range w.diary.known {
		if key != "" && k.key == key {
			first = k.id
			break
		}
	}
	w.diary.known = append(w.diary.known, known{e.Job.ID, key})
	w.mu.Unlock()
	if first != 0 && first != e.Job.ID {
		w.broken(oneKey, "key %s answers job %d, and job %d before", key, e.Job.ID, first)
	}
}

func (w *world) knownJobs() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []int64
	for _, k := range w.diary.known {
		if !slices.Contains(ids, k.id) {
			ids = append(ids, k.id)
		}
	}
	return ids
}

// canceled records the cancel request of a user: the job ends then, whatever its handler does.
func (w *world) canceled(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diary.touched[id] = true
}

// quietSchedules returns the schedules without a decision since an instant.
func (w *world) quietSchedules(since time.Time) (names []string) {
	if w.script.clock {
		return nil // rules with planned times are quiet until a clock that was set back reaches its earlier time
	}
	for _, row := range w.rows(`select name from belfry_schedules s where state = 'active' and not exists
		(select 1 from belfry_occurrences o where o.schedule_id = s.id and o.decided_at > $1)`, since.UnixMicro()) {
		names = append(names, row[0])
	}
	return names
}

// checkSchedulesLive checks that each schedule has made a decision since the faults ended.
func (w *world) checkSchedulesLive(calm time.Time) {
	for _, name := range w.quietSchedules(calm) {
		w.broken(scheduleLive, "schedule %s has decided nothing for %s", name, settles)
	}
}

// The audit compares the rows with the diary after the end of all jobs.

func (w *world) audit() {

	w.dump()
	none := func(promise, what, query string) {
		for _, row := range w.rows(query) {
			w.broken(promise, "%s: %v", what, row)
		}
	}
	none(jobExists, "job has not ended", `select id, task, state, queue from belfry_jobs`)
	none(oneLease, "lease of no job", `select job_id, number from belfry_leases l where not exists (select 1 from belfry_jobs j where j.id = l.job_id)`)
	none(oneLease, "pack is left", `select number, living from belfry_packs`)
	none(recordedOnce, "job ended twice", `select id, count(*) from belfry_jobs_done group by id having count(*) > 1`)
	none(recordedOnce, "attempt recorded twice", `select job_id, lease, count(*) from belfry_attempts group by job_id, lease having count(*) > 1`)
	none(leasesGrow, "attempts", `select a.job_id, a.lease, b.lease from belfry_attempts a join belfry_attempts b on a.job_id = b.job_id and a.number < b.number and a.lease >= b.lease`)
	none(oneNominal, "jobs of one nominal time", `select schedule, nominal, count(*) from belfry_jobs_done where trigger = 'schedule' group by schedule_id, nominal having count(*) > 1`)
	none(oneNominal, "occurrence without its job", `select o.schedule_id, o.nominal, o.job_id from belfry_occurrences o
		where decision = 'job' and not exists (select 1 from belfry_jobs_done j where j.id = o.job_id)`)
	none(everyNominal, "occurrence without a reason", `select schedule_id, nominal from belfry_occurrences where decision = 'skipped' and reason = ''`)
	none(everyNominal, "job without occurrence", `select id, schedule, nominal from belfry_jobs_done j
		where trigger = 'schedule' and not exists (select 1 from belfry_occurrences o where o.job_id = j.id)`)
	w.checkRecord()
	w.checkCoverage()
	w.auditFlow()
	w.auditWorkflows()
	w.auditSteps()
	w.auditWindows()
	w.auditHooks()
	w.auditAgeing()
	w.auditShared()
}

// checkRecord compares the record of attempts with the diary.
func (w *world) checkRecord() {
	ids := map[string]bool{}
	for _, row := range w.rows(`select id from belfry_jobs_done union select id from belfry_jobs`) {
		ids[row[0]] = true
	}
	for _, id := range w.knownJobs() {
		if !ids[strconv.FormatInt(id, 10)] {
			w.broken(jobExists, "job %d was acknowledged and does not exist", id)
		}
	}
	type ref struct{ job, lease string }
	done, good := map[ref]*stint{}, map[string]int{}
	for _, s := range w.diary.stints {
		done[ref{strconv.FormatInt(s.job, 10), strconv.FormatInt(s.lease, 10)}] = s
	}
	for _, row := range w.rows(`select id, lease, finished_at from belfry_jobs_done where outcome = 'ok' and kind = 'func'
		union select job_id, lease, ended_at from belfry_attempts where outcome = 'ok'`) {
		switch s := done[ref{row[0], row[1]}]; {
		case s == nil || !s.ok:
			w.broken(onlyDone, "job %s has a success under lease %s, and its handlers had none", row[0], row[1])
		case !w.script.clock && number(row[2]) < w.begun.Add(s.end).UnixMicro():
			w.broken(onlyDone, "job %s has a success under lease %s, before its handler ended", row[0], row[1])
		}
		if last := w.diary.leases[number(row[0])]; last > number(row[1]) {
			w.broken(staleWrites, "job %s has a success under lease %s, and ran under %d", row[0], row[1], last)
		}
		if good[row[0]]++; good[row[0]] > 1 {
			w.broken(recordedOnce, "job %s succeeded %d times", row[0], good[row[0]])
		}
	}
}

// checkCoverage checks that the occurrences of a schedule cover its planned times without a gap.
func (w *world) checkCoverage() {
	if w.script.clock {
		return
	}
	for _, sc := range w.plans() {
		rule := sc.Rules[0]
		every := rule.Every.D()
		switch {
		case rule.Anchor == schedule.AnchorFinish:
			continue
		case rule.Cron == "* * * * *":
			every = time.Minute
		case rule.Cron == "*/2 * * * *":
			every = 2 * time.Minute
		}
		rows := w.rows(`select nominal, until from belfry_occurrences where schedule_id = (select id from belfry_schedules where name = '` + sc.Name + `') order by nominal`)
		for k := 1; k < len(rows); k++ {
			before, this := number(rows[k-1][1]), number(rows[k][0])
			if before == 0 {
				before = number(rows[k-1][0])
			}
			if gap := time.Duration(this-before) * time.Microsecond; gap > every && !w.wasPaused(sc.Name, before, this) {
				w.broken(everyNominal, "schedule %s has nothing between %s and %s", sc.Name, time.UnixMicro(before).UTC(), time.UnixMicro(this).UTC())
			}
		}
	}
}

// wasPaused reports whether a schedule may have been paused between two instants.
func (w *world) wasPaused(name string, from, to int64) bool {
	for _, p := range w.diary.pauses {
		if p.schedule == name && p.from.UnixMicro() <= to && (p.to.IsZero() || p.to.UnixMicro() >= from) {
			return true
		}
	}
	return false
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// pausing is a period in which a schedule may have been paused.
type pausing struct {
	schedule string
	from, to time.Time
}

func (w *world) pausing(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diary.pauses = append(w.diary.pauses, pausing{schedule: name, from: time.Now()})
}

func (w *world) resumed(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.diary.pauses {
		if p := &w.diary.pauses[i]; p.schedule == name && p.to.IsZero() {
			p.to = time.Now()
		}
	}
}
