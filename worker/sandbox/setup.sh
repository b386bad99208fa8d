#!/usr/bin/env bash
# Installs what the hostile programs in C are compiled with, if it is missing (Debian packages).
set -euo pipefail

program=$(mktemp)
trap 'rm -f "$program"' EXIT
if ! echo 'int main(void) { return 0; }' | cc -pthread -xc -o "$program" - 2>/dev/null; then
	command -v apt-get >/dev/null || { echo "setup: install a C compiler (cc) with its library" >&2; exit 1; }
	sudo=$([ "$(id -u)" = 0 ] || command -v sudo)
	export DEBIAN_FRONTEND=noninteractive
	$sudo apt-get update
	$sudo apt-get install -y --no-install-recommends gcc libc6-dev
fi
echo "setup: programs in C can be compiled"
