#!/bin/sh
# After a removal or an upgrade. The user, /var/lib/belfry and /var/lib/belfry-worker stay: they may hold the database.
set -e
systemctl daemon-reload 2>/dev/null || true
