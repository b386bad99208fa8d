#!/usr/bin/env bash
# Installs what the tests of this module need and is missing: Debian packages for npm and the Node.js it runs on; npm
# packages, as sqs/package-lock.json pins them, into sqs/node_modules. Among those is the Node.js that the server runs
# on, which is newer than Debian's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if [ ${#missing[@]} -gt 0 ]; then
	command -v apt-get >/dev/null || { echo "setup: install ${missing[*]}" >&2; exit 1; }
	sudo=$([ "$(id -u)" = 0 ] || command -v sudo)
	export DEBIAN_FRONTEND=noninteractive
	$sudo apt-get update
	$sudo apt-get install -y --no-install-recommends "${missing[@]}"
fi
# node_modules is as the lock file says when npm left the same list behind.
cd sqs
if ! cmp -s package-lock.json node_modules/.belfry-lock; then
	npm ci --no-audit --no-fund --ignore-scripts
	cp package-lock.json node_modules/.belfry-lock
fi
echo "setup: the brokers are ready"
