#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that changed sources compile by themselves, not only in unity batches.

    scripts/check_alone.py [--build build] [FILE ...]

Without files, those of the last commit and of the working tree, the first 20. Only
the syntax is checked, with the command of the batch that a source is in.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDED = re.compile(r'^#include "(/.*\.cpp)"$', re.M)
MOST = 20


def list_commands(build):
    """The compile command of each source, by its path."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        is_batch = file.name.startswith("unity_") and file.exists()
        sources = INCLUDED.findall(file.read_text()) if is_batch else [str(file)]
        arguments = shlex.split(entry["command"])
        output = arguments.index("-o")
        del arguments[output : output + 2]
        arguments[arguments.index("-c")] = "-fsyntax-only"
        for source in sources:
            command = [source if a == str(file) else a for a in arguments]
            commands[source] = entry["directory"], command
    return commands


def list_changed():
    """Sources that differ from the commit before the last, if that is here."""
    git = ["git", "-C", str(ROOT)]
    known = subprocess.run([*git, "rev-parse", "-q", "--verify", "HEAD~1"],
                           capture_output=True, check=False)
    base = "HEAD" if known.returncode else "HEAD~1"
    names = subprocess.run([*git, "diff", "--name-only", "--diff-filter=d", base],
                           capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split() if name.endswith(".cpp")]


def compile_alone(path, commands):
    """What the compiler says against the source; None if nothing."""
    directory, command = commands[str(path)]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True,
                            check=False)
    return result.stderr if result.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    commands = list_commands(options.build)
    files = [file.resolve() for file in options.files] or list_changed()
    built = [file for file in files if str(file) in commands]
    checked = built[:MOST]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda file: compile_alone(file, commands), checked))
    for file, error in zip(checked, errors):
        if error is not None:
            print(f"{file.relative_to(ROOT)} does not compile alone:\n{error}")
    print(f"{len(checked)} of {len(built)} changed sources were compiled alone")
    return any(error is not None for error in errors)


if __name__ == "__main__":
    sys.exit(main())
