#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build-evinject.sh: builds the guest's event injector (evinject/evinject.c) against Debian's kernel headers, fetched, not installed.
# The result is evinject/evinject.ko of the cache. Needs: apt-get, dpkg, gcc-12, make, libelf1. Quick and silent when it is there.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=tests/vm/cache.sh
. "$here/cache.sh"
"$here/prepare.sh"
cache=$(vm_cache); cd "$cache"
exec 9> lock; flock 9
if [ ! -e headers/complete ] && ! apt-cache show "linux-headers-$(cat kver)" > /dev/null 2>&1; then
  echo "the archive has moved on from $(cat kver): fetching the kernel anew"
  rm -f kver vmlinux; flock -u 9; "$here/prepare.sh"; flock 9
fi
kernel=$(cat kver)
if [ evinject/evinject.ko -nt "$here/evinject/evinject.c" ]; then exit 0; fi

if [ ! -e headers/complete ]; then
  echo "fetching the headers of $kernel (once, into $cache)"
  rm -rf headers; mkdir headers
  packages=("linux-headers-$kernel" "linux-headers-${kernel%-amd64}-common" "linux-kbuild-$(echo "$kernel" | cut -d. -f1,2)")
  (cd headers && vm_download "${packages[@]}" && for p in *.deb; do dpkg -x "$p" .; done && rm -f ./*.deb)
  sed -i "s|/usr/src|$cache/headers/usr/src|" "headers/usr/src/linux-headers-$kernel/Makefile"
  : > headers/complete
fi
rm -rf evinject; mkdir evinject
cp "$here/evinject/evinject.c" evinject/
echo 'obj-m := evinject.o' > evinject/Makefile
make -s -C "$cache/headers/usr/src/linux-headers-$kernel" M="$cache/evinject" modules > evinject.log 2>&1 || { tail -n 20 evinject.log >&2; exit 1; }
