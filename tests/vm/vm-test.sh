#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vm-test.sh SOURCE BUILD [--two-hosts] [options of run-in-vm.sh] -- COMMAND...: what ctest runs for a test in the guest. The command
# finds RDMEND_SOURCE and RDMEND_BUILD in its environment, and with --two-hosts rxe1 and rxe2 up (two-hosts.sh).
set -uo pipefail
source=$1 build=$2; shift 2
options=() prologue=''
while [ "$1" != -- ]; do
  if [ "$1" = --two-hosts ]; then prologue=". $(printf %q "$source")/tests/vm/two-hosts.sh && two_hosts || exit 1; "; else options+=("$1"); fi
  shift
done
shift
# The guest has a /tmp, /run and /dev of its own: a tree that lies there is shared.
for d in "$source" "$build"; do
  case $(readlink -f "$d") in /tmp/* | /run/* | /dev/*) options+=(-r "$d");; esac
done
cd "$source" || exit 125
exec "$source/tests/vm/run-in-vm.sh" ${options[@]+"${options[@]}"} -e "RDMEND_SOURCE=$source" -e "RDMEND_BUILD=$build" \
  -e "ASAN_OPTIONS=${ASAN_OPTIONS:-}" -- "$prologue$(printf '%q ' "$@")"
