#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-in-vm.sh [options] [--] COMMAND...
#   Boots a throw-away QEMU machine (software emulation, no KVM needed) with Debian's kernel, whose root is this machine's own
#   root file system (9p, read-only, under a tmpfs overlay), runs COMMAND in it as root, streams its output here, and exits with
#   its status. One argument is taken as the text of a shell script, several as a command with its arguments.
#   -t SEC        overall time limit (default 300)
#   -e NAME=VALUE environment of the command (repeatable)
#   -r DIR        directory that the guest must see at the same path even below /tmp, /run or /dev (repeatable);
#                 what it writes there is not kept
#   -w DIR        the same, and what it writes is kept
#   -m "LIST"     modules to load (default: what Soft-RoCE and two hosts need)
#   -M MiB        memory (default 2048)          -c N   processors (default 2)
#   --udev        start systemd-udevd in the guest
#   --systemd     boot with systemd as PID 1; COMMAND runs as a unit after basic.target
#   --evinject    load the event injector (build-evinject.sh)
#   --log FILE    keep the guest's console (kernel messages) in FILE
#   --timing      print boot and total times on stderr
#   VM_ROOT=DIR boots another root, VM_KERNEL=6.12 Debian 12's newer kernel, VM_CACHE=DIR another cache.
# Exit: the command's status; 124 time limit; 125 the guest died without reporting.
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=tests/vm/cache.sh
. "$here/cache.sh"

limit=300 memory=2048 cpus=2 init=plain log='' udev='' timing='' evinject=''
modules="ib_uverbs ib_umad rdma_ucm rdma_rxe veth bridge sch_netem"
shares=() environment=()
usage() { echo "run-in-vm.sh: $1 (see the head of the script)" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    -t) limit=$2; shift 2;;
    -e) environment+=("$2"); shift 2;;
    -r) shares+=("ro:$(readlink -f "$2")"); shift 2;;
    -w) shares+=("rw:$(readlink -f "$2")"); shift 2;;
    -m) modules=$2; shift 2;;
    -M) memory=$2; shift 2;;
    -c) cpus=$2; shift 2;;
    --udev) udev=1; shift;;
    --systemd) init=systemd; shift;;
    --evinject) evinject=1; shift;;
    --log) log=$2; shift 2;;
    --timing) timing=1; shift;;
    --) shift; break;;
    -*) usage "unknown option $1";;
    *) break;;
  esac
done
[ $# -gt 0 ] || usage "no command"

"$here/prepare.sh" >&2 || exit 125
[ -z "$evinject" ] || "$here/build-evinject.sh" >&2 || exit 125
cache=$(vm_cache)
kernel=$(cat "$cache/kver")

run=$(mktemp -d "${TMPDIR:-/tmp}/rdmend-vm.XXXXXX")
trap 'rm -rf "$run"' EXIT
mkdir "$run/ctl"
cp "$here"/guest/* "$run/ctl/"
[ -z "$evinject" ] || cp "$cache/evinject/evinject.ko" "$run/ctl/"
printf '%s\n' "$modules" > "$run/ctl/modules"
pwd > "$run/ctl/cwd"
[ -z "$udev" ] || : > "$run/ctl/udev"
for e in ${environment[@]+"${environment[@]}"}; do printf 'export %s=%q\n' "${e%%=*}" "${e#*=}"; done > "$run/ctl/environment"
if [ $# -eq 1 ]; then printf '%s\n' "$1"; else printf '%q ' "$@"; fi > "$run/ctl/command"
mkfifo "$run/out"
: > "$run/status"; : > "$run/console"

append="console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nopti nokaslr audit=0 apparmor=0 no_timer_check tsc=reliable"
append+=" random.trust_cpu=on cryptomgr.notests 8250.nr_uarts=1 rcupdate.rcu_expedited=1 iommu=off vm.init=$init"
[ $init = plain ] || append+=" systemd.unit=vm.target fstab=no systemd.show_status=0 systemd.volatile=no systemd.gpt_auto=0"
arguments=(-nodefaults -no-user-config -nographic -no-reboot -accel "tcg,thread=multi" -M q35 -cpu max -smp "$cpus" -m "$memory" -nic none
  -kernel "$cache/vmlinux" -initrd "$cache/initrd.img"
  -chardev "file,id=con,path=$run/console" -serial chardev:con
  -device virtio-rng-pci -device virtio-serial-pci
  -chardev "file,id=out,path=$run/out" -device "virtserialport,chardev=out,name=vm.out"
  -chardev "file,id=st,path=$run/status" -device "virtserialport,chardev=st,name=vm.status")
share() {  # tag, directory, further options
  arguments+=(-fsdev "local,id=$1,path=$2,security_model=none,multidevs=remap$3" -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}
share hostroot "${VM_ROOT:-/}" ,readonly=on
share ctl "$run/ctl" ,readonly=on
share modules "$cache/kernel/lib/modules/$kernel" ,readonly=on
list='' n=0
for s in ${shares[@]+"${shares[@]}"}; do
  if [ "${s%%:*}" = ro ]; then share "share$n" "${s#*:}" ,readonly=on; else share "share$n" "${s#*:}" ""; fi
  list+="${list:+,}share$n:$s"; n=$((n + 1))
done
[ -z "$list" ] || append+=" vm.share=$list"

began=$(date +%s.%N)
cat "$run/out" & reader=$!
# QEMU goes when this script goes, however it goes.
setpriv --pdeathsig TERM timeout -k 5 "$limit" qemu-system-x86_64 "${arguments[@]}" -append "$append" </dev/null >"$run/qemu.log" 2>&1 & qemu=$!
trap 'kill $qemu 2>/dev/null; wait $qemu; kill $reader 2>/dev/null; exit 143' TERM INT HUP
wait $qemu; ended=$?
# If QEMU died before it opened the pipe, the reader still waits in open(): open and close it once.
( exec 3<>"$run/out" ); wait $reader 2>/dev/null
[ -z "$log" ] || cp "$run/console" "$log"
[ -z "$timing" ] || awk -v wall="$(echo "$(date +%s.%N) $began" | awk '{print $1 - $2}')" \
  '$1=="boot"{b=$2} $1=="rc"{e=$3} END{printf "vm: command began at %.1fs of the guest, ended at %.1fs; wall %.1fs\n", b, e, wall}' "$run/status" >&2

tail_of_console() { echo "vm: the guest's console ended with:" >&2; tail -n 25 "$run/console" | tr -d '\r' >&2; }
status=$(awk '$1=="rc"{print $2}' "$run/status")
if [ -n "$status" ]; then
  [ "$status" -eq 0 ] || tail_of_console
  exit "$status"
elif [ $ended -eq 124 ] || [ $ended -eq 137 ]; then
  echo "vm: time limit of ${limit}s" >&2; tail_of_console; exit 124
fi
echo "vm: the guest ended without a status (qemu: $ended)" >&2
cat "$run/qemu.log" >&2; tail_of_console
exit 125
