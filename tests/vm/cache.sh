# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced: where the guest's kernel and initramfs are kept.
vm_cache() { echo "${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rdmend-vm${VM_KERNEL:+-$VM_KERNEL}}"; }

# apt-get download as any user; as root without the sandbox user, who cannot write into the cache.
vm_download() { if [ "$(id -u)" = 0 ]; then apt-get -qq -o APT::Sandbox::User=root download "$@"; else apt-get -qq download "$@"; fi; }
