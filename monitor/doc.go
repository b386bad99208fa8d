// Package monitor assesses targets: a [Monitor] is a check that runs on a
// schedule, and [Judge] decides from the result of a check and the state before
// which state it is in, whether an incident begins or ends, and what is to be
// notified. Beside it are heartbeats, page changes, maintenance windows, uptime,
// status pages, and what is still to be delivered of alerts about monitors.
package monitor
