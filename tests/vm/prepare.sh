#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prepare.sh: fetches Debian's kernel package and unpacks it (nothing is installed), takes the uncompressed kernel out of it, which
# saves seconds of emulated decompression a boot, and makes the initramfs. Quick and silent when all is there.
# Needs: apt-get, dpkg, busybox-static, kmod, xz-utils, zstd, python3.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=tests/vm/cache.sh
. "$here/cache.sh"
cache=$(vm_cache)
mkdir -p "$cache"; cd "$cache"
exec 9> lock; flock 9

if [ ! -e kver ]; then
  case ${VM_KERNEL:-6.1} in
    6.1) image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1);;
    *) image=$(apt-cache search "^linux-image-${VM_KERNEL}\\.[0-9.]*\\+deb12-amd64\$" | cut -d' ' -f1 | sort -V | tail -n 1);;
  esac
  [ -n "$image" ] || { echo "prepare.sh: apt knows no kernel package linux-image-amd64: run apt-get update" >&2; exit 1; }
  echo "fetching $image (once, into $cache)"
  rm -rf kernel ./*.deb; mkdir kernel
  vm_download "$image"
  dpkg -x "$image"_*.deb kernel; rm -f "$image"_*.deb
  echo "${image#linux-image-}" > kver.new
  depmod -b kernel "$(cat kver.new)"
  mv kver.new kver
fi
kernel=$(cat kver)

if [ ! -e vmlinux ]; then
  python3 "$here/extract-vmlinux.py" "kernel/boot/vmlinuz-$kernel" vmlinux.new
  mv vmlinux.new vmlinux
fi

if [ initrd.img -nt "$here/guest/initramfs-init" ] && [ initrd.img -nt "$here/prepare.sh" ]; then exit 0; fi
rm -rf tree; mkdir -p tree/{bin,dev,proc,sys,mod,newroot,ro,rw}
cp "$(command -v busybox)" tree/bin/busybox
for applet in sh mount umount insmod switch_root mkdir echo cat poweroff; do ln -s busybox "tree/bin/$applet"; done
: > tree/mod/order   # the modules that mount the root, in the order of loading
for module in virtio_pci virtio_mmio 9pnet_virtio 9p overlay virtio_console virtio_rng; do
  modprobe -d "$PWD/kernel" -S "$kernel" --show-depends $module | sed -n 's/^insmod \([^ ]*\).*/\1/p' | while read -r file; do
    name=$(basename "$file" .xz)
    ! grep -qx "$name" tree/mod/order || continue
    case $file in *.xz) xz -dc "$file" > "tree/mod/$name";; *) cp "$file" tree/mod/;; esac
    echo "$name" >> tree/mod/order
  done
done
install -m 755 "$here/guest/initramfs-init" tree/init
(cd tree && find . | busybox cpio -o -H newc 2> /dev/null) > initrd.new
mv initrd.new initrd.img; rm -rf tree
