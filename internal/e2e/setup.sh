#!/usr/bin/env bash
# Installs what the chaos tests need and is missing: libfaketime, which steps PostgreSQL's clock (Debian package).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/install.sh"

if [ -n "${BELFRY_FAKETIME:-}" ]; then
	[ -e "$BELFRY_FAKETIME" ] || { echo "setup: no library is at BELFRY_FAKETIME=$BELFRY_FAKETIME" >&2; exit 1; }
elif ! compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null; then
	command -v apt-get >/dev/null || { echo "setup: install libfaketime, then set BELFRY_FAKETIME to its libfaketimeMT.so.1" >&2; exit 1; }
	install_packages libfaketime
fi
echo "setup: the clock of PostgreSQL can be stepped"
