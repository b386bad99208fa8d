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

// Task is what a trial looks at. Own is the check of the monitor that it names,
// with its secrets, or no task.
func (t Trial) Task(own Task) (Task, error) {
	if t.Monitor == "" && t.Check == nil {
		return Task{}, InvalidField("check", "", "is missing", "give a check, the name of a monitor, or both: then the check is an edit of the monitor's")
	}
	task := own
	if t.Check != nil {
		m := Monitor{Namespace: t.Namespace, Name: "trial", Check: t.Check.KeepSecrets(own)}.WithDefaults()
		if err := m.Validate(time.Time{}); err != nil {
			return task, err
		}
		var p problems
		p.nest("check", m.Check.CheckSecrets())
		if err := p.err("trial"); err != nil {
			return task, err
		}
		task = m.Task()
	}
	if task.Kind == KindCommand || task.Kind == KindFunc {
		return task, InvalidField("check.kind", string(task.Kind), "cannot be tried", "only what looks at a target over the network can; a monitor's command runs with: belfry monitor check NAME")
	}
	return task, nil
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
