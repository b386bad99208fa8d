#!/usr/bin/env bash
# Installs what cmd/peers and its tests need and is missing: Debian packages for PostgreSQL, Redis, and npm with the
# Node.js it runs on; npm packages, as graphile/package-lock.json pins them, into graphile/node_modules. Among those is
# the Node.js that graphile-worker runs on, which is newer than Debian's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

missing=()
have_postgres() {
	local dir dirs
	IFS=: read -ra dirs <<<"${BELFRY_PG_BIN:-$PATH:$(printf '%s:' /usr/lib/postgresql/*/bin)/usr/local/bin}"
	for dir in "${dirs[@]}"; do
		if [ -x "$dir/postgres" ] && [ -x "$dir/initdb" ]; then return 0; fi
	done
	return 1
}
have_postgres || missing+=(postgresql)
command -v redis-server >/dev/null || missing+=(redis-server)
command -v npm >/dev/null || missing+=(nodejs npm)

if [ ${#missing[@]} -gt 0 ]; then
	command -v apt-get >/dev/null || { echo "setup: install ${missing[*]}" >&2; exit 1; }
	sudo=$([ "$(id -u)" = 0 ] || command -v sudo)
	export DEBIAN_FRONTEND=noninteractive
	$sudo apt-get update
	$sudo apt-get install -y --no-install-recommends "${missing[@]}"
fi

# node_modules is as the lock file says when npm left the same list behind.
cd graphile
if ! cmp -s package-lock.json node_modules/.belfry-lock; then
	npm ci --no-audit --no-fund --ignore-scripts
	cp package-lock.json node_modules/.belfry-lock
fi
echo "setup: the peers are ready"
