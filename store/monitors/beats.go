package monitors

import (
	"context"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Beat records a call of a heartbeat's URL, identified by its key, or by the digest of another tool's token.
func (s *Store) Beat(ctx context.Context, key string, call monitor.Call) (out view.Beaten, err error) {
	column := "beat_key"
	if len(key) == monitor.BeatDigestSize {
		column = "beat_digest"
	}
	// The key is looked up by a reader first: guessed keys must not hold up writers.
	if err := s.DB().Read(ctx, func(tx base.Tx) error {
		n, _, err := base.First(ctx, tx, base.ScanInt, `select count(*) from belfry.monitors where `+column+` = $1`, strings.ToLower(key))
		if err == nil && n == 0 {
			err = noBeat()
		}
		return err
	}); err != nil {
		s.NoteAvailability(ctx, err)
		return out, err
	}
	err = s.write(ctx, "beat", func(c *Change) error {
		row, found, err := base.First(ctx, c.Tx, s.ScanMonitor, `
			select `+MonitorColumns+`
			from belfry.monitors m
			where m.`+column+` = $1`+s.SQL.ForUpdate("m"), strings.ToLower(key))
		if err != nil {
			return err
		}
		if !found {
			return noBeat()
		}
		env, err := c.Surroundings(row)
		if err != nil {
			return err
		}
		call.Message, _ = core.CleanText(call.Message, task.MaxCheckMessage)
		call.RunID, _ = core.CleanText(call.RunID, 128)
		if err := c.applyJudgement(&row, monitor.Beat(row.Monitor, row.State, call, env, c.Now), nil); err != nil {
			return err
		}
		out = view.Beaten{Monitor: row.Name, Status: row.State.Status()}
		if res, is := beatResult(row.State, call, c.Now); is {
			return c.writeCall(row.ID, res)
		}
		return nil
	})
	return out, err
}

func noBeat() error {
	return core.Errorf(core.NotFound, "no heartbeat has this key").WithHint("see: belfry monitor show NAME")
}

// writeCall writes the result of a call. Calls of one transition share its instant, and so may transitions of two nodes: a later
// call then takes the next free one. The row of the monitor is locked, so no other call takes it meanwhile.
func (c *Change) writeCall(id int64, res checked) error {
	for {
		row := resultRowOf(id, res)
		n, err := c.insertResults([]resultRow{row})
		if err != nil || n > 0 {
			return err
		}
		last, _, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
			select max(at)
			from belfry.results
			where hour = $1 and monitor_id = $2`, row.Hour, id)
		if err != nil {
			return err
		}
		res.At = base.Instant(last).Add(time.Microsecond)
	}
}

// beatResult returns the result row of a call that reports an outcome or only logs a message.
func beatResult(after monitor.State, call monitor.Call, now time.Time) (checked, bool) {
	o := checked{Observation: monitor.Observation{At: now, CheckResult: task.CheckResult{Outcome: task.CheckOK, Message: call.Message}}}
	switch {
	case call.Kind == monitor.CallStart:
		return o, false
	case call.Kind == monitor.CallFail || call.ExitCode != nil && *call.ExitCode != 0:
		o.Outcome, o.Code, o.Message = task.CheckFail, task.CodeReported, after.LastMessage
	}
	if call.Kind != monitor.CallLog && after.PausedAt.IsZero() { // the call was judged
		o.Latency = after.LastLatency
	}
	return o, true
}
