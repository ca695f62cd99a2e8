#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/run.sh [SECONDS] [TARGET...]: builds the fuzz preset and runs each target that long (default 60 s), as many at once as there are
# processors. What the fuzzers learn stays in build/fuzz/corpus/, what they find in build/fuzz/findings/; the exit status is 1 when something was found.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 2
seconds=${1:-60}; shift
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "tests/fuzz/run.sh: '$seconds' is no number of seconds" >&2; exit 2; }
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -a tests/fuzz/corpus/*/)
programs=() findings=build/fuzz/findings
for name in "${targets[@]}"; do
  [ -d "tests/fuzz/corpus/$name" ] || { echo "tests/fuzz/run.sh: there is no target '$name'; there are: $(basename -a tests/fuzz/corpus/*/ | paste -sd" ")" >&2; exit 2; }
  programs+=("fuzz_$name")
done
mkdir -p "$findings"
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm   # where fuzz_sysfs builds its trees
cmake --preset fuzz > build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
cmake --build --preset fuzz --target "${programs[@]}" -- --quiet || exit 1

fuzz() {  # target: its line, and what it found
  local name=$1 log=build/fuzz/$1.log learnt=build/fuzz/corpus/$1
  mkdir -p "$learnt"
  if "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -verbosity=0 -print_final_stats=1 \
      -artifact_prefix="$findings/$name-" "$learnt" "tests/fuzz/corpus/$name" > "$log" 2>&1; then
    awk -v name="$name" '$1 == "stat::number_of_executed_units:" { runs = $2 } $1 == "stat::peak_rss_mb:" { rss = $2 }
      END { printf "fuzz_%-14s %9d inputs, at most %d MiB\n", name, runs, rss; exit runs == 0 }' "$log"
    return
  fi
  grep -v NEW_FUNC "$log" | tail -40
  echo "fuzz_$name FOUND SOMETHING: copy the input of $findings/$name-* to tests/fuzz/corpus/$name/ once it is understood"
  return 1
}

failed=0 running=0
for name in "${targets[@]}"; do
  if [ $running -ge "$(nproc)" ]; then wait -n || failed=1; running=$((running - 1)); fi
  fuzz "$name" &
  running=$((running + 1))
done
while [ $running -gt 0 ]; do wait -n || failed=1; running=$((running - 1)); done
exit $failed
