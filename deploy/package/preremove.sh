#!/bin/sh
# Before a removal or an upgrade. dpkg calls it with a word, rpm with the number of versions that stay.
set -e
case "$1" in
remove | 0) systemctl disable --now belfry.service belfry-worker.service 2>/dev/null || true ;;
esac
