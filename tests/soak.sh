#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/soak.sh [SECONDS] [SEED]: in a virtual machine, rdmend among RDMA traffic while links flap, devices come and go, it is reloaded and
# stopped, the clock steps, and Alertmanager and Prometheus come and go. SECONDS begin after the warm-up (default 3600); the same SEED gives the
# same order (default: another each time). It fails when memory, descriptors or series grow, or when anything is lost between the journal and
# what the Alertmanager got; see tests/e2e/soak.sh.
set -euo pipefail
source=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
build=${RDMEND_BUILD:-$source/build/release}
seconds=${1:-3600} seed=${2:-$RANDOM}
[[ $seconds =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]] || { echo "tests/soak.sh: SECONDS and SEED are numbers; see the head of the script" >&2; exit 2; }
if [ ! -e "$build/build.ninja" ]; then (cd "$source" && cmake --preset release > /dev/null); fi
cmake --build "$build" --target rdmend rdmendctl rdmend-hand rnr_pair -- --quiet
echo "soak: $seconds s, seed $seed"
# The warm-up and the rests take their time whatever SECONDS says.
exec "$source/tests/vm/vm-test.sh" "$source" "$build" --two-hosts -t $((seconds + 900)) -- bash "$source/tests/e2e/soak.sh" "$seconds" "$seed"
