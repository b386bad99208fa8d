package core

// Reason says why something did not run.
type Reason string
