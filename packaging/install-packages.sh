#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install-packages.sh SECTION...: installs what is missing of these sections of debian-packages.txt. Silent when nothing is. It starts no
# service, and what it brings stays disabled: a build machine does not want a Prometheus of its own.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
wanted=()
for section in "$@"; do
  mapfile -t found < <(awk -v s="[$section]" '/^\[/ { on = $0 == s; next } on && !/^#/ && NF { print $1 }' "$here/debian-packages.txt")
  [ ${#found[@]} -gt 0 ] || { echo "install-packages.sh: debian-packages.txt has no section [$section]" >&2; exit 2; }
  wanted+=("${found[@]}")
done
installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2> /dev/null | grep -qx installed; }
missing=()
for p in "${wanted[@]}"; do installed "$p" || missing+=("$p"); done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" = 0 ] || { echo "install-packages.sh: root is needed to install ${missing[*]}" >&2; exit 1; }
command -v apt-get > /dev/null || { echo "install-packages.sh: made for Debian 12, and there is no apt-get here" >&2; exit 1; }

echo "installing ${#missing[@]} packages: ${missing[*]}"
services=()
for s in prometheus prometheus-alertmanager prometheus-node-exporter civetweb; do installed "$s" || services+=("$s.service"); done
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' > $policy; chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get -q update && apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold install "${missing[@]}"; } < /dev/null > "$log" 2>&1; then
  tail -n 30 "$log" >&2; rm -f "$log"
  echo "install-packages.sh: apt-get failed" >&2; exit 1
fi
rm -f "$log"
for s in "${services[@]}"; do
  [ ! -e "/lib/systemd/system/$s" ] || systemctl -q disable "$s" > /dev/null 2>&1 || true
done
