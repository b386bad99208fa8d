// Package crontab reads crontabs and CronJobs of Kubernetes. Package intake
// calls it and turns the result into definitions. An entry that cannot be kept
// as it is becomes a note with its line, and is never changed silently.
package crontab
