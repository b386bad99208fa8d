// Package crontab reads crontabs and CronJobs of Kubernetes.
package crontab
