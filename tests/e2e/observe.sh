#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: what packaging/quickstart.sh does on a host that has RDMA devices.
set -euo pipefail
"$RDMEND_SOURCE/packaging/observe.sh" "$RDMEND_BUILD" 5 | tee /tmp/summary
for word in rxe1 rxe2 observe "Trouble counters"; do grep -q "$word" /tmp/summary || { echo "the summary says nothing of: $word" >&2; exit 1; }; done
