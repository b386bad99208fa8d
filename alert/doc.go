// Package alert decides who is notified: an [Alert] is one message on its way to
// one [Channel], and alert rules route a [Notification] to channels.
package alert
