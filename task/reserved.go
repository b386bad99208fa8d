package task

import "strings"

// CanaryTask is the name of the task of kind func that every worker of Belfry
// handles. A job of this task proves that its queue works from end to end.
const CanaryTask = "belfry.canary"

// TrialPrefix is the prefix of names of trial tasks, which hold a definition that
// is tried and not saved. No list shows them.
const TrialPrefix = "belfry.trial."

// IsTrial reports whether name belongs to a trial task. Such a task has one job, and no other definition may name it.
func IsTrial(name string) bool { return strings.HasPrefix(name, TrialPrefix) }
