#!/usr/bin/env bash
# Installs what "go test -tags oracles ./internal/oracles" compares with and is missing: Debian packages for Python and,
# if there is none, Node.js; npm packages, as package-lock.json pins them, into node_modules in this folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../../tools/install.sh

missing=()
python="${BELFRY_PYTHON:-}"
works() { "$1" -c "import dateutil.rrule, croniter, zoneinfo; zoneinfo.ZoneInfo('Europe/Sofia')" 2>/dev/null; }
if [ -n "$python" ]; then
	works "$python" || { echo "setup: no dateutil, croniter or time zones in BELFRY_PYTHON=$python" >&2; exit 1; }
elif ! works /usr/bin/python3 && ! works python3; then
	missing+=(python3 python3-dateutil python3-croniter tzdata)
fi
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)

install_packages "${missing[@]}"

install_npm
echo "setup: the oracles are ready"
