// Package belfry has the names that a program which embeds Belfry writes most:
// aliases of types of the packages below, and nothing of its own.
//
// Words and rules have a package for each noun. None of them does I/O, reads a
// clock or keeps state, and each imports only those above it:
//
//	cron      time rules: cron, intervals, RRULE, dates, zones
//	core      errors, names, durations, sizes, secrets, paging
//	task      what to run: kinds, settings, retries, results of checks
//	schedule  when a task runs: rules, calendars, and the decision Fire
//	job       jobs, attempts, leases, queues, and the decision Settle
//	access    tokens, scopes, namespaces, sessions of people, audit
//	alert     notifications, alert rules, channels, routing
//	monitor   monitors, and the decision Judge; incidents, uptime, maintenance
//	cycle     decisions of a cycle
//	view      read models of API and pages; definitions that are applied
//
// Package store keeps, engine and worker and httpapi move, and app wires them.
// The guide for Go programs is docs/guides/go-library.md.
package belfry
