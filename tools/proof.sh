#!/usr/bin/env bash
# Runs what docs/proof.md describes, each part with a bound, within an hour in all, and writes what ran into its section
# "Last run". A part that fails, or runs nothing, fails the whole; the section says so too. PROOF_SEED chooses the seeds;
# by default they are those of today. PROOF_PARTS="model cuts" runs some parts, and keeps the rows of the others.
# PROOF_PATIENCE=3 gives each part three times its minutes, on a machine that has other work.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seed=${PROOF_SEED:-$(date +%Y%m%d)}
parts=${PROOF_PARTS:-model simulation histories cuts databases chaos faults}
page=docs/proof.md
out=$(mktemp) table=$(mktemp)
trap 'rm -f "$out" "$table"' EXIT
failed=() ran_some=
ran="$(date -u +%F), $(git rev-parse --short HEAD), $seed"

# part NAME MINUTES WHAT COMMAND... runs a part, and notes which tests ran and what they logged in numbers.
part() {
	local name=$1 minutes=$2 what=$3 began=$SECONDS status=0 result
	shift 3
	if [[ " $parts " != *" $name "* ]]; then
		sed -n "/^## Last run\$/,\$ { /^| $name |/p }" "$page" >>"$table"
		return 0
	fi
	ran_some=yes
	printf '== %s: %s\n' "$name" "$*"
	timeout "$((minutes * ${PROOF_PATIENCE:-1}))m" "$@" >"$out" 2>&1 || status=$?
	result=$(sed -nE 's/^ +[a-z_]+_test\.go:[0-9]+: ([0-9]+ (seeds|cuts|faults)[^|]*)$/\1/p; s/^([0-9]+ of [0-9]+ faults planted[^|]*)$/\1/p' "$out" | paste -sd';' | sed -E 's/; ?/; /g')
	local passed
	passed=$(grep -c -- '^--- PASS: ' "$out" || true)
	if [ -z "$result" ]; then result="$passed test$([ "$passed" -eq 1 ] || echo s) passed"; fi
	if [ "$status" -ne 0 ] || { [ "$passed" -eq 0 ] && [ "$name" != faults ]; }; then
		cat "$out"
		failed+=("$name")
		result="FAILED"
	fi
	printf '| %s | %s | %s | %d s | %s |\n' "$name" "$what" "$result" $((SECONDS - began)) "$ran" | tee -a "$table"
}

tests() { echo go test -vet=off -count=1 -v -timeout 0 "$@"; }

# shellcheck disable=SC2046 # the words of a command
{
	part model 4 "Model: every order of a few jobs, workers, crashes and late calls" $(tests ./internal/model)
	part simulation 11 "Simulation of clusters with faults" env SIM_SEED="$seed" SIM_SEEDS=90 $(tests -run 'TestSimHolds|TestSimRepeats' ./internal/sim)
	part histories 3 "Histories, checked twice" $(tests -run 'TestPorcupine|TestBadHistories|TestACorruption|TestTrueHistories' ./internal/history ./internal/e2e)
	part cuts 3 "Power cuts on SQLite, replayed" $(tests -run TestPowerCuts ./store/sqlite)
	part databases 9 "PostgreSQL that fails over, and interleaved transitions" $(tests -run 'TestPostgresFailover|TestInterleavings' ./store/postgres ./internal/interleave ./internal/e2e)
	part chaos 6 "Chaos: real nodes, real databases" env BELFRY_E2E_SEED="$seed" BELFRY_E2E_ROUNDS=12 $(tests -run 'TestChaos$' ./internal/e2e)
	part faults 24 "Planted faults, in a random order" go run ./internal/battery/cmd/battery -within "$((20 * ${PROOF_PATIENCE:-1}))m" -seed "$seed"
}
if [ -z "$ran_some" ]; then
	echo "proof: PROOF_PARTS=\"$parts\" names no part" >&2
	exit 2
fi

{
	sed '/^## Last run$/,$d' "$page" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
	printf '\n## Last run\n\nOf `make proof`; `PROOF_PARTS=cuts make proof` repeats a part. The last column has the day, the commit and the seed.\n\n'
	printf '| part | what it is | what ran | took | run |\n|---|---|---|--:|---|\n'
	cat "$table"
} >"$out"
cp "$out" "$page"
if [ ${#failed[@]} -gt 0 ]; then
	echo "proof: parts that failed: ${failed[*]}"
	exit 1
fi
