#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/bench/run.sh [--short] [--build DIRECTORY]: measures rdmend side by side with what people run today, prints the tables and writes
# them into RESULTS.md. It needs Debian's prometheus and prometheus-node-exporter, what tests/vm needs, fifteen minutes, and a machine that
# does nothing else.
#   --short            a sixth of the rounds, and RESULTS.md is left as it is: to see whether the measuring itself works
#   --build DIRECTORY  takes the programs from there as they are; else the release preset is built
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
rounds=60 evaluations=8 pairs=5000 results=tests/bench/RESULTS.md build=''
while [ $# -gt 0 ]; do
  case $1 in
    --short) rounds=10 evaluations=2 pairs=500 results=/dev/null;;
    --build) build=${2:?--build needs a directory}; shift;;
    *) echo "tests/bench/run.sh: unknown option $1; there are --short and --build DIRECTORY" >&2; exit 2;;
  esac
  shift
done
if [ -z "$build" ]; then
  build=build/release
  cmake --preset release > /dev/null
  cmake --build --preset release --target bench -- --quiet
fi
here=$build/tests/bench daemon=$build/daemon/rdmend/rdmend tree=tests/bench/make-sysfs.sh
exporters() { "$here/bench_exporters" "$daemon" "$tree" "$PWD/config/rules.d/*.yaml" "$rounds" "$1"; }
machine() {
  local model cores memory
  model=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1)
  cores=$(nproc) memory=$(awk '/^MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)
  echo "$model, $cores cores, $memory, $(uname -s) $(uname -r | cut -d- -f1)$(grep -q '^flags.* hypervisor' /proc/cpuinfo && echo ', a virtual machine' || true)"
}
queue_pairs() {
  local built
  built=$(readlink -f "$build")
  tests/vm/vm-test.sh "$PWD" "$built" --two-hosts -M 4096 -t 900 -- "$built/tests/bench/bench_queue_pairs" "$built/daemon/rdmend/rdmend" \
    "$built/tests/e2e/qp_owner" "$PWD/config/rules.d/*.yaml" "$pairs" $((rounds / 2))
}
version() { "$1" --version 2>&1 | sed -n '1s/.*version \([^ ]*\).*/\1/p'; }

measure() {
  cat << END
# How rdmend does, measured

Made by \`tests/bench/run.sh\` on $(date -u +%F), all in one run, what is compared by turns. A ratio is rdmend's figure divided by the other's:
below 1 rdmend takes less.

- machine: $(machine)
- others: node_exporter $(version prometheus-node-exporter), prometheus $(version prometheus), as Debian has them
- load of the machine at the start: $(cut -d' ' -f1 /proc/loadavg)

## node_exporter

\`prometheus-node-exporter --collector.disable-defaults --collector.infiniband\` and rdmend, without rules and with \`sampling.counters_interval: 1s\`,
on one tree of files (\`make-sysfs.sh\`; plain files, so that no firmware answers slowly). $rounds scrapes of each, one a second, which of the two comes
first alternating. node_exporter collects when it is scraped, rdmend every second by itself: the CPU is of $rounds collections and $rounds scrapes of
either, all threads, read from the process' CPU clock.
END
  exporters compare
  cat << END

rdmend also keeps a quarter of an hour of every series for its rules, node_exporter nothing. With the whole history (sampled ten times as often, for
a tenth of the time):
END
  exporters history
  cat << END

## The files alone

By turns in one thread, CPU time, medians of $((rounds * 10)) rounds.
END
  "$here/bench_collection" "$tree" 8 $((rounds * 10))
  "$here/bench_collection" "$tree" 64 $((rounds * 10))
  cat << END

## Rules

One group of rules, the same file in both, over the same samples (a scrape with explicit times filled Prometheus' head): one each five
seconds. Prometheus' figure is its own \`prometheus_rule_group_last_duration_seconds\`; rdmend's engine does the group right after it.
END
  "$here/bench_rules" "$evaluations"
  cat << END

## At rest

Nobody scrapes; $((rounds / 2)) seconds; rdmend samples once a second with the rules of \`config/rules.d\` loaded. Waits are voluntary context switches
of all threads.
END
  exporters idle
  cat << END

## Ten thousand queue pairs

In the virtual machine of tests/vm, which is emulated instruction by instruction: its times are many times those of a real processor, its ratios
are not. Two Soft-RoCE devices, a process with $((2 * pairs)) connected queue pairs, all rules of \`config/rules.d\`, one sampling a second, a look at all queue
pairs each five seconds (30 s as installed). $((rounds / 2)) seconds before they are made, and as many after.
END
  queue_pairs
}

report=$(mktemp)
trap 'rm -f "$report"' EXIT
measure | tee "$report"
[ ! -f tests/bench/remarks.md ] || cat tests/bench/remarks.md | tee -a "$report"
cat "$report" > "$results"
