#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, systemd as PID 1, with two hosts: rdmend installed as it is packaged, and its unit started, reloaded, killed, hung, and
# granted to act.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
cmake --install "$RDMEND_BUILD" > "$work/install.log"
systemd-sysusers 2> "$work/sysusers.log"
getent passwd rdmend > /dev/null || fail "the package's sysusers.d makes no user rdmend"

/usr/sbin/rdmend --config /etc/rdmend/rdmend.yaml --check-config
mkdir -p /run/systemd/system/rdmend.service.d
printf '[Service]\nWatchdogSec=5s\n' > /run/systemd/system/rdmend.service.d/test.conf   # the shipped 30 s, only shorter
systemctl daemon-reload
systemd-analyze verify rdmend.service
show() { systemctl show rdmend -p "$1" --value; }
service_log() { journalctl --no-pager -q -o cat -u rdmend | tail -n 40 >&2; }
trap '[ $? -eq 0 ] || service_log' EXIT

echo "== start"
systemctl start rdmend || fail "it does not start"   # Type=notify: done when it said READY=1
is_ready || fail "started, but not ready"
[ "$(show StatusText)" != "" ] || fail "it tells no status"
show StatusText
[ "$(ps -o user= -p "$(show MainPID)")" = rdmend ] || fail "it runs as $(ps -o user= -p "$(show MainPID)")"
grep -q '^CapEff:.*0000000000000000$' "/proc/$(show MainPID)/status" || fail "it has capabilities while it observes"
[ "$(ctl status --json | jq -r '[.devices[].name] | sort | join(" ")')" = "rxe1 rxe2" ] || fail "it does not see both devices"
must 30 "ls -l /proc/$(show MainPID)/fd | grep -q infiniband" "the unit's sandbox keeps it from opening a device"

echo "== reload, good and bad"
rules() { ctl status --json | jq -r .rules.alerting; }
before=$(rules)
cat > /etc/rdmend/rules.d/test.yaml <<'E'
groups:
- name: test
  rules:
  - alert: Added
    expr: rdma_port_state < 1
E
systemctl reload rdmend
must 30 "[ \$(rules) = $((before + 1)) ]" "the reload did not bring the new rule"
echo '  - alert: [broken' >> /etc/rdmend/rules.d/test.yaml
systemctl reload rdmend || true
must 30 "[ \$(ctl status --json | jq -r .last_reload.good) = false ]" "a bad file was not noticed"
ctl status --json | jq -r .last_reload.text | grep -q '/etc/rdmend/rules.d/test.yaml:[0-9]*:[0-9]*:' || fail "the fault has no place"
[ "$(rules)" = $((before + 1)) ] || fail "a bad file changed what runs"
[ "$(systemctl is-active rdmend)" = active ] || fail "a bad reload ended it"
rm /etc/rdmend/rules.d/test.yaml
systemctl reload rdmend
must 30 "[ \$(rules) = $before ]" "the reload did not take the rule away"
ctl status --json | jq -e .last_reload.good > /dev/null || fail "the good reload is not told"

echo "== kill -9: systemd starts it again"
restarted() { [ "$(show NRestarts)" = "$1" ] && [ "$(systemctl is-active rdmend)" = active ] && is_ready; }
systemctl kill -s KILL rdmend
must 60 "restarted 1" "it was not started again"

echo "== a loop that hangs: the watchdog ends it"
kill -STOP "$(show MainPID)"
must 120 "restarted 2" "the watchdog did not end it"
journalctl --no-pager -q -o cat -u rdmend | grep -i watchdog | head -n 1 || fail "systemd does not tell of a watchdog"

echo "== acting granted"
sed -i 's/^mode: .*/mode: act/; s/^  allow: .*/  allow: [raise_min_rnr_timer, advise]/; s/^  settle: .*/  settle: 10s/' /etc/rdmend/rdmend.yaml
install -D -m 644 "$RDMEND_SOURCE/systemd/rdmend-act.conf" /etc/systemd/system/rdmend.service.d/rdmend-act.conf
systemctl daemon-reload
systemctl restart rdmend
is_ready || fail "not ready after the restart"
[ -z "$(ctl status --json | jq -r .hand)" ] || fail "no hand: $(ctl status --json | jq -r .hand)"
start_pair   # the rule is the shipped one: four times code 15 is code 19
storm_begins
must 120 "has_entry raise_min_rnr_timer started" "the unit's hand did not act"
[ "$(timers)" = "19 19" ] || fail "the timers were not raised: $(timers)"
storm_ends
ctl undo "$(ctl remedies --json | jq '[.actions[] | select(.undoable)] | first | .id')"
must 30 "has_entry raise_min_rnr_timer undone" "nothing was given back"
[ "$(timers)" = "15 15" ] || fail "the timers were not given back: $(timers)"
end_pair

echo "== stop"
systemctl stop rdmend
[ "$(show Result)" = success ] || fail "it did not end well: $(show Result)"
