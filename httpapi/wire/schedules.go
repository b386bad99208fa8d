package wire

// PauseReason is the body of a pause: its reason.
type PauseReason struct {
	Reason string `json:"reason,omitempty" doc:"Reason, shown beside the state"`
}

// ResumeOptions sets how a schedule is resumed.
type ResumeOptions struct {
	CatchUp bool `json:"catch_up,omitempty" doc:"Make up for the runs of the pause, as the schedule's catchup says"`
}
