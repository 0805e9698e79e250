#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the tables of docs/results/runtime.md from commsched-bench's files.

    tables.py table.json...

For each file and group: the isolated time of each collective and size, and,
where the library was called directly as well, the time of a call through the
runtime over that of a direct one.
"""

import json
import sys

COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all",
               "broadcast", "permute", "send")


def format_bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or count % 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} TiB"


def format_us(ns):
    us = ns / 1e3
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


def format_times(row):
    """Median, and where nine tenths of the samples lie."""
    return (f"{format_us(row['isolated_median_ns'])} "
            f"({format_us(row['isolated_p5_ns'])}–"
            f"{format_us(row['isolated_p95_ns'])})")


def format_ratios(row):
    """Isolated and back to back."""
    if "direct_isolated_median_ns" not in row:
        return "–"
    return " / ".join(
        f"{row[f'{kind}_median_ns'] / row[f'direct_{kind}_median_ns']:.2f}"
        for kind in ("isolated", "back_to_back"))


def print_table(rows, format_row):
    collectives = [name for name in COLLECTIVES
                   if any(row["collective"] == name for row in rows)]
    print("| bytes | " + " | ".join(name.replace("send", "send, recv")
                                    for name in collectives) + " |")
    print("| ---: " * (len(collectives) + 1) + "|")
    for count in sorted({row["bytes"] for row in rows}):
        cells = [format_bytes(count)]
        for name in collectives:
            found = [row for row in rows
                     if row["collective"] == name and row["bytes"] == count]
            cells.append(format_row(found[0]) if found else "")
        print("| " + " | ".join(cells) + " |")
    print()


def main():
    for path in sys.argv[1:]:
        with open(path) as file:
            table = json.load(file)
        rows = [row for row in table["rows"] + table["other_rows"]
                if row["place"] == "out_of_place"]
        print(f"{table['name']}; {table['device']}; {table['source']}\n")
        groups = dict.fromkeys((row["group"], row["type"],
                                row["ranks"]) for row in rows)
        for group, type_name, ranks in groups:
            chosen = [row for row in rows
                      if (row["group"], row["type"]) == (group, type_name)]
            print(f"{group} ({ranks} ranks), {type_name}, us, isolated: "
                  "median (p5–p95)\n")
            print_table(chosen, format_times)
            if any("direct_isolated_median_ns" in row for row in chosen):
                print(f"{group} ({ranks} ranks), {type_name}, runtime / "
                      "direct: isolated / back to back\n")
                print_table(chosen, format_ratios)


if __name__ == "__main__":
    main()
