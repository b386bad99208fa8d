//go:build linux

package e2e

import (
	"regexp"
	"strings"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

// check compares the history with the record.
func (c *chaos) check() {
	c.t.Helper()
	asked := c.recorder.Now()
	r := c.record()
	history := readHistory(c.t, c.history)
	v := &verdict{t: c.t}
	for _, why := range c.errorsLogged() {
		v.errorf("%s", why)
	}
	if c.server != nil {
		if n := pgtest.Deadlocks(c.server); n > 0 {
			v.errorf("%d times transactions waited for each other until the server ended one", n)
		}
	}
	seen := map[string]bool{}
	for _, why := range c.load.refused {
		if what := requestID.ReplaceAllString(why, ""); !seen[what] {
			v.errorf("a client was refused: %s", why)
			seen[what] = true
		}
	}
	judge(v, r, history)
	checkPromises(v, r, promises{c.load.acked, c.load.keyless, c.load.canceled})
	for _, why := range c.strays {
		v.errorf("%s", why)
	}
	c.writeHistory(r, asked)
	found := checkHistoryFile(v, c.recorded)
	if n := found.Counts; n.Limited < 10 || n.Runs == 0 {
		v.errorf("too little of limits and workflows is in the history to prove anything: %+v", n)
	}
	c.t.Logf("history %s: %+v", c.recorded, found.Counts)
	if got := c.site.try("check-history", c.recorded); got.code != 0 {
		v.errorf("belfry check-history: %d %s %s", got.code, got.stdout, got.stderr)
	}
	c.summarize(v, r, history)
}

// record reads the jobs, attempts and occurrences that Belfry recorded.
func (c *chaos) record() record {
	c.t.Helper()
	api := c.places[0].api
	r := record{jobs: map[int64]job.Job{}, attempts: map[int64][]job.Attempt{}, occurrences: map[string][]schedule.Occurrence{}, grid: grid, limits: map[string]int{"strait": narrowLimit}, mayFail: mayFail}
	for _, j := range allJobs(c.t, api, job.Filter{}) {
		r.jobs[j.ID] = j
		r.attempts[j.ID] = must[[]job.Attempt](c.t)(api.Attempts(c.t.Context(), "default", j.ID))
	}
	for name := range grid {
		r.occurrences[name] = allOccurrences(c.t, api, name)
	}
	for _, name := range loops {
		r.occurrences[name] = allOccurrences(c.t, api, name)
	}
	return r
}

// summarize logs what the history covered, and fails if it is too little.
func (c *chaos) summarize(v *verdict, r record, history []line) {
	tries, reasons, runs, ends := map[job.Outcome]int{}, map[core.Reason]int{}, map[string]int{}, map[job.State]int{}
	for _, as := range r.attempts {
		for _, a := range as {
			tries[a.Outcome]++
		}
	}
	for _, list := range r.occurrences {
		for _, o := range list {
			if o.Decision == schedule.DecidedSkipped {
				reasons[o.Reason] += o.Count
			}
		}
	}
	for _, j := range r.jobs {
		runs[j.Schedule]++
		ends[j.State]++
	}
	c.t.Logf("%d jobs by schedule %v, by end %v; %d acknowledged to clients, %d asked to end; attempts %v, nominal times skipped %v, %d lines of history, the clock off by %s",
		len(r.jobs), runs, ends, len(c.load.acked)+len(c.load.keyless), len(c.load.canceled), tries, reasons, len(history), c.off)
	if tries[job.OutcomeError] == 0 || tries[job.OutcomeSnoozed] == 0 || len(c.load.acked) < 10 || len(c.load.keyless) == 0 {
		v.errorf("too little happened to prove anything")
	}
}

// errorsLogged finds the errors in the logs of nodes. An error needs a person; a
// fault that heals by itself must not be logged as one. Equal errors are shown once.
func (c *chaos) errorsLogged() map[string]string {
	found := map[string]string{}
	for _, p := range c.lives {
		for text := range strings.Lines(p.stderr.String()) {
			if _, what, is := strings.Cut(text, "level=ERROR"); is {
				found[requestID.ReplaceAllString(what, "")] = p.name + " logged: " + text
			}
		}
	}
	return found
}

var requestID = regexp.MustCompile(`request(=| id )\w+`)
