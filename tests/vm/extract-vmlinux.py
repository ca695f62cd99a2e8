#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""extract-vmlinux.py BZIMAGE VMLINUX: takes the compressed kernel out of a bzImage (the boot protocol's setup header says where it is)."""
import lzma
import struct
import subprocess
import sys
import zlib


def main() -> int:
    with open(sys.argv[1], "rb") as file:
        image = file.read()
    protected = ((image[0x1F1] or 4) + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[protected + offset:protected + offset + length]
    if payload[:6] == b"\xfd7zXZ\0":
        kernel = lzma.LZMADecompressor().decompress(payload)
    elif payload[:2] == b"\x1f\x8b":
        kernel = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(payload)
    elif payload[:4] == b"\x28\xb5\x2f\xfd":
        # four bytes of length follow the frame; zstd complains about them and is right in all else
        kernel = subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    else:
        print(f"{sys.argv[1]}: compression not known: {payload[:8]!r}", file=sys.stderr)
        return 1
    if kernel[:4] != b"\x7fELF":
        print(f"{sys.argv[1]}: the payload is no ELF file", file=sys.stderr)
        return 1
    with open(sys.argv[2], "wb") as file:
        file.write(kernel)
    return 0


sys.exit(main())
