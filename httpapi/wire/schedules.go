package wire

// PauseReason is why something is paused.
type PauseReason struct {
	Reason string `json:"reason,omitempty" doc:"Reason, shown beside the state"`
}

// ResumeOptions is how a schedule is taken up again.
type ResumeOptions struct {
	CatchUp bool `json:"catch_up,omitempty" doc:"Make up for the runs of the pause, as the schedule's catchup says"`
}
