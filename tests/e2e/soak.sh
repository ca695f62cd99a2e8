#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts (tests/soak.sh starts it): soak.sh SECONDS SEED. rdmend watches RDMA traffic, a Prometheus scrapes it and an
# Alertmanager listens, while all that surrounds it is disturbed: every disturbance once in random order, which is the warm-up; then at random for
# so many seconds. At the end rdmend must stand as it stood after the warm-up, and nothing may be lost between its journal and the Alertmanager.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
soak=$RDMEND_SOURCE/tests/e2e/soak
seconds=$1 RANDOM=$2
trap 'kill -CONT $(jobs -p) 2> /dev/null; kill $(jobs -p) 2> /dev/null || true' EXIT

# How much more there may be at the end than after the warm-up.
most_rss=3072 most_hand_rss=512   # KiB, without what the store says that it holds: it is bounded by itself
most_fds=4 most_series=8 most_threads=2

uptime_s() { cut -d' ' -f1 /proc/uptime; }
tell() { printf '%7.1f s  %s\n' "$(awk -v now="$(uptime_s)" -v then="$began" 'BEGIN { print now - then }')" "$*"; }
# Both set `picked`, since a subshell would have random numbers of its own: a whole number of the two or between, one of the words.
between() { picked=$(($1 + RANDOM % ($2 - $1 + 1))); }
one_of() { local all=("$@"); picked=${all[RANDOM % $#]}; }
pause() { between "$1" "$2"; sleep "$picked"; }

# --- what is there

alertmanager_up() { start_alertmanager; alertmanager_pid=$!; }
prometheus_up() {
  prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:9090 --log.level=error >> "$work/prometheus.log" 2>&1 &
  prometheus_pid=$!
}
traffic_up() {
  "$rnr_pair" server --device rxe2 --qps 2 --min-rnr-timer 15 --post-interval 4 --post-burst 2 --depth 1024 --slow-for 300 --timeout 19 >> "$work/server.log" 2>&1 &
  server_pid=$!
  "$rnr_pair" client --device rxe1 --qps 2 --window 1 --rate 2000 --duration 100000 --timeout 19 >> "$work/client.log" 2>&1 &
  client_pid=$!
}
traffic_down() { kill "$client_pid" "$server_pid" 2> /dev/null || true; wait "$client_pid" "$server_pid" 2> /dev/null || true; }
traffic_again() {   # an RDMA program does not outlive its device, nor for ever its cable
  ! kill -0 "$client_pid" 2> /dev/null || ! kill -0 "$server_pid" 2> /dev/null || return 0
  traffic_down
  traffic_up
}
devices() { ctl status --json | jq -r '[.devices[].name] | sort | join(" ")'; }
is_well() { [ "$(curl -s -o /dev/null -m 5 -w '%{http_code}' http://127.0.0.1:9879/-/healthy)" = 200 ]; }

# --- the disturbances

flap() { between 1 2; local host=$picked; ip link set "v$host" down; pause 1 2; host_up "$host"; }
storm() { kill -USR1 "$server_pid" 2> /dev/null || true; pause 4 8; kill -USR2 "$server_pid" 2> /dev/null || true; }
guest() {   # a device that is made, perhaps renamed, and deleted
  rdma link add guest type rxe netdev v3
  must 30 "devices | grep -qw guest" "a new device is not noticed"
  pause 1 3
  between 0 1
  [ "$picked" = 0 ] || { rdma dev set guest name visitor; must 30 "devices | grep -qw visitor" "a device's new name is not noticed"; }
  timeout 20 rdma link del "$(devices | tr ' ' '\n' | grep -x -e guest -e visitor)" || fail "rdma link del waits for rdmend"
  must 30 "[ \"\$(devices)\" = 'rxe1 rxe2' ]" "a device that has gone is not noticed"
}
removal() {   # of a device that has just had traffic; the kernel would wait for a program that has it open
  between 1 2; local host=$picked
  traffic_down
  timeout 20 rdma link del "rxe$host" || fail "rdma link del waits for rdmend"
  pause 0 2
  rdma link add "rxe$host" type rxe netdev "v$host"
  must 30 "[ \"\$(devices)\" = 'rxe1 rxe2' ]" "a device that is back is not noticed"
  wait_for 30 "rdma link show rxe$host/1 | grep -q 'state ACTIVE' && grep -q : /sys/class/infiniband/rxe$host/ports/1/gids/1" || fail "no GID"
}
reload() {
  local good=1
  between 0 2
  case $picked in
    0) cp "$soak/rules.yaml" "$work/rules.yaml";;
    1) printf -- '- name: more\n  rules:\n  - record: seen\n    expr: count(rdma_port_info)\n' | cat "$soak/rules.yaml" - > "$work/rules.yaml";;
    2) printf -- '- name: bad\n  rules:\n  - alert: Bad\n    expr: rate(\n' | cat "$soak/rules.yaml" - > "$work/rules.yaml"; good=0;;
  esac
  kill -HUP "$rdmend_pid"
  must 20 "[ \"\$(metric rdmend_config_last_reload_successful)\" = $good ]" "the reload does not end as it should"
}
clock() { one_of +3 +40 -3 -20 +3600 -3600; date -s "$picked seconds" > /dev/null; }
rdmend_stopped() { kill -STOP "$rdmend_pid"; one_of flap sleep_a_little; $picked; pause 1 4; kill -CONT "$rdmend_pid"; must 20 is_well "rdmend does not answer after a SIGSTOP"; }
sleep_a_little() { sleep 2; }
# While the Alertmanager is away an alert may fire, but not twice: of an alert that fires again only the last is told, as in Prometheus.
alertmanager_killed() { kill -9 "$alertmanager_pid"; wait "$alertmanager_pid" 2> /dev/null || true; one_of flap guest sleep_a_little; $picked; alertmanager_up; caught_up; }
alertmanager_stopped() { kill -STOP "$alertmanager_pid"; one_of flap guest sleep_a_little; $picked; pause 1 6; kill -CONT "$alertmanager_pid"; caught_up; }
caught_up() {
  local sent
  sent=$(sent_alerts)
  must 60 "[ \"\$(metric_of rdmend_notifications_queued)\" = 0 ] && { [ \"\$(sent_alerts)\" != $sent ] || [ -z \"\$(active)\" ]; }" "what waited is not sent"
}
prometheus_killed() { kill -9 "$prometheus_pid"; wait "$prometheus_pid" 2> /dev/null || true; pause 0 3; prometheus_up; }
prometheus_stopped() { kill -STOP "$prometheus_pid"; pause 2 8; kill -CONT "$prometheus_pid"; }
disturbances=(flap storm guest removal reload clock rdmend_stopped alertmanager_killed alertmanager_stopped prometheus_killed prometheus_stopped)

metric_of() { curl -sf -m 10 http://127.0.0.1:9879/metrics | awk -v name="$1" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'; }
sent_alerts() { metric_of rdmend_notifications_sent_total; }
active() { ctl alerts --json | jq -r '.alerts[] | .labels.alertname' | sort -u | paste -sd' '; }

# --- what is measured

kib() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }
fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
hand_pid() { pgrep -x -P "$rdmend_pid" rdmend-hand | head -n 1; }
figures() {   # sets `figure`
  local pid=$rdmend_pid other metrics store
  other=$(hand_pid)
  metrics=$(curl -sf -m 10 http://127.0.0.1:9879/metrics) || fail "/metrics is not answered"
  store=$(awk '$1 == "rdmend_store_bytes" { printf "%d", $2 / 1024 }' <<< "$metrics")
  figure=([rss]=$(($(kib "$pid" VmRSS) - store)) [store]=$store [fds]=$(fds "$pid") [threads]=$(kib "$pid" Threads) [series]=$(grep -vc '^#' <<< "$metrics")
    [hand_rss]=$(kib "$other" VmRSS) [hand_fds]=$(fds "$other"))
}
declare -A figure before
# Everybody is back, nothing fires, nothing waits: then what rdmend holds can be compared.
rest() {
  traffic_again
  cp "$soak/rules.yaml" "$work/rules.yaml"
  kill -HUP "$rdmend_pid"
  must 90 "[ -z \"\$(active)\" ]" "alerts do not resolve: $(active)"
  must 60 "[ \"\$(metric_of rdmend_notifications_queued)\" = 0 ]" "what waited is not sent"
  must 60 "curl -sf http://127.0.0.1:9090/api/v1/targets | jq -e '.data.activeTargets[0].health == \"up\"' > /dev/null" "Prometheus does not scrape"
  sleep 3
  figures
}

disturb() {   # one of them, and what must hold afterwards
  last=$1
  tell "$1"
  "$1"
  pause 0 2
  kill -0 "$rdmend_pid" 2> /dev/null || fail "rdmend has ended after $last"
  must 30 is_well "rdmend does not answer after $last"
  must 30 "[ \"\$(devices)\" = 'rxe1 rxe2' ]" "rdmend does not know both devices after $last"
  traffic_again
  figures
  echo "$(uptime_s) $last ${figure[rss]} ${figure[store]} ${figure[fds]} ${figure[threads]} ${figure[series]}" >> "$work/course"
}

began=$(uptime_s)
ip link add v3 type veth peer name p3 && ip link set v3 up
cp "$soak/rdmend.yaml" "$soak/rules.yaml" "$work"
printf 'global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: rdmend\n  static_configs: [{targets: ["127.0.0.1:9879"]}]\n' > "$work/prometheus.yml"
python3 "$soak/recorder.py" 9094 9093 "$work/received" > "$work/recorder.log" 2>&1 &
: > "$work/received"
alertmanager_up
prometheus_up
mkdir -p /run/rdmend /var/lib/rdmend
"$rdmend" --config "$work/rdmend.yaml" --hand "$hand" 2> >(exec python3 "$soak/stamp.py" > "$work/rdmend.log") &
rdmend_pid=$!
must 60 is_ready "rdmend does not get ready"
traffic_up
last=start
tell "all is up; seed $2, $seconds s"

mapfile -t order < <(printf '%s\n' "${disturbances[@]}" | shuf --random-source=<(yes "$2"))
for one in "${order[@]}"; do disturb "$one"; done
rest
for key in "${!figure[@]}"; do before[$key]=${figure[$key]}; done
tell "warmed up: this is what the end is compared with"
count=0 end=$(awk -v seconds="$seconds" '{ printf "%d", $1 + seconds }' /proc/uptime)
until [ "$(uptime_s | cut -d. -f1)" -ge "$end" ] && [ $count -gt 0 ]; do
  one_of "${disturbances[@]}"
  disturb "$picked"
  count=$((count + 1))
done
rest
tell "done: $((count + ${#order[@]})) disturbances"

# --- the verdict

bad=0
bound() {   # name, key, how much more is allowed
  local grown=$((figure[$2] - before[$2])) verdict=ok
  if [ "$grown" -gt "$3" ]; then verdict="GROWN, $3 more are allowed; it first was so after: $(culprit "$2" $((before[$2] + $3)))"; bad=1; fi
  printf '%-28s %10s %10s  %s\n' "$1" "${before[$2]}" "${figure[$2]}" "$verdict"
}
culprit() {   # key, limit: the disturbance after which it stayed above
  local column
  case $1 in rss) column=3;; fds) column=5;; threads) column=6;; series) column=7;; *) echo "unknown"; return;; esac
  awk -v column=$column -v limit="$2" '$column > limit { if (name == "") name = $2 " at " $1 " s of the guest"; next } { name = "" } END { print name == "" ? "the last one" : name }' "$work/course"
}
echo
printf '%-28s %10s %10s\n' "at rest" "warmed up" "at the end"
bound "rdmend, KiB without store" rss $most_rss
bound "rdmend, descriptors" fds $most_fds
bound "rdmend, threads" threads $most_threads
bound "rdmend-hand, KiB" hand_rss $most_hand_rss
bound "rdmend-hand, descriptors" hand_fds 0
bound "series in /metrics" series $most_series
printf '%-28s %10s %10s\n' "store, KiB (at most 65536)" "${before[store]}" "${figure[store]}"
echo
ctl history --limit 10000 --json > "$work/history"
python3 "$soak/account.py" "$work/rdmend.log" "$work/received" "$work/history" || bad=1
[ "$(metric_of rdmend_notifications_dropped_total)" = 0 ] || { echo "LOST: notifications were dropped"; bad=1; }
[ "$(metric rdmend_journal_writable)" = 1 ] || { echo "the journal cannot be written"; bad=1; }
grep -q 'the Alertmanager refuses' "$work/recorder.log" && { grep -m 3 'the Alertmanager refuses' "$work/recorder.log"; bad=1; }
kill "$rdmend_pid"
wait "$rdmend_pid" || { echo "rdmend did not end well"; bad=1; }
[ $bad -eq 0 ] || fail "seed $2: see above"
