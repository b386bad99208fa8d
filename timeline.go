package belfry

// Recent is the last outcomes of a monitor, newest in the lowest bit: set for
// a failure. It holds up to 21.
type Recent struct {
	Bits  uint32 `json:"bits,omitempty"`
	Count int    `json:"count,omitempty"`
}

// Baseline is the mean and spread of latencies, weighed so that the newest
// hundred or so count.
type Baseline struct {
	Samples  int     `json:"samples,omitempty"`
	Mean     float64 `json:"mean,omitempty"`     // microseconds
	Variance float64 `json:"variance,omitempty"` // microseconds squared
}
