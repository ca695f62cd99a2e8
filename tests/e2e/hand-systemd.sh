#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hand-systemd.sh: in the guest, systemd as PID 1: the units that grant acting, as they are shipped. The hand that systemd starts runs as
# user rdmend with CAP_SYS_PTRACE and under NoNewPrivileges, and must reach root's process.
set -euo pipefail
useradd --system --no-create-home --shell /usr/sbin/nologin rdmend 2>/dev/null || id rdmend
unit=$RDMEND_BUILD/systemd/rdmend-hand@.service
install -D -m 755 "$RDMEND_BUILD/daemon/hand/rdmend-hand" "$(sed -n 's/^ExecStart=//p' "$unit")"
install -m 644 "$RDMEND_SOURCE/systemd/rdmend-hand.socket" "$unit" /etc/systemd/system/
install -D -m 644 "$RDMEND_SOURCE/systemd/rdmend-hand-raise_min_rnr_timer.conf" /etc/systemd/system/rdmend-hand@.service.d/raise_min_rnr_timer.conf
systemctl daemon-reload
systemd-analyze verify /etc/systemd/system/rdmend-hand.socket
systemctl start rdmend-hand.socket
stat -c '%a %U %n' /run/rdmend-hand.sock
status=0
"$RDMEND_BUILD/tests/e2e/e2e_hand" '[systemd]' || status=$?
journalctl --no-pager -q -o cat -u 'rdmend-hand@*' | tail -20
exit $status
