package job

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Limits of signals.
const (
	MaxSignal  = 64 << 10 // bytes of data
	MaxSignals = MaxSteps // of a job
)

// Signal is a message to a job, for the waiting step with its name. A signal that comes before the step is kept.
type Signal struct {
	Name  string          `json:"name" doc:"Name of the step that waits for it; at most 128 bytes"`
	Input json.RawMessage `json:"input,omitempty" doc:"What it brings, the result of the step; at most 64 KiB of JSON; default: null"`
}

// SentSignal is the result of sending a [Signal].
type SentSignal struct {
	Existing bool      `json:"existing" doc:"A signal of this name was there before: that one counts, and this one changes nothing"`
	Taken    bool      `json:"taken" doc:"A step has taken the signal that counts; otherwise it is kept for one"`
	At       time.Time `json:"at" doc:"When the signal that counts came"`
	By       string    `json:"by,omitempty" doc:"Who sent it"`
}

// WithDefaults returns a copy with the defaults of empty fields.
func (s Signal) WithDefaults() Signal {
	if len(s.Input) == 0 {
		s.Input = json.RawMessage("null")
	}
	return s
}

// Validate returns the problems of a signal as one error, or nil.
func (s Signal) Validate() error {
	var p core.Problems
	checkStepName(&p, s.Name)
	if len(s.Input) > MaxSignal {
		p.Add("input", fmt.Sprint(len(s.Input), " bytes"), fmt.Sprintf("is over the limit of %d bytes", MaxSignal), "keep large values elsewhere and send where")
	} else {
		core.CheckInput(&p, "input", s.Input)
	}
	return p.Err("signal")
}
