package core

// Reason is a stable word for why a job did not run or ended.
type Reason string
