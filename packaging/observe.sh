#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# observe.sh BUILD SECONDS: rdmend on this host's RDMA devices for a while, changing nothing, then a summary.
set -euo pipefail
build=$1 length=$2
source=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
work=$(mktemp -d)
cp "$build/daemon/rdmend/rdmend" "$build/daemon/rdmendctl/rdmendctl" "$work/"   # a rebuild meanwhile does no harm
sed "s|@WORK@|$work|g; s|@RULES@|$source/config/rules.d|" "$source/packaging/demo/observe.yaml" > "$work/rdmend.yaml"
"$work/rdmend" --config "$work/rdmend.yaml" > "$work/log" 2>&1 & pid=$!
trap 'kill $pid 2> /dev/null || true; wait; rm -rf "$work"' EXIT
ctl() { "$work/rdmendctl" --socket "$work/control.sock" "$@"; }
for _ in $(seq 100); do
  ! ctl status > /dev/null 2>&1 || break
  kill -0 $pid 2> /dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done
ctl status > /dev/null

echo "watching $(compgen -G '/sys/class/infiniband/*' | xargs -n 1 basename | paste -sd ' ') for $length s, changing nothing"
sleep "$length"
echo; ctl status
echo; ctl alerts
echo; ctl events --limit 20
echo; echo "Trouble counters that moved meanwhile:"
moved=''
for name in rnr_naks_sent rnr_naks_received ack_timeouts sequence_naks_received out_of_sequence_received duplicate_requests_received \
  retransmissions retry_exceeded rnr_retry_exceeded cnp_sent cnp_handled link_downed symbol_errors; do
  line=$(ctl query "increase(rdma_${name}_total[${length}s]) > 0" | sed "s/^/  ${name//_/ } /; s/ @.*//")
  [ -z "$line" ] || { echo "$line"; moved=1; }
done
[ -n "$moved" ] || echo "  none"
