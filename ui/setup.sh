#!/usr/bin/env bash
# Installs the browser that the tests of pages are made with, if there is none.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/install.sh"

for name in "${BELFRY_CHROMIUM:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && found=$(command -v "$name"); then
		echo "setup: the browser is $found"
		exit 0
	fi
done
if ! command -v apt-get >/dev/null; then
	echo "setup: install Chromium, or name its program in BELFRY_CHROMIUM" >&2
	exit 1
fi
install_packages chromium
