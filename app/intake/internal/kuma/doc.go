// Package kuma reads backups of Uptime Kuma. Package intake calls it and turns
// the result into definitions. A monitor or setting without an equivalent is
// listed in the notes with the reason.
package kuma
