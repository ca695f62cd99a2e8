#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_documents.py SOURCE BUILD [--update]: the examples of README.md are true.

A fenced block below <!-- file: PATH --> is that file's text (--update copies it in). The configurations and rule files that are shipped or
shown pass rdmend's own checks. Every rdmendctl command in an example is one that rdmendctl has.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(<!-- file: (\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)


def blocks(source: pathlib.Path, update: bool) -> list[str]:
    readme = source / "README.md"
    text = readme.read_text(encoding="utf-8")
    if update:
        readme.write_text(BLOCK.sub(lambda m: m[1] + (source / m[2]).read_text(encoding="utf-8") + m[4], text), encoding="utf-8")
        return []
    found = BLOCK.findall(text)
    faults = [] if found else ["README.md shows no file"]
    for _, path, shown, _ in found:
        if (source / path).read_text(encoding="utf-8") != shown:
            faults.append(f"README.md does not show {path} as it is (check_documents.py --update copies it in)")
    return faults


def configurations(source: pathlib.Path, rdmend: pathlib.Path) -> list[str]:
    faults = []
    with tempfile.TemporaryDirectory() as work:
        for path in [source / "packaging/demo/rdmend.yaml", source / "packaging/demo/observe.yaml", source / "config/rdmend.yaml"]:
            text = path.read_text(encoding="utf-8").replace("@WORK@", work).replace("@RULES@", str(source / "config/rules.d"))
            copy = path if "@WORK@" not in path.read_text(encoding="utf-8") else pathlib.Path(work, path.name)
            if copy != path:
                copy.write_text(text, encoding="utf-8")
            run = subprocess.run([rdmend, "--config", copy, "--check-config"], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                faults.append(f"{path}: {run.stderr}")
    return faults


def commands(source: pathlib.Path, ctl: pathlib.Path) -> list[str]:
    faults = []
    used = set()
    for words in re.findall(r"\brdmendctl ((?:[a-z]+ ?)+)", (source / "README.md").read_text(encoding="utf-8")):
        used.add(tuple(words.split()))
    top = subprocess.run([ctl, "--help"], capture_output=True, text=True, check=False).stdout
    for words in sorted(used):
        depth = 2 if words[0] in ("check", "test", "export") else 1
        help_of = [ctl, *words[:depth], "--help"]
        if words[0] not in top.split() or subprocess.run(help_of, capture_output=True, check=False).returncode != 0:
            faults.append(f"README.md: rdmendctl has no command '{' '.join(words[:depth])}'")
    return faults if used else ["README.md shows no rdmendctl command"]


def main() -> int:
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if "--update" in sys.argv:
        blocks(source, True)
        return 0
    faults = blocks(source, False) + configurations(source, build / "daemon/rdmend/rdmend") + commands(source, build / "daemon/rdmendctl/rdmendctl")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
