#!/usr/bin/env bash
# Installs what the sandbox is tested with, if it is missing (Debian packages): a compiler for the hostile programs in
# C, and gVisor's runsc.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/install.sh"

program=$(mktemp)
trap 'rm -f "$program"' EXIT
missing=()
echo 'int main(void) { return 0; }' | cc -pthread -xc -o "$program" - 2>/dev/null || missing+=(gcc libc6-dev)
command -v runsc >/dev/null || missing+=(runsc)
if [ ${#missing[@]} -gt 0 ] && ! command -v apt-get >/dev/null; then
	echo "setup: install a C compiler (cc) with its library, and runsc (https://gvisor.dev/docs/user_guide/install)" >&2
	exit 1
fi
install_packages "${missing[@]}"
echo "setup: programs in C can be compiled, and $(runsc --version | head -1) is there"
