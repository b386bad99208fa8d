#!/usr/bin/env bash
# "go mod tidy" of every module. The modules of go.work name each other by the version that will be released, which is
# nowhere yet: while a module is tidied, those it names are replaced by their folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off

own=github.com/belfry-run/belfry
replaces() { # flag
	local folder
	for folder in "" /app /cmd /internal/bench; do
		if [ "$1" = -dropreplace ]; then
			go mod edit "-dropreplace=$own$folder" # also of one that it no longer needs
		elif grep -q "^\s*\(require \)\?$own$folder v0.1.0" go.mod; then
			go mod edit "-replace=$own$folder=$root$folder"
		fi
	done
}

root=$PWD
while read -r file; do
	cd "$root/$(dirname "$file")"
	echo "$(dirname "$file")"
	case "$(dirname "$file")" in
	app | cmd | internal/*)
		replaces -replace
		trap 'replaces -dropreplace' EXIT
		go mod tidy
		replaces -dropreplace
		trap - EXIT
		;;
	*) go mod tidy ;;
	esac
done < <(cd "$root" && git ls-files 'go.mod' '*/go.mod')
