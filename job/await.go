package job

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/core"
)

// Ended is the end of a job for which a step of another job waited.
type Ended struct {
	State  State           `json:"state" enum:"succeeded,failed,canceled,skipped"`
	Error  string          `json:"error,omitempty" doc:"Of the last attempt of a job that failed; why another was canceled or skipped; at most 1000 bytes"`
	Output json.RawMessage `json:"output,omitempty"`
	Large  bool            `json:"large,omitempty" doc:"The output is too large to be handed on: read it from the job"`
}

// handedOn is the most bytes of an output in a step, so that the whole result is within [MaxStepResult].
const handedOn = MaxStepResult - 8<<10

// Text returns the result of the waiting step as JSON. The output stays as it was written.
func (e Ended) Text() json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // escaping makes six bytes of one, and the output may consist of such characters
	if err := enc.Encode(e); err != nil {
		panic(fmt.Sprintf("the end of a job: %v", err)) // an output was checked when it was kept
	}
	return bytes.TrimSpace(b.Bytes())
}

// EndedOf returns the end of job j.
func EndedOf(j Job) Ended {
	e := Ended{State: j.State, Output: j.Output, Large: len(j.Output) > handedOn}
	if e.Large {
		e.Output = nil
	}
	why := ""
	switch j.State {
	case Failed:
		why = core.Or(j.Error, j.Note)
	case Canceled, Skipped: // the error of the last attempt, if any, is not the cause
		why = core.Or(j.Note, string(j.Reason))
	}
	e.Error, _ = core.CleanText(why, 1000)
	return e
}
