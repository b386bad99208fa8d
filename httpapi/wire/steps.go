package wire

// StepsForgotten is the answer to a reset of steps of a job.
type StepsForgotten struct {
	Steps int `json:"steps" doc:"How many were forgotten"`
}
