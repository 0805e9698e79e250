#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one command of scripts/gpu.sh and adds what it gave to the results.

    results.py --output FILE --step STEP --part PART [--json FILE] -- COMMAND...

The file of results is one JSON object. Its list `entries` has one object for
each command that ran, in order:

    step, part  which command it was
    status      "passed", "failed", "timed out" or "unsupported"
    reason      the last line of an error, for all but "passed"
    command, date, seconds, commit
    machine     the GPUs, the driver, and the versions of what was used
    data        what the command wrote to `--json FILE`, if it did

Every command's entry is in the file before the next one starts. The exit status
is 0 for "passed" and "unsupported".
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib import metadata
from typing import Any, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMAT = "commsched-gpu-results"
#: Lines of a command's output that its entry keeps.
KEPT_LINES = 40

#: Packages whose versions an entry has, if they are there.
_PACKAGES = ("torch", "triton", "nvidia-nccl-cu13", "nvidia-nccl-cu12")


class ResultsError(ValueError):
    """A file of results cannot be read; the message names it."""


def read(path: pathlib.Path) -> dict[str, Any]:
    """Returns the results in `path`, empty ones if there is no file."""
    if not path.exists():
        return {"format": FORMAT, "version": 1, "entries": []}
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(f"the results '{path}' cannot be read: {error}")
    if not isinstance(results, dict) or results.get("format") != FORMAT:
        raise ResultsError(
            f"'{path}' is no file of results: its member 'format' is not "
            f"'{FORMAT}'; give --output another name"
        )
    return results


def write(path: pathlib.Path, results: dict[str, Any]) -> None:
    """Writes the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".results")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _output(command: list[str]) -> str:
    """What `command` prints, or nothing if it cannot run."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=ROOT
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def describe_machine(standins: bool) -> dict[str, Any]:
    """Returns what the figures depend on: devices and versions."""
    machine: dict[str, Any] = {
        "standins": standins,
        "cores": len(os.sched_getaffinity(0)),
        "processor": platform.machine(),
        "python": platform.python_version(),
    }
    query = "--query-gpu=name,driver_version,memory.total"
    rows = _output(["nvidia-smi", query, "--format=csv,noheader"]).splitlines()
    if rows and not standins:
        names, drivers, memory = zip(*(row.split(", ") for row in rows))
        machine.update(device=names[0], gpus=len(rows), driver=drivers[0],
                       memory=memory[0])
    nvcc = _output(["nvcc", "--version"]) or _output(
        [os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/bin/nvcc",
         "--version"])
    found = re.search(r"release (\S+),", nvcc)
    machine["nvcc"] = found[1] if found else None
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            machine[package] = metadata.version(package)
    return machine


def find_commit() -> str:
    """The commit of the tree, or that of the kit that came with it."""
    commit = _output(["git", "rev-parse", "HEAD"])
    if commit:
        changed = _output(["git", "status", "--porcelain", "-uno"])
        return commit + ("+changes" if changed else "")
    kit = ROOT / "build" / "gpu-kit" / "commit"
    return kit.read_text().strip() if kit.exists() else "unknown"


def run(command: list[str], limit: float) -> tuple[Optional[int], list[str]]:
    """Runs `command`, shows its output and returns its status, None if it took
    longer than `limit` seconds, and the last lines."""
    lines: list[str] = []
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
        )
    except OSError as error:
        return 127, [f"{command[0]}: {error.strerror}"]

    def show() -> None:
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line.rstrip())

    reader = threading.Thread(target=show)
    reader.start()
    status: Optional[int] = None
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # The processes that it has started, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(10)
    return status, lines


def judge(
    status: Optional[int], lines: list[str], options: argparse.Namespace
) -> tuple[str, str]:
    """Returns the entry's status and reason."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    if status is None:
        return "timed out", f"not done after {options.limit:.0f} s; {last}"
    text = "\n".join(lines)
    if status == 0:
        refused = options.refuse and re.search(options.refuse, text)
        return ("failed", f"printed '{refused[0]}'") if refused else (
            "passed", "")
    unsupported = options.unsupported and re.search(options.unsupported, text)
    if unsupported:
        return "unsupported", unsupported[0]
    errors = [line for line in lines if re.search("error", line, re.I)]
    return "failed", f"exit status {status}; {(errors or [last])[-1].strip()}"


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--output", type=pathlib.Path, required=True)
    add("--step", required=True)
    add("--part", required=True)
    add("--json", type=pathlib.Path, help="file that COMMAND writes")
    add("--limit", type=float, default=480, help="seconds")
    add("--refuse", metavar="REGEX", help="output of a command that failed")
    add("--unsupported", metavar="REGEX",
        help="output of a command that failed as it may here")
    add("--standins", action="store_true", help="there is no GPU")
    add("command", nargs="+")
    options = parser.parse_args(arguments)
    # The command's processes end with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        read(options.output)
    except ResultsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.unlink(missing_ok=True)
        options.json.parent.mkdir(parents=True, exist_ok=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now(datetime.timezone.utc)
    start = time.monotonic()
    try:
        status, lines = run(options.command, options.limit)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    seconds = time.monotonic() - start
    verdict, reason = judge(status, lines, options)
    entry: dict[str, Any] = {
        "step": options.step,
        "part": options.part,
        "status": verdict,
        "command": shlex.join(options.command),
        "date": date.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "commit": find_commit(),
        "machine": describe_machine(options.standins),
    }
    if reason:
        entry["reason"] = reason
        entry["output"] = lines[-KEPT_LINES:]
    if options.json and options.json.exists():
        try:
            entry["data"] = json.loads(options.json.read_text())
        except ValueError as error:
            entry.update(status="failed", reason=f"'{options.json}': {error}")
    # Another run may have added its own meanwhile.
    results = read(options.output)
    results["entries"].append(entry)
    write(options.output, results)
    print(f"== {options.step}, {options.part}: {entry['status']}"
          f" ({seconds:.0f} s)" + (f": {entry['reason']}" if reason else ""))
    return 0 if entry["status"] in ("passed", "unsupported") else 1


if __name__ == "__main__":
    sys.exit(main())
