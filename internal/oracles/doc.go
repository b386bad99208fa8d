// Package oracles compares package cron with foreign engines on random rules: RRULE with python-dateutil and
// rrule-temporal, cron with croner, cronosjs, cron-parser and croniter.
//
// The comparison needs those engines, so it stands behind the build tag oracles:
//
//	internal/oracles/setup.sh                            # installs what is missing
//	go test -tags oracles ./internal/oracles             # some 20 seconds
//	BELFRY_ORACLE_RULES=5000 go test -tags oracles -timeout 30m ./internal/oracles
//
// BELFRY_ORACLE_RULES is how many rules of each kind are compared, from a new seed each time; the seed is printed, and
// BELFRY_ORACLE_SEED repeats a run. Without both the run is always the same.
// A missing engine fails the test. What engines read differently, or cannot read, is one table in differences_test.go.
package oracles
