package view

import "time"

// LimitUse is a limit of a task with its current use.
type LimitUse struct {
	Name      string   `json:"name"`
	Key       string   `json:"key,omitempty" doc:"Expression of the key; empty: all jobs of the task share it"`
	Running   int      `json:"running,omitempty" doc:"Most at once for each key"`
	Rate      string   `json:"rate,omitempty"`
	Burst     int      `json:"burst,omitempty"`
	OnFailure string   `json:"on_failure,omitempty" doc:"Of a sequence"`
	Keys      []KeyUse `json:"keys" doc:"The busiest, by how many wait and how many run"`
	More      bool     `json:"more,omitempty" doc:"There are others"`
}

// KeyUse is the use of one key of a limit. At most 10,001 jobs of a limit are counted.
type KeyUse struct {
	Value     string    `json:"value"`
	Running   int       `json:"running" doc:"Ready or running"`
	Waiting   int       `json:"waiting"`
	NextAt    time.Time `json:"next_at,omitzero" doc:"Of a rate: the next start in an even row"`
	StoppedBy int64     `json:"stopped_by,omitempty" doc:"Of a sequence: the job that failed and holds the others"`
}
