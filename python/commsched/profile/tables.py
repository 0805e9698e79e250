# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times and tables as text."""

from __future__ import annotations

from typing import Optional


def format_time(time_ns: Optional[int]) -> str:
    if time_ns is None:
        return "-"
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(time_ns) >= scale:
            return f"{time_ns / scale:.3f} {unit}"
    return f"{time_ns} ns"


def table(rows: list[list[str]], *left: int) -> str:
    """Columns of text; those of these numbers are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  " + "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    ]
    return "\n".join(lines)
