# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of the whole daemon and by the demonstration, in the guest: starts the parts and reads what they say.
# shellcheck disable=SC2034  # variables that the scripts use which source this
# shellcheck source=tests/vm/two-hosts.sh
. "$RDMEND_SOURCE/tests/vm/two-hosts.sh"
rdmend=$RDMEND_BUILD/daemon/rdmend/rdmend
hand=$RDMEND_BUILD/daemon/hand/rdmend-hand
rnr_pair=$RDMEND_BUILD/tests/support/rnr_pair
work=$(mktemp -d)
ctl() { "$RDMEND_BUILD/daemon/rdmendctl/rdmendctl" "$@"; }
fail() { echo "FAILED: $*" >&2; show_logs >&2; exit 1; }
show_logs() { local f; for f in "$work"/*.log; do [ ! -s "$f" ] || { echo "--- the end of $(basename "$f")"; tail -n 15 "$f"; }; done; }
must() { wait_for "$1" "$2" || fail "${3:-$2}"; }   # seconds, condition, what is said when it does not come true

start_alertmanager() {
  printf 'route: {receiver: nobody}\nreceivers: [{name: nobody}]\n' > "$work/alertmanager.yml"
  prometheus-alertmanager --config.file="$work/alertmanager.yml" --storage.path="$work/alertmanager" --cluster.listen-address= \
    --web.listen-address=127.0.0.1:9093 --log.level=error > "$work/alertmanager.log" 2>&1 &
  must 60 "curl -sf -o /dev/null http://127.0.0.1:9093/-/ready" "the Alertmanager does not answer"
}

# start_rdmend CONFIG: with the external hand, which acts only where the configuration lets it.
start_rdmend() {
  mkdir -p /run/rdmend /var/lib/rdmend
  "$rdmend" --config "$1" --hand "$hand" >> "$work/rdmend.log" 2>&1 &
  rdmend_pid=$!
  must 60 "is_ready" "rdmend does not get ready"
}
is_ready() { [ "$(ctl status --json 2> /dev/null | jq -r .ready)" = true ]; }

# What rdmend says of an alert, "" when it is inactive; what the Alertmanager holds.
alert_state() { ctl alerts --json | jq -r --arg name "$1" '[.alerts[] | select(.labels.alertname == $name) | .state] | first // ""'; }
alertmanager_has() { curl -sf http://127.0.0.1:9093/api/v2/alerts | jq -e --arg name "$1" 'any(.[]; .labels.alertname == $name and .status.state == "active")' > /dev/null; }

# The journal's entries of one remedy and verdict, oldest first, one JSON text a line.
entries() { ctl remedies --limit 1000 --json | jq -c --arg kind "$1" --arg verdict "$2" '.entries | reverse | .[] | select(.kind == $kind and .verdict == $verdict)'; }
has_entry() { [ -n "$(entries "$1" "$2")" ]; }
metric() { curl -sf http://127.0.0.1:9879/metrics | awk -v name="$1" '$1 == name { print $2 }'; }

# The pair of tests/support: what it needs for a storm of a few hundred NAKs a second that a longer timer calms (see there). The kernel's
# timer has 4 ms grain: the receiver asks for 1.92 ms (code 15), one tick, and 16 times that are 30.72 ms (code 23), eight. Slowed, it takes 1000 messages a
# second of the 2500 that are offered, far below what even a busy machine lets through.
start_pair() {
  "$rnr_pair" server --device rxe2 --qps 2 --min-rnr-timer 15 --post-interval 4 --post-burst 2 --depth 1024 --slow-for 300 > "$work/server.log" 2>&1 &
  server_pid=$!
  "$rnr_pair" client --device rxe1 --qps 2 --window 1 --rate 2500 --duration 100000 > "$work/client.log" 2>&1 &
  client_pid=$!
  must 30 "grep -q msg/s $work/server.log" "the pair does not talk"
}
storm_begins() { kill -USR1 "$server_pid"; }
storm_ends() { kill -USR2 "$server_pid"; }
# Ends the pair and checks that both ends agree on every message.
end_pair() {
  kill "$client_pid"
  wait "$client_pid" || fail "the client did not end well"
  wait "$server_pid" || fail "the server did not end well"
  tail -qn 1 "$work/server.log" "$work/client.log"
}
naks_sent() { cat /sys/class/infiniband/rxe2/ports/1/hw_counters/send_rnr_err; }
# The min_rnr_timer codes of the receiver's queue pairs as the external hand reads them: "15 15".
timers() { ctl qps rxe2 --deep --json | jq -r '[.devices[] | select(.device == "rxe2") | .qps[] | select(.comm == "rnr_pair") | .attributes.min_rnr_timer] | join(" ")'; }

# measure SECONDS: sets `naks` and `goodput`, both a second, over that many reports of the receiver.
measure() {
  local from to first last began ended lines
  lines=$(wc -l < "$work/server.log")
  wait_for 30 "[ \$(wc -l < $work/server.log) -gt $lines ]"
  first=$(naks_sent) began=${EPOCHREALTIME/./} from=$(tail -n 1 "$work/server.log")
  lines=$(wc -l < "$work/server.log")
  wait_for $(($1 * 4 + 30)) "[ \$(wc -l < $work/server.log) -ge $((lines + $1)) ]" || fail "the receiver stands still"
  last=$(naks_sent) ended=${EPOCHREALTIME/./} to=$(tail -n 1 "$work/server.log")
  naks=$(awk -v n=$((last - first)) -v us=$((ended - began)) 'BEGIN { printf "%.0f", n * 1e6 / us }')
  goodput=$(printf '%s\n%s\n' "$from" "$to" | awk '{ t[NR] = $2; n[NR] = $6 } END { printf "%.0f", (n[2] - n[1]) / (t[2] - t[1]) }')
}
