// Package hook decides which events go to which address: a [Hook] selects events of jobs, workflows, cycles, schedules and
// monitors, and each [Event] that it selects is delivered to its URL in a signed request.
package hook
