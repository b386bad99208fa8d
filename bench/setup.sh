#!/usr/bin/env bash
# Installs what cmd/peers and its tests need and is missing: Debian packages for PostgreSQL, Redis, and npm with the
# Node.js it runs on; npm packages, as graphile/package-lock.json pins them, into graphile/node_modules. Among those is
# the Node.js that graphile-worker runs on, which is newer than Debian's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../tools/install.sh

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

install_packages "${missing[@]}"

cd graphile
install_npm
echo "setup: the peers are ready"
