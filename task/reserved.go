package task

// CanaryTask is the name of the task of kind func that every worker of Belfry
// handles. A job of it proves that its queue is alive from end to end.
const CanaryTask = "belfry.canary"

// TrialPrefix begins the names of tasks that hold a definition which is tried
// and not saved. No list shows them.
const TrialPrefix = "belfry.trial."
