#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh: installs what is needed, builds rdmend, and shows it at work. Where this host has RDMA devices it watches them for a
# minute, changing nothing, and sums up. Where it has none, a demonstration runs in a virtual machine with Soft-RoCE.
#   --demo        the demonstration, devices or not
#   --no-install  leave the machine's packages alone
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
demo='' install=1
for a in "$@"; do
  case $a in
    --demo) demo=1;;
    --no-install) install='';;
    *) echo "quickstart.sh: unknown option $a; there are --demo and --no-install" >&2; exit 2;;
  esac
done
if ! compgen -G '/sys/class/infiniband/*' > /dev/null; then demo=1; fi
if [ "$(id -u)" != 0 ]; then echo "quickstart.sh: run it with sudo: it installs packages and reads what is root's" >&2; exit 1; fi

[ -z "$install" ] || packaging/install-packages.sh build ${demo:+vm}
echo "building rdmend (a few minutes the first time)"
mkdir -p build
cmake --preset release -DRDMEND_TESTS=ON > build/quickstart.log 2>&1 || { cat build/quickstart.log >&2; exit 1; }
cmake --build --preset release --target rdmend rdmend-hand rdmendctl rnr_pair -- --quiet
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-0}" build

if [ -n "$demo" ]; then
  echo "starting a virtual machine with two Soft-RoCE hosts (software emulation; nothing of this host is changed)"
  exec tests/vm/vm-test.sh "$PWD" "$PWD/build/release" --two-hosts -t 600 -- bash "$PWD/packaging/demo.sh"
fi

exec packaging/observe.sh "$PWD/build/release" 60
