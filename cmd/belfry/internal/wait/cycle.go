package wait

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
)

// Tally returns the results of the members of a run in one line.
func Tally(o cycle.Output) string {
	return fmt.Sprintf("%d ok, %d failed, %d skipped", o.OK, o.Failed, o.Skipped)
}

// DrawResults draws how the members of a cycle ended.
func DrawResults(c *cli.CLI, w io.Writer, results []cycle.MemberResult) {
	g := c.Grid("MEMBER", "RESULT", "DURATION", "TRIES", "JOB", "NOTE")
	for _, r := range results {
		took, tries, job := "", "", ""
		if !r.StartedAt.IsZero() {
			took = core.SpanText(r.EndedAt.Sub(r.StartedAt))
		}
		if r.Attempts > 0 {
			tries = strconv.Itoa(r.Attempts)
		}
		if r.JobID > 0 {
			job = strconv.FormatInt(r.JobID, 10)
		}
		g.Row(r.Task, g.State(string(r.State)), took, tries, job, cli.Clip(cmp.Or(r.Error, r.Reason), 100))
	}
	g.Write(w)
}

// CycleOutput returns the output of a cycle. A canceled cycle has none.
func CycleOutput(j job.Job) (o cycle.Output) {
	_ = json.Unmarshal(j.Output, &o)
	return o
}
