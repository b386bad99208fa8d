#!/usr/bin/env bash
# Installs the browser that the tests of pages are made with, if there is none.
set -euo pipefail

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
sudo=$([ "$(id -u)" = 0 ] || command -v sudo)
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update
$sudo apt-get install -y --no-install-recommends chromium
