package wire

// SequenceKey names a sequence of a task.
type SequenceKey struct {
	Key string `json:"key,omitempty" doc:"Value of its key; absent: the empty one"`
}

// Resumed reports whether a stopped sequence was resumed.
type Resumed struct {
	Resumed bool `json:"resumed" doc:"It was stopped"`
}
