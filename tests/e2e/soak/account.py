#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""account.py LOG RECEIVED HISTORY: compares what rdmend decided with what the Alertmanager got.

LOG: rdmend's own lines, stamped (stamp.py). RECEIVED: recorder.py's. HISTORY: `rdmendctl history --json`. Every alert that fired must have been
received before the same alert fired again, and its end as well; nothing may have been received that was not decided; every firing of a rule
with a remedy must have its entry in the journal. Prints a table, and says each thing that is missing; exits 1 then."""
import collections
import json
import re
import sys

log, received, history = sys.argv[1:4]
DECISION = re.compile(r'^(\S+) .* rules: (\S+) is (pending|firing|resolved|inactive again) alert=("?)(\{.*?\})\4 value=')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def key_of(labels):
    return " ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name not in ("instance", "severity"))


class Firing:
    def __init__(self, begin):
        self.begin, self.end, self.told_begin, self.told_end = begin, None, False, False


firings = collections.defaultdict(list)
with open(log, encoding="utf-8") as file:
    for line in file:
        found = DECISION.match(line)
        if not found:
            continue
        at, state = float(found.group(1)), found.group(3)
        key = key_of(dict(LABEL.findall(found.group(5).replace('\\"', '"').replace("\\\\", "\\"))))
        if state == "firing":
            firings[key].append(Firing(at))
        elif state == "resolved" and firings[key]:
            firings[key][-1].end = at

faults = []
SLACK = 0.5  # of the stamps: a line may be stamped after the alert has been received
with open(received, encoding="utf-8") as file:
    for line in file:
        alert = json.loads(line)
        key = key_of(alert["labels"])
        told = [one for one in firings[key] if one.begin <= alert["at"] + SLACK]
        if not told:
            faults.append(f"{key}: received at {alert['at']:.1f} s, but never decided")
            continue
        told[-1].told_begin = True
        if not alert["fires"]:
            told[-1].told_end = True

entries = collections.Counter()
with open(history, encoding="utf-8") as file:
    for entry in json.load(file)["entries"]:
        if entry["verdict"] in ("succeeded", "refused", "dry_run") and entry["kind"] == "advise":
            entries[key_of(entry["alert"])] += 1

rows = collections.defaultdict(lambda: [0] * 5)
for key, all_of_it in firings.items():
    row = rows[dict(pair.split("=", 1) for pair in key.split(" "))["alertname"]]
    row[0] += len(all_of_it)
    row[4] += entries[key]
    if entries[key] < len(all_of_it):
        faults.append(f"{key}: fired {len(all_of_it)} times, and the journal has {entries[key]} entries of it")
    for one in all_of_it:
        row[1] += one.told_begin
        row[2] += one.end is not None
        row[3] += one.told_end
        if not one.told_begin:
            faults.append(f"{key}: fired at {one.begin:.1f} s, never received")
        elif one.end is not None and not one.told_end:
            faults.append(f"{key}: resolved at {one.end:.1f} s, its end never received")

print(f"{'alert':<20} {'fired':>8} {'received':>9} {'resolved':>9} {'received':>9} {'journal':>8}")
for name, row in sorted(rows.items()):
    print(f"{name:<20} {row[0]:>8} {row[1]:>9} {row[2]:>9} {row[3]:>9} {row[4]:>8}")
if not rows:
    faults.append("nothing fired: the disturbances disturbed nothing")
for fault in faults:
    print("LOST:", fault)
sys.exit(1 if faults else 0)
