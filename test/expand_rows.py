# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module for each row of a test of errors.

    expand_rows.py FILE | commsched-opt -split-input-file -verify-diagnostics

A section of FILE, between `// -----`, with a line `ROW` is the frame of the rows
in the section behind it: each becomes a section, the frame with the row instead
of that line. A row begins behind an empty line, or with comments that are not
indented and stand behind code.
"""

import re
import sys

FRAME = re.compile(r"^ *ROW\n", re.M)


def list_rows(text):
    rows, is_new, is_code = [], True, False
    for line in text.splitlines(True):
        is_comment = line.startswith("//") and "expected-note" not in line
        if not line.strip():
            is_new = True
            continue
        if is_new or is_comment and is_code:
            rows.append("")
            is_new = is_code = False
        rows[-1] += line
        is_code |= not is_comment
    return rows


def expand(text):
    sections = iter(re.split(r"^// -----\n", text, flags=re.M))
    for section in sections:
        if FRAME.search(section):
            for row in list_rows(next(sections)):
                yield FRAME.sub(lambda _: row, section)
        else:
            yield section


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write("// -----\n".join(expand(file.read())))


if __name__ == "__main__":
    main()
