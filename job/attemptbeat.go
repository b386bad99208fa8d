package job

import (
	"github.com/belfry-run/belfry/core"
)

// AttemptBeat is the answer to an attempt's heartbeat.
type AttemptBeat struct {
	Action BeatAction    `json:"action" enum:"continue,cancel,drain" doc:"What the attempt is to do: go on, end, or go on and be followed by no other"`
	TTL    core.Duration `json:"ttl" doc:"How long the lease holds without another heartbeat"`
	Token  string        `json:"token,omitempty" doc:"A new token, when the old one ends soon"`
}

// BeatAction tells an attempt what to do after a heartbeat.
type BeatAction string

// The actions.
const (
	BeatContinue BeatAction = "continue"
	BeatCancel   BeatAction = "cancel"
	BeatDrain    BeatAction = "drain"
)
