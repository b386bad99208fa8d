#!/bin/sh
# After an installation or an upgrade. belfry.service is not started before its settings are there: systemctl enable --now belfry
set -e
systemd-sysusers belfry.conf
systemctl daemon-reload 2>/dev/null || exit 0 # systemd does not run here, as in a container
systemctl try-restart belfry.service belfry-worker.service
