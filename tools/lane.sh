#!/usr/bin/env bash
# Runs lanes: the long tests, known by how their names begin. "lane.sh Chaos" runs every test whose name begins with
# TestChaos, wherever it is. A lane whose tests are nowhere, or of which none ran, fails. What a lane prints is shown
# when it fails; BELFRY_LANE_VERBOSE=1 shows it always.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=()
for lane in "$@"; do
	mapfile -t packages < <(grep -rlE --include='*_test.go' --exclude-dir=node_modules "^func Test$lane[A-Za-z0-9_]*\(t \*testing\.T\)" . | xargs -r -n1 dirname | sort -u)
	if [ ${#packages[@]} -eq 0 ]; then
		echo "lane $lane: no test has a name that begins with Test$lane"
		failed+=("$lane")
		continue
	fi
	began=$SECONDS
	status=0
	go test -vet=off -count=1 -v -timeout "${BELFRY_LANE_TIMEOUT:-20m}" -run "^Test$lane" "${packages[@]}" >"$out" 2>&1 || status=$?
	passed=$(grep -c -- "^--- PASS: Test$lane" "$out" || true)
	if [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; then
		cat "$out"
		echo "lane $lane: failed after $((SECONDS - began)) s ($passed tests passed)"
		failed+=("$lane")
		continue
	fi
	if [ -n "${BELFRY_LANE_VERBOSE:-}" ]; then cat "$out"; fi
	echo "lane $lane: $passed tests passed in $((SECONDS - began)) s"
done
if [ ${#failed[@]} -gt 0 ]; then
	echo "lanes that failed: ${failed[*]}"
	exit 1
fi
