// Package monitor assesses targets. A [Monitor] is a check that runs on a
// schedule. [Judge] takes a check result and the previous state, and decides the
// new state, whether an incident begins or ends, and the notifications. The
// package also has heartbeats, page changes, maintenance windows, uptime, and
// the delivery of alerts about monitors.
package monitor
