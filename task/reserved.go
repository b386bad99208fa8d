package task

import "strings"

// CanaryTask is the name of the task of kind func that every worker of Belfry
// handles. A job of it proves that its queue is alive from end to end.
const CanaryTask = "belfry.canary"

// TrialPrefix begins the names of tasks that hold a definition which is tried
// and not saved. No list shows them.
const TrialPrefix = "belfry.trial."

// IsTrial reports that a task holds such a definition. It has one job, and nothing else may name it.
func IsTrial(name string) bool { return strings.HasPrefix(name, TrialPrefix) }
