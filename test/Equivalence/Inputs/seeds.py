# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds of random programs, as options of the scripts here name them."""


def parse_seeds(text):
    """`FIRST+COUNT`, `FIRST-LAST` or a single one."""
    if "+" in text:
        first, _, count = text.partition("+")
        return range(int(first), int(first) + int(count))
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
