#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, systemd as PID 1, with two hosts: rdmend installed as it is packaged, and its unit started, reloaded, started by its socket,
# killed, hung, and granted to act; with no more power at any time than it needs.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
cmake --install "$RDMEND_BUILD" > "$work/install.log"
systemd-sysusers 2> "$work/sysusers.log"
getent passwd rdmend > /dev/null || fail "the package's sysusers.d makes no user rdmend"

mkdir -p /run/systemd/system/rdmend.service.d
printf '[Service]\nWatchdogSec=10s\n' > /run/systemd/system/rdmend.service.d/test.conf   # the shipped 30 s, only shorter
systemctl daemon-reload
systemd-analyze verify rdmend.service
show() { systemctl show rdmend -p "$1" --value; }
service_log() { journalctl --no-pager -q -o cat -u rdmend | tail -n 40 >&2; }
trap '[ $? -eq 0 ] || service_log' EXIT

# What a process and each of its threads may do: the five sets of capabilities without leading zeros, NoNewPrivs, Seccomp.
power() { awk '/^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):/ { sub(/^0+/, "", $2); printf "%s%s", $2 == "" ? 0 : $2, $1 == "Seccomp:" ? "\n" : " " }' "/proc/$1/task/"*/status | sort -u; }
at_most_2() {
  systemd-analyze security --no-pager --threshold=20 "$1" > "$work/security" || { cat "$work/security"; fail "$1 is too exposed"; }
  tail -n 1 "$work/security"
}
has_metric() { curl -sfg http://127.0.0.1:9879/metrics | grep -E "$1" > /dev/null; }   # reads to the end: pipefail would take curl's word

# The usual configuration, with what it takes to try all that a sandbox may break.
mkdir /etc/rdmend/tls
openssl req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=rdmend -addext subjectAltName=IP:127.0.0.1 \
  -keyout /etc/rdmend/tls/key.pem -out /etc/rdmend/tls/cert.pem 2> /dev/null
chgrp rdmend /etc/rdmend/tls/key.pem; chmod 640 /etc/rdmend/tls/key.pem
groupadd rdma-readers; usermod -aG rdma-readers rdmend
sed -i 's|^listen: .*|listen: ["[::]:9879", "unix:/run/rdmend/http.sock", {address: "127.0.0.1:9443", tls: {cert: /etc/rdmend/tls/cert.pem, key: /etc/rdmend/tls/key.pem}}]|
  s/^control_group: .*/control_group: rdma-readers/; s/^  qp_interval: .*/  qp_interval: 3s/
  s|^alertmanagers: .*|alertmanagers: [{url: "http://localhost:9093"}]|' /etc/rdmend/rdmend.yaml
/usr/sbin/rdmend --config /etc/rdmend/rdmend.yaml --check-config

echo "== start"
systemctl start rdmend || fail "it does not start"   # Type=notify: done when it said READY=1
is_ready || fail "started, but not ready"
[ "$(show StatusText)" != "" ] || fail "it tells no status"
show StatusText
[ "$(ctl status --json | jq -r '[.devices[].name] | sort | join(" ")')" = "rxe1 rxe2" ] || fail "it does not see both devices"
must 30 "ls -l /proc/$(show MainPID)/fd | grep -q infiniband" "the unit's sandbox keeps it from opening a device"

echo "== it observes with no power at all"
[ "$(ps -o user= -p "$(show MainPID)")" = rdmend ] || fail "it runs as $(ps -o user= -p "$(show MainPID)")"
[ "$(power "$(show MainPID)")" = "0 0 0 0 0 1 2" ] || fail "it has powers while it observes: $(power "$(show MainPID)")"
at_most_2 rdmend.service
start_alertmanager &
rping -s -a 10.0.0.2 -C 1000000 > "$work/rping-server.log" 2>&1 & rpings=$!
must 20 "rdma resource show cm_id | grep -q LISTEN" "rping does not listen"
rping -c -a 10.0.0.2 -I 10.0.0.1 -C 1000000 > "$work/rping-client.log" 2>&1 & rpings+=" $!"
# Everything that it watches is there: counters, events of a device that it has open, netlink's queue pairs with the names of root's
# processes and the peers of rdma_cm, devices that come and go later.
must 30 "has_metric '^rdma_packets_sent_total.device=\"rxe1\",port=\"1\". [1-9]'"
# shellcheck disable=SC2086
kill -STOP $rpings   # their queue pairs stay; their traffic would take all of an emulated processor from what follows
ip addr add 10.0.0.99/24 dev v1; ip addr del 10.0.0.99/24 dev v1
must 30 "has_metric '^rdma_async_events_total.device=\"rxe1\",event=\"GID_CHANGE\".* [1-9]'"
must 30 "has_metric '^rdma_qps.device=\"rxe2\",state=\"RTS\",type=\"RC\". [1-9]'"
qps_of() { ctl qps --json | jq -r --arg comm "$1" '[.devices[] as $d | $d.qps[] | select(.comm == $comm) | $d.device + " " + (.peer // "")] | unique | join(", ")'; }
wait_for 30 "[ \"\$(qps_of rping)\" = 'rxe1 10.0.0.2, rxe2 10.0.0.1' ]" || { ctl qps; fail "the peers of rdma_cm's queue pairs are not told"; }
# shellcheck disable=SC2086
kill -KILL $rpings
ip link add v3 type veth peer name p3; ip link set v3 up; rdma link add rxe3 type rxe netdev v3
must 30 "has_metric '^rdma_port_state.device=\"rxe3\"'"
must 30 "ls -l /proc/$(show MainPID)/fd | grep -q uverbs2" "a device that came later cannot be opened"
rdma link delete rxe3; ip link del v3
must 30 "! has_metric '^rdma_port_state.device=\"rxe3\"'"
curl -sf --cacert /etc/rdmend/tls/cert.pem https://127.0.0.1:9443/metrics | grep ^rdma_port_state > /dev/null || fail "no TLS with a key that is the group's"
setpriv --reuid=65534 --regid=rdma-readers --clear-groups "$RDMEND_BUILD/daemon/rdmendctl/rdmendctl" status > /dev/null || fail "control_group lets nobody in"
! setpriv --reuid=65534 --regid=65534 --clear-groups "$RDMEND_BUILD/daemon/rdmendctl/rdmendctl" status > /dev/null 2>&1 || fail "anybody may read"
[ "$(stat -c '%a %U' /var/lib/rdmend)" = "700 rdmend" ] || fail "the state is $(stat -c '%a %U' /var/lib/rdmend)"

echo "== reload, good and bad"
rules() { ctl status --json | jq -r .rules.alerting; }
rules_before=$(rules)
cat > /etc/rdmend/rules.d/test.yaml <<'E'
groups:
- name: test
  interval: 1s
  rules:
  - alert: Added
    expr: rdma_port_state == 4
E
systemctl reload rdmend
must 30 "[ \$(rules) = $((rules_before + 1)) ]" "the reload did not bring the new rule"
must 60 "alertmanager_has Added" "the alert did not reach the Alertmanager"
echo '  - alert: [broken' >> /etc/rdmend/rules.d/test.yaml
systemctl reload rdmend || true
must 30 "[ \$(ctl status --json | jq -r .last_reload.good) = false ]" "a bad file was not noticed"
ctl status --json | jq -r .last_reload.text | grep -q '/etc/rdmend/rules.d/test.yaml:[0-9]*:[0-9]*:' || fail "the fault has no place"
[ "$(rules)" = $((rules_before + 1)) ] || fail "a bad file changed what runs"
[ "$(systemctl is-active rdmend)" = active ] || fail "a bad reload ended it"
rm /etc/rdmend/rules.d/test.yaml
systemctl reload rdmend
must 30 "[ \$(rules) = $rules_before ]" "the reload did not take the rule away"
ctl status --json | jq -e .last_reload.good > /dev/null || fail "the good reload is not told"

echo "== systemd holds the port: the first scrape starts the service, and no restart refuses one"
systemctl stop rdmend
systemctl start rdmend.socket
[ "$(systemctl is-active rdmend)" = inactive ] || fail "the socket alone started it"
curl -sfg -m 60 -o "$work/page" 'http://[::1]:9879/metrics' || fail "the scrape that starts it gets no answer"
must 60 "has_metric ^rdma_port_state" "it does not serve IPv4 on the socket"
must 30 is_ready
while [ ! -e "$work/enough" ]; do curl -s -m 60 -o "$work/page" -w '%{http_code} %{errormsg}\n' http://127.0.0.1:9879/metrics || true; sleep 0.1; done > "$work/scrapes" & scraper=$!
scraped() { grep -c ^200 "$work/scrapes" || true; }
systemctl restart rdmend
before=$(scraped)
must 30 "[ \$(scraped) -gt $((before + 2)) ]" "no scrape after the restart"

echo "== kill -9: systemd starts it again"
restarted() { [ "$(show NRestarts)" = "$1" ] && [ "$(systemctl is-active rdmend)" = active ] && is_ready; }
systemctl kill -s KILL rdmend
must 60 "restarted 1" "it was not started again"
before=$(scraped)
must 30 "[ \$(scraped) -gt $((before + 2)) ]" "no scrape after the kill"
: > "$work/enough"; wait $scraper
! grep -v ^200 "$work/scrapes" | grep -i refused || fail "a connection was refused"
sort "$work/scrapes" | uniq -c

echo "== a loop that hangs: the watchdog ends it"
kill -STOP "$(show MainPID)"
must 120 "restarted 2" "the watchdog did not end it"
journalctl --no-pager -q -o cat -u rdmend | grep -i watchdog | head -n 1 || fail "systemd does not tell of a watchdog"

echo "== acting granted"
sed -i 's/^mode: .*/mode: act/; s/^  allow: .*/  allow: [raise_min_rnr_timer, advise]/; s/^  settle: .*/  settle: 2m/' /etc/rdmend/rdmend.yaml
examples=/usr/share/doc/rdmend/examples
install -D -m 644 $examples/rdmend-act.conf /etc/systemd/system/rdmend.service.d/rdmend-act.conf
install -D -m 644 $examples/rdmend-hand-raise_min_rnr_timer.conf /etc/systemd/system/rdmend-hand@.service.d/raise_min_rnr_timer.conf
systemctl daemon-reload
systemctl restart rdmend
is_ready || fail "not ready after the restart"
[ -z "$(ctl status --json | jq -r .hand)" ] || fail "no hand: $(ctl status --json | jq -r .hand)"
echo "== with the one capability that this takes, in the hand alone"
[ "$(power "$(show MainPID)")" = "0 0 0 0 0 1 2" ] || fail "the daemon has powers while it may act: $(power "$(show MainPID)")"
[ "$(power "$(pgrep -x -u rdmend rdmend-hand)")" = "0 80000 80000 80000 0 1 2" ] || fail "the hand has $(power "$(pgrep -x -u rdmend rdmend-hand)")"
at_most_2 rdmend.service
at_most_2 rdmend-hand@x.service

echo "== and acts"
start_pair
storm_begins
must 120 "has_entry raise_min_rnr_timer started" "the unit's hand did not act"
[ "$(timers)" = "19 19" ] || fail "the timers were not raised: $(timers)"   # the rule is the shipped one: four times code 15 is code 19
storm_ends
ctl undo "$(ctl remedies --json | jq '[.actions[] | select(.undoable)] | first | .id')"
must 30 "has_entry raise_min_rnr_timer undone" "nothing was given back"
[ "$(timers)" = "15 15" ] || fail "the timers were not given back: $(timers)"
end_pair
! journalctl --no-pager -q -o cat -u rdmend | grep -iE 'not permitted|permission denied|read-only file' || fail "the unit's sandbox forbids something"

echo "== stop"
systemctl stop rdmend rdmend.socket
[ "$(show Result)" = success ] || fail "it did not end well: $(show Result)"
