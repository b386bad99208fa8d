package belfry

import "time"

// PagePreview is what a look at a page finds, and how its settings work on it.
type PagePreview struct {
	Measure
	First   []string      `json:"first,omitempty" doc:"For kind page: texts of the first elements that the selector finds, before the ignore rules"`
	Removed []PageRemoval `json:"removed,omitempty" doc:"For kind page: what each rule takes out or masks"`
}

// PageRemoval says how much one rule of a page takes out of its text, or masks
// in it.
type PageRemoval struct {
	Rule  string `json:"rule" doc:"Such as ignore[0]"`
	Text  string `json:"text" doc:"The rule itself"`
	Count int    `json:"count" doc:"How often it does"`
}

// Trial says what to try: a check that belongs to no monitor, the check of a
// monitor, or an edit of it.
type Trial struct {
	Namespace string `json:"namespace,omitempty" doc:"Default: the token's namespace, or default"`
	Monitor   string `json:"monitor,omitempty" doc:"Try the check of this monitor"`
	Check     *Task  `json:"check,omitempty" doc:"A check as it stands in a monitor; beside monitor it is an edit of that one's, which keeps its secrets as long as it goes to the same place"`
}

// Tried is what came of it.
type Tried struct {
	PagePreview
	Started time.Time `json:"started" doc:"When it was looked at"`
}

// ChannelTest is what came of a test message.
type ChannelTest struct {
	OK    bool     `json:"ok" doc:"It was taken by whoever passes it on"`
	Error string   `json:"error,omitempty" doc:"Why it was not"`
	Took  Duration `json:"took" doc:"Until it was taken or not"`
}
