#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh [--all] [--no-install]: installs what the tests need, builds, runs everything: unit, scenario, differential and virtual
# machine tests of the release preset, then unit and scenario tests under the address and undefined behaviour sanitizers, then the fuzzers, ten
# seconds each. It ends with ctest's summaries; the exit status is 0 when nothing failed.
#   --all         also: the tests labelled long, clang and its tests, the thread sanitizer, clang-tidy, a minute of each fuzzer, a larger differential campaign, tests/soak.sh
#   --no-install  leave the machine's packages alone
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 2
all='' install=1
for a in "$@"; do
  case $a in
    --all) all=1;;
    --no-install) install='';;
    *) echo "tests/run.sh: unknown option $a; there are --all and --no-install" >&2; exit 2;;
  esac
done

failed=() ran=()
step() {  # name, command...: runs it, remembers a failure
  local name=$1 began=$SECONDS; shift
  echo "== $name"
  if "$@"; then echo "== $name: done in $((SECONDS - began)) s"; else failed+=("$name"); echo "== $name: FAILED after $((SECONDS - began)) s"; return 1; fi
}
build() {  # preset, targets...
  local preset=$1; shift
  cmake --preset "$preset" > "build/$preset.log" 2>&1 || { cat "build/$preset.log"; return 1; }
  cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet
}
check() {  # preset, options of ctest...
  local preset=$1; shift
  ran+=("$preset")
  ctest --preset "$preset" --no-tests=error -j "$(nproc)" "$@" 2>&1 | tee "build/$preset/ctest.log"
}
build_and_check_units() { step "build $1" build "$1" rdmend_unit_tests && step "test $1" check "$1" -L '^(unit|scenarios)$'; }
tidy() { run-clang-tidy -quiet -p build/clang "^$PWD/build/clang/(lib|daemon)/" > build/tidy.log 2> /dev/null || { grep -E 'warning:|error:' build/tidy.log; return 1; }; }
finish() {
  [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-0}" build
  [ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
  local i
  for ((i = ${#ran[@]} - 1; i >= 0; i--)); do
    echo "== ctest, preset ${ran[i]}"
    sed -n '/tests passed/,$p' "build/${ran[i]}/ctest.log"
  done
  [ ${#failed[@]} -eq 0 ]
}

mkdir -p build
sections=(build vm test) usual=(-LE '^long$')
[ -z "$all" ] || sections+=(all) usual=()
[ -z "$install" ] || step "packages" packaging/install-packages.sh "${sections[@]}" || exit 1
# Most of a test's time in a virtual machine is waiting: what else is to be built takes the processors meanwhile, when nobody else wants them.
build_beside() {
  set -m  # a process group of its own, which ends with us
  (chrt --idle --pid 0 "$BASHPID"; build asan rdmend_unit_tests; build fuzz fuzz) > build/beside.log 2>&1 &
  set +m
  trap "kill -- -$! 2> /dev/null" EXIT
}
# An emulated machine may be late: what fails is tried once more, and ctest says so.
step "build release" build release && build_beside && step "test release" check release --repeat until-pass:2 "${usual[@]}"
wait  # for what is still being built
build_and_check_units asan
step "fuzzing" tests/fuzz/run.sh "$([ -n "$all" ] && echo 60 || echo 10)"
if [ -n "$all" ]; then
  step "build clang" build clang && step "test clang" check clang -L '^(unit|scenarios)$'
  build_and_check_units tsan
  step "clang-tidy" tidy
  step "differential campaign" build/release/tests/differential/differential --cases 20000
  step "soak" tests/soak.sh 120
fi
finish
