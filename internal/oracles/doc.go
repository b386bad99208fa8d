// Package oracles compares package cron with foreign engines on random rules: RRULE with python-dateutil and
// rrule-temporal, cron with croner, cronosjs, cron-parser and croniter.
//
// The comparison needs these engines, so it has the build tag oracles:
//
//	internal/oracles/setup.sh                            # installs what is missing
//	go test -tags oracles ./internal/oracles             # some 20 seconds
//	BELFRY_ORACLE_RULES=5000 go test -tags oracles -timeout 30m ./internal/oracles
//
// BELFRY_ORACLE_RULES is the number of rules of each kind. Each run then has a new seed, which is printed;
// BELFRY_ORACLE_SEED repeats a run. Without both variables the run is always the same.
// A missing engine fails the test. The table in differences_test.go has the rules that engines read differently or not at all.
package oracles
