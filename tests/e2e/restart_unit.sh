#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, systemd as PID 1, with two hosts: rdmend as its package installs it, as its own user, restarts a unit that a rule names, where
# polkit lets it, and neither what it may not nor itself.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
cmake --install "$RDMEND_BUILD" > "$work/install.log"
systemd-sysusers 2> "$work/sysusers.log"
service_log() { journalctl --no-pager -q -o cat -u rdmend -u polkit -u dbus | tail -n 40 >&2; }
trap '[ $? -eq 0 ] || service_log' EXIT

units=/run/systemd/system
printf '[Service]\nExecStart=/bin/sleep infinity\n' > $units/mended.service
printf '[Service]\nExecStart=/bin/sleep infinity\n' > $units/forbidden.service
printf '[Service]\nExecStart=/bin/sleep infinity\n' > $units/unlisted.service
printf '[Service]\nExecStart=/bin/sleep infinity\n' > $units/carrier.service
mkdir -p $units/rdmend.service.d
printf '[Unit]\nRequires=carrier.service\nAfter=carrier.service\n' > $units/rdmend.service.d/carrier.conf
systemctl daemon-reload
systemctl start dbus.service || fail "there is no system bus"
install -D -m 644 "$RDMEND_SOURCE/systemd/rdmend-restart-unit.rules" /etc/polkit-1/rules.d/rdmend-restart-unit.rules
sed -i 's/"opensm.service"/"mended.service", "carrier.service", "unlisted.service"/' /etc/polkit-1/rules.d/rdmend-restart-unit.rules
systemctl start polkit.service || fail "polkit does not start"
systemctl start mended.service forbidden.service unlisted.service

sed -i 's/^mode: .*/mode: act/; s/^  allow: .*/  allow: [restart_unit]/; s/^  units: .*/  units: [mended.service, forbidden.service, carrier.service]/; s/^  settle: .*/  settle: 5s/' /etc/rdmend/rdmend.yaml
cat > /etc/rdmend/rules.d/restart.yaml <<'E2'
groups:
- name: restart
  interval: 1s
  rules:
  - {alert: Mended, expr: 'rdma_port_state{device="rxe1"} > 0', remedy: [{restart_unit: {unit: mended.service}}]}
  - {alert: Forbidden, expr: 'rdma_port_state{device="rxe1"} > 0', remedy: [{restart_unit: {unit: forbidden.service}}]}
  - {alert: Carrier, expr: 'rdma_port_state{device="rxe1"} > 0', remedy: [{restart_unit: {unit: carrier.service}}]}
  - {alert: Missing, expr: 'rdma_port_state{device="rxe1"} > 0', remedy: [{restart_unit: {unit: nowhere.service}}]}
  - {alert: Unlisted, expr: 'rdma_port_state{device="rxe1"} > 0', remedy: [{restart_unit: {unit: unlisted.service}}]}
E2
main_pid() { systemctl show "$1" -p MainPID --value; }
mended=$(main_pid mended) forbidden=$(main_pid forbidden) unlisted=$(main_pid unlisted)
systemctl start rdmend || fail "rdmend does not start"
is_ready || fail "not ready"
[ "$(ps -o user= -p "$(main_pid rdmend)")" = rdmend ] || fail "it does not run as its own user"
carrier=$(main_pid carrier) own=$(main_pid rdmend)

# reason RULE VERDICT: of the first such line
reason() { ctl remedies --limit 1000 --json | jq -r --arg rule "$1" --arg verdict "$2" '[.entries[] | select(.rule == $rule and .verdict == $verdict) | .reason] | last // ""'; }
says() { case $(reason "$1" "$2") in *"$3"*) true;; *) false;; esac; }

echo "== what polkit allows is done, and verified"
must 60 "says Mended started 'restarted: was active (running), is active (running)'" "it was not restarted: $(ctl remedies)"
[ "$(main_pid mended)" != "$mended" ] || fail "said to be restarted, but its process is the same"
must 60 "says Mended succeeded 'active (running) since its restart'" "the restart was not verified: $(ctl remedies)"

echo "== what it does not allow, what is not there, and what carries rdmend"
must 60 "says Forbidden refused 'restarting forbidden.service is not permitted'" "the refusal is not told: $(ctl remedies)"
must 60 "says Missing refused 'there is no unit nowhere.service'" "the unit that is missing is not told: $(ctl remedies)"
must 60 "says Unlisted refused 'remedies.units does not list unlisted.service'" "the unit that is not listed is not told: $(ctl remedies)"
must 60 "says Carrier refused \"restarting carrier.service would stop rdmend's own unit with it\"" "it would restart its own carrier: $(ctl remedies)"
[ "$(main_pid forbidden) $(main_pid carrier) $(main_pid unlisted) $(main_pid rdmend)" = "$forbidden $carrier $unlisted $own" ] || fail "something was restarted that was not to be"
systemctl stop rdmend
