# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds a line with the order of its operations below the head of each function.

    commsched-opt ... | print_orders.py

An operation is called by its `commsched.name`, a computation without one by what it
computes, and any other by what it is. Regions are in braces, and blocks begin with
their label. The `return` at the end is left out.
"""

import re
import sys

FUNCTION = re.compile(r"^( *)func\.func .*\{\n((?:.*\n)*?)\1\}\n", re.M)
NAMES = [re.compile(pattern) for pattern in (
    r'commsched\.name = "(.*?)"', r'commsched\.compute "(.*?)"',
    r"^(\^\w+|\}.*)", r'^(?:%\S+(?:, %\S+)* = )?"?(?:commsched\.)?([\w.]+)')]


def name(line):
    found = next(filter(None, (pattern.search(line) for pattern in NAMES)))[1]
    if line.endswith("{") and not found.endswith("{"):
        return found + " {"
    return found + ":" * line.startswith("^")


def add_order(match):
    head, _, body = match[0].partition("\n")
    lines = [line.strip() for line in match[2].splitlines()]
    order = " ".join(name(line) for line in lines if not line.startswith("return"))
    return f"{head}\n  // order: {order}\n{body}"


if __name__ == "__main__":
    sys.stdout.write(FUNCTION.sub(add_order, sys.stdin.read()))
