# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with each option of a table and compares what goes wrong.

    check_errors.py TABLE COMMAND ...
    check_errors.py --fails|--prints COMMAND ... TEXT

A line of TABLE stands for `{}` in COMMAND. The indented lines below it are what
the command says then, `{{...}}` a regular expression as FileCheck has them;
options one below the other share them. The command fails, has no other errors,
and writes no `out.mlir`. With --fails one command fails, with --prints it succeeds,
and TEXT is in its output.
"""

import re
import subprocess
import sys
from pathlib import Path


def read(table):
    """Pairs of options and of texts."""
    options, texts = [], []
    for line in filter(str.strip, table.splitlines()):
        is_text = line.startswith(" ")
        if texts and not is_text:
            yield options, texts
            options, texts = [], []
        (texts if is_text else options).append(line.strip())
    yield options, texts


def make_pattern(text):
    parts = re.split(r"{{(.*?)}}", text)
    return "".join(f"(?:{part})" if index % 2 else re.escape(part)
                   for index, part in enumerate(parts))


def check(command, option, texts):
    result = subprocess.run(
        [word.replace("{}", option) for word in command],
        capture_output=True, text=True, check=False)
    said = result.stdout + result.stderr
    missing = [text for text in texts if not re.search(make_pattern(text), said, re.M)]
    count = sum("note: " not in text for text in texts)
    if (missing or said.count("error:") > count or result.returncode != 1
            or Path("out.mlir").exists()):
        sys.exit(f"{option}: exit code {result.returncode}, without {missing}: "
                 f"{said}")


def check_one(statuses, command, text):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.STDOUT, check=False)
    if result.returncode not in statuses or not re.search(
            make_pattern(text), result.stdout, re.M):
        sys.exit(f"exit code {result.returncode}, not: {text}\n{result.stdout}")


def main():
    table, *command = sys.argv[1:]
    if table in ("--fails", "--prints"):
        statuses = (1, 2) if table == "--fails" else (0,)
        return check_one(statuses, command[:-1], command[-1])
    count = 0
    for options, texts in read(Path(table).read_text(encoding="utf-8")):
        for option in options:
            check(command, option, texts)
            count += 1
    print(f"{count} errors")


if __name__ == "__main__":
    main()
