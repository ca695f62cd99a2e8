#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/run.sh [SECONDS] [TARGET...]: builds the fuzz preset and runs each target that long (default 60 s). What the fuzzers learn
# stays in build/fuzz/corpus/, what they find in build/fuzz/findings/; the exit status is 1 when something was found.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 2
seconds=${1:-60}; shift
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "tests/fuzz/run.sh: '$seconds' is no number of seconds" >&2; exit 2; }
cmake --preset fuzz > /dev/null && cmake --build --preset fuzz --target fuzz -- --quiet || exit 1
targets=("$@"); [ $# -gt 0 ] || targets=(tests/fuzz/corpus/*/)
findings=build/fuzz/findings failed=0
mkdir -p "$findings"
for target in "${targets[@]}"; do
  name=$(basename "$target") learnt=build/fuzz/corpus/$(basename "$target")
  mkdir -p "$learnt"
  echo "== fuzz_$name, $seconds s"
  if ! "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -verbosity=0 -print_final_stats=1 \
      -artifact_prefix="$findings/$name-" "$learnt" "tests/fuzz/corpus/$name" > "build/fuzz/$name.log" 2>&1; then
    failed=1
    tail -40 "build/fuzz/$name.log"
    echo "== fuzz_$name: FOUND SOMETHING; copy the input of $findings/$name-* to tests/fuzz/corpus/$name/ once it is understood"
  fi
  grep -E 'number_of_executed_units|peak_rss' "build/fuzz/$name.log"
done
exit $failed
