package workflow

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

const (
	// MaxSignal bounds the data of a signal, in bytes.
	MaxSignal = 64 << 10
	// MaxSignals bounds the signals of a run.
	MaxSignals = 1000
)

// Signal is a message to a run. One that comes before a step waits for it is kept.
type Signal struct {
	Name   string          `json:"name" doc:"Of the signal; for an approval the name of its step"`
	ID     string          `json:"id,omitempty" doc:"A second signal with the same id is not taken; default: every one is"`
	Input  json.RawMessage `json:"input,omitempty" doc:"What it brings, the output of the step; at most 64 KiB of JSON"`
	Reject bool            `json:"reject,omitempty" doc:"Of an approval: the answer is no, and the step fails"`
	Note   string          `json:"note,omitempty" doc:"Why; kept in the audit and with the run"`
	By     string          `json:"by,omitempty" readOnly:"true" doc:"Who sent it"`
	At     time.Time       `json:"at,omitzero" readOnly:"true"`
}

// Sent is the answer to a signal.
type Sent struct {
	Existing bool `json:"existing" doc:"A signal with this id was there already"`
	Taken    bool `json:"taken" doc:"A step waited for it; otherwise it is kept for one"`
}

// Validate returns the problems of a signal.
func (s Signal) Validate() error {
	var p core.Problems
	core.CheckName(&p, "name", s.Name)
	if clean, cut := core.CleanText(s.ID, core.MaxKey); cut || clean != s.ID {
		p.Addf("id", s.ID, "is not plain text of at most %d bytes", core.MaxKey)
	}
	if len(s.Input) > MaxSignal {
		p.Addf("input", len(s.Input), "is over the limit of %d bytes", MaxSignal)
	} else if len(s.Input) > 0 {
		core.CheckInput(&p, "input", s.Input)
	}
	checkNote(&p, s.Note)
	return p.Err("signal")
}

func checkNote(p *core.Problems, note string) {
	if clean, cut := core.CleanText(note, core.MaxDescription); cut || clean != note {
		p.Addf("note", fmt.Sprint(len(note), " bytes"), "is not plain text of at most %d bytes", core.MaxDescription)
	}
}

// Retrying is how a run is retried.
type Retrying struct {
	From  string          `json:"from,omitempty" doc:"Step to begin at, with all behind it; default: the steps that did not succeed"`
	Input json.RawMessage `json:"input,omitempty" doc:"Input of the workflow from now on; default: as it was"`
	Note  string          `json:"note,omitempty" doc:"Why; kept in the audit"`
	Key   string          `json:"key,omitempty" doc:"Idempotency key: a run that was retried with it is not retried again; remembered for 24h"`
}

// Retried is the answer to a retry: the run as it is now.
type Retried struct {
	Status
	Existing bool `json:"existing,omitempty" doc:"The run was retried already, with the same key"`
}

// Validate returns the problems of a retry.
func (r Retrying) Validate() error {
	var p core.Problems
	if len(r.Input) > 0 {
		core.CheckInput(&p, "input", r.Input)
	}
	checkNote(&p, r.Note)
	job.CheckKey(&p, "key", r.Key)
	return p.Err("retry")
}

// Item is one job of a step, as people see it.
type Item struct {
	Item      int       `json:"item" doc:"Place in the list of for_each or matrix, from 0"`
	JobID     int64     `json:"job_id,omitempty"`
	State     string    `json:"state" doc:"active, or how its job ended"`
	Error     string    `json:"error,omitempty"`
	Attempts  int       `json:"attempts,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

// Status is a run as people see it.
type Status struct {
	Run     Run             `json:"run"`
	Plan    Plan            `json:"plan"`
	NextAt  time.Time       `json:"next_at,omitzero" doc:"When something happens by itself"`
	Why     string          `json:"why,omitempty" doc:"What it waits for"`
	Signals []Signal        `json:"signals,omitempty" doc:"That came, newest last; at most 100"`
	Output  json.RawMessage `json:"output,omitempty"`
}
