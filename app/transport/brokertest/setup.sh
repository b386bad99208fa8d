#!/usr/bin/env bash
# Installs what the tests of this module need and is missing: Debian packages for npm and the Node.js it runs on; npm
# packages, as sqs/package-lock.json pins them, into sqs/node_modules. Among those is the Node.js that the server runs
# on, which is newer than Debian's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../../../tools/install.sh

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
install_packages "${missing[@]}"
cd sqs
install_npm
echo "setup: the brokers are ready"
