package program

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// output is the value of a job of kind program.
type output struct {
	ExitCode   int   `json:"exit_code"`
	DurationMS int64 `json:"duration_ms"`
}

// outcome returns the result of a program's end.
func (n *running) outcome() job.Finish {
	g, code := n.Task.Program, n.result.ExitCode
	f := job.Finish{Ref: n.Ref(), Outcome: job.OutcomeOK, Signal: n.result.Signal, Sandboxed: n.sandboxed()}
	if f.Signal == "" {
		f.ExitCode = &code
	}
	f.Output, _ = json.Marshal(output{code, n.took.Milliseconds()})
	if f.Signal == "" && succeeded(g, code) && !n.over {
		return f
	}
	if n.result.Expired && f.Signal == "SIGKILL" {
		cut := n.CutOff(worker.HeardLate)
		f.Outcome, f.Error = cut.Outcome, cut.Error
		return f
	}
	f.Outcome, f.Error = job.OutcomeError, n.capture.last.After(n.why())
	f.NoRetry = f.Signal == "" && slices.Contains(g.FatalCodes, code)
	return f
}

func succeeded(g *task.Program, code int) bool {
	if len(g.SuccessCodes) == 0 {
		return code == 0
	}
	return slices.Contains(g.SuccessCodes, code)
}

// why returns how a program failed, and which limit may be the cause.
func (n *running) why() string {
	l := n.Task.Program.Limits
	text := fmt.Sprintf("exit code %d", n.result.ExitCode)
	if n.result.Signal != "" {
		text = "killed by " + n.result.Signal
	}
	switch {
	case n.over:
		return fmt.Sprintf("killed because it left more than %d bytes or %d files in BELFRY_OUTPUT_DIR (limits.output_size, limits.outputs)", l.OutputSize, l.Outputs)
	case n.result.TmpOver:
		return fmt.Sprintf("killed because it left more than %s in its TMPDIR (limits.disk)", core.SizeText(l.Disk))
	case n.result.OOM:
		return fmt.Sprintf("ran out of memory: it may use %s (limits.memory); %s", core.SizeText(l.Memory), text)
	case n.result.PIDsRefused > 0:
		return fmt.Sprintf("%s, after it wanted more than %d processes and threads (limits.processes)", text, l.Processes)
	case n.result.Signal == "SIGSYS":
		return text + ": it made a system call that the sandbox forbids"
	case n.result.Signal == "SIGXFSZ":
		return fmt.Sprintf("%s: a file grew over %s (the larger of limits.disk and limits.output_size)", text, core.SizeText(max(l.Disk, l.OutputSize)))
	}
	return text
}

// sandboxed returns the facts of the sandbox for the record of a run.
func (n *running) sandboxed() *task.Sandboxed {
	a, u := n.result.Applied, n.result.Usage
	s := &task.Sandboxed{
		SHA256: n.Task.Program.SHA256, Isolation: task.Isolation(a.Tier.String()), Network: a.Network, OOM: n.result.OOM,
		Usage: task.Usage{
			Wall: core.Duration(n.took), User: core.Duration(u.User), System: core.Duration(u.System),
			Memory: max(u.MemoryPeak, 0),
		},
	}
	if s.Usage.Memory == 0 {
		s.Usage.Memory = u.MaxRSS
	}
	for _, l := range a.Layers {
		s.Layers = append(s.Layers, string(l))
	}
	for _, m := range a.Missing {
		s.Missing = append(s.Missing, string(m.Layer)+": "+m.Detail)
	}
	if !n.folder.bounded {
		s.Missing = append(s.Missing, "limit output: only looked at now and then")
	}
	for _, l := range a.Limits {
		switch l.By {
		case "":
			s.Missing = append(s.Missing, fmt.Sprintf("limit %s: this machine has nothing that holds it", l.Name))
		case "watch":
			s.Missing = append(s.Missing, fmt.Sprintf("limit %s: only looked at now and then", l.Name))
		}
	}
	return s
}
