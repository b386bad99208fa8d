// Package alert decides who is notified. Alert rules route a [Notification] to
// channels. An [Alert] is one notification to one [Channel].
package alert
