package parts

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// workerWord is the word for a worker's chip.
func workerWord(w job.WorkerState) string { return w.State() }

// twin distinguishes a worker from others of a list with the same name: by the end
// of its session id. It is empty if the name is unique.
func twin(all []job.WorkerState, w job.WorkerState) string {
	same := 0
	for _, o := range all {
		if o.Name == w.Name {
			same++
		}
	}
	if same < 2 {
		return ""
	}
	return "…" + w.Session[max(0, len(w.Session)-8):]
}

// isolationText returns the promises of a tier.
func isolationText(i task.Isolation) string {
	if text, known := isolationWords[i]; known {
		return text
	}
	return string(i)
}

// isolationWords are the promises of the tiers.
var isolationWords = map[task.Isolation]string{
	"":                       "runs no programs",
	task.IsolationNone:       "none: limits and a clean environment, as the worker's own user",
	task.IsolationUser:       "user: a user of its own",
	task.IsolationConfined:   "confined: a user of its own, Landlock and seccomp",
	task.IsolationNamespaces: "namespaces: a root, processes and a network of its own",
	task.IsolationGVisor:     "gvisor: a kernel of its own in user space",
}
