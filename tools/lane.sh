#!/usr/bin/env bash
# Runs lanes: the long tests, known by how their names begin. "lane.sh Chaos" runs every test whose name begins with
# TestChaos, wherever it is. A lane whose tests are nowhere, or of which none ran, fails. What a package prints is shown
# when it fails; BELFRY_LANE_VERBOSE=1 shows it always.
#
# BELFRY_PORTION=2/3 takes a third of the longest lists of cases (internal/portion).
#
# All lanes of a package share one build of it, and two packages run at once: many lanes wait for most of their time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Their bounds on bytes and on what a reader sees move are those of a machine with nothing else to do.
alone=(PagesThroughLiveUpdates)
# These packages take longest. They begin first, or one of them is alone on the machine in the end.
first=(./internal/e2e ./store/postgres ./internal/battery ./internal/model)

out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=()

# run N LANE... runs lanes, in N packages at once.
run() {
	local at_once=$1 lanes pattern status=0 began=$SECONDS lane found packages=() all=()
	shift
	lanes=("$@")
	for lane in "${lanes[@]}"; do
		mapfile -t found < <(grep -rlE --include='*_test.go' --exclude-dir=node_modules "^func Test$lane[A-Za-z0-9_]*\(t \*testing\.T\)" . | xargs -r -n1 dirname | sort -u)
		all+=("${found[@]}")
	done
	mapfile -t packages < <(for p in "${first[@]}" "${all[@]}"; do
		if [[ " ${all[*]} " == *" $p "* ]]; then echo "$p"; fi
	done | awk '!seen[$0]++')
	pattern="^Test($(IFS='|' && echo "${lanes[*]}"))"
	: >"$out"
	if [ ${#packages[@]} -gt 0 ]; then
		go test -vet=off -ldflags=-s -count=1 -v -p "$at_once" -timeout "${BELFRY_LANE_TIMEOUT:-60m}" -run "$pattern" "${packages[@]}" >"$out" 2>&1 || status=$?
	fi
	awk -v all="${BELFRY_LANE_VERBOSE:-}" '
		{ text = text $0 "\n" }
		/^(ok|FAIL|\?)[ \t]+[^ \t]/ { if (all || /^FAIL/) printf "%s", text; text = "" }
		END { if (text != "FAIL\n") printf "%s", text }
	' "$out"
	grep -P '^ok\s' "$out" || true
	for lane in "${lanes[@]}"; do
		awk -v lane="$lane" '
			$0 ~ "^--- (PASS|FAIL): Test" lane { n[$2]++ }
			END {
				printf "lane %s: %d passed, %d failed\n", lane, n["PASS:"], n["FAIL:"]
				if (!n["PASS:"] && !n["FAIL:"]) printf "lane %s: no test ran whose name begins with Test%s\n", lane, lane
				exit !(n["PASS:"] > 0 && n["FAIL:"] == 0)
			}
		' "$out" || failed+=("$lane")
	done
	echo "${#lanes[@]} lanes of ${#packages[@]} packages took $((SECONDS - began)) s"
	if [ "$status" -ne 0 ] && [ ${#failed[@]} -eq 0 ]; then failed+=("${lanes[@]}"); fi
}

together=() apart=()
for lane in "$@"; do
	if [[ " ${alone[*]} " == *" $lane "* ]]; then apart+=("$lane"); else together+=("$lane"); fi
done
if [ ${#together[@]} -gt 0 ]; then run 2 "${together[@]}"; fi
if [ ${#apart[@]} -gt 0 ]; then run 1 "${apart[@]}"; fi
if [ ${#failed[@]} -gt 0 ]; then
	echo "lanes that failed: ${failed[*]}"
	exit 1
fi
