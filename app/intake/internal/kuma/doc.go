// Package kuma reads backups of Uptime Kuma.
package kuma
