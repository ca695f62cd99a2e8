#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_documents.py SOURCE BUILD [--update]: the examples of README.md are true.

A fenced block below <!-- file: PATH --> is that file's text (--update copies it in). The configurations and rule files that are shipped or
shown pass rdmend's own checks. Every rdmendctl command in the text is one that rdmendctl has, and those of the examples are run against a
daemon.
"""
import pathlib
import re
import shlex
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


def check_config(rdmend: pathlib.Path, file: pathlib.Path, shown_as: str) -> list[str]:
    run = subprocess.run([rdmend, "--config", file, "--check-config"], capture_output=True, text=True, check=False)
    return [f"{shown_as}: {run.stderr}"] if run.returncode != 0 else []


def configurations(source: pathlib.Path, rdmend: pathlib.Path, work: pathlib.Path) -> list[str]:
    faults = []
    for path in [source / "packaging/demo/rdmend.yaml", source / "packaging/demo/observe.yaml", source / "config/rdmend.yaml"]:
        text = path.read_text(encoding="utf-8")
        filled = text.replace("@WORK@", str(work)).replace("@RULES@", str(source / "config/rules.d"))
        copy = path if filled == text else work / path.name
        if copy != path:
            copy.write_text(filled, encoding="utf-8")
        faults += check_config(rdmend, copy, str(path))
    return faults


def listening(source: pathlib.Path, rdmend: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The README's example of listen, with the files that it names."""
    shown = re.search(r"```yaml\n(listen:.*?)```", (source / "README.md").read_text(encoding="utf-8"), re.S)
    if shown is None:
        return ["README.md shows no listen"]
    files = sorted(set(re.findall(r"/etc/rdmend/tls/[\w.]+", shown[1])))
    made = work / "made.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                    "-keyout", work / "made.key", "-out", made], capture_output=True, check=True)
    for file in files:
        name = pathlib.Path(file).name
        text = "secret" if name == "password" else (work / ("made.key" if name == "key.pem" else "made.pem")).read_text(encoding="utf-8")
        (work / name).write_text(text, encoding="utf-8")
        (work / name).chmod(0o600)
    config = work / "listen.yaml"
    config.write_text(shown[1].replace("/etc/rdmend/tls", str(work)), encoding="utf-8")
    return check_config(rdmend, config, "README.md, listen")


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


def examples(source: pathlib.Path, build: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Runs the README's rdmendctl lines against an rdmend with the quickstart's configuration."""
    lines = re.findall(r"^rdmendctl (.+?)(?:\s+#.*)?$", (source / "README.md").read_text(encoding="utf-8"), re.M)
    ctl = [build / "daemon/rdmendctl/rdmendctl", "--socket", work / "control.sock"]
    with subprocess.Popen([build / "daemon/rdmend/rdmend", "--config", work / "observe.yaml"], stderr=subprocess.PIPE, text=True) as daemon:
        for line in daemon.stderr:
            if " ready" in line:
                break
        faults = []
        for line in lines:
            run = subprocess.run([*ctl, *shlex.split(line)], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                faults.append(f"README.md: rdmendctl {line}: {run.stderr}")
        daemon.terminate()
        daemon.communicate()
    return faults if lines else ["README.md runs no rdmendctl command"]


def main() -> int:
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if "--update" in sys.argv:
        blocks(source, True)
        return 0
    rdmend = build / "daemon/rdmend/rdmend"
    faults = blocks(source, False) + commands(source, build / "daemon/rdmendctl/rdmendctl")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        faults += configurations(source, rdmend, work) + listening(source, rdmend, work) + examples(source, build, work)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
