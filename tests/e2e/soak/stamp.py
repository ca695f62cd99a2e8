#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stamp.py: puts the time of the monotonic clock before each line, since the wall clock is moved about."""
import sys
import time

for line in sys.stdin:
    print(f"{time.monotonic():.3f} {line}", end="", flush=True)
