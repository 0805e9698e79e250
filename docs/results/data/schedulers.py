# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the comparison of schedulers of ../scheduling.md as CSV.

    schedulers.py --write < TABLE    writes schedulers.csv from the rows that
                                     benchmarks/peers/run.py prints
    schedulers.py                    prints the summary of schedulers.csv

The summary has the step times of some schedulers on every step, and the
distance of commsched-pipeline to the bound.
"""

import csv
import pathlib
import re
import sys

DATA = pathlib.Path(__file__).with_name("schedulers.csv")
COLUMNS = ["step", "scheduler", "step_ms", "over_bound_percent",
           "peak_over_input_percent", "collectives", "schedule_ms"]
SHOWN = ["input", "inductor-scheduler", "inductor-scheduler, buckets",
         "simple-overlap", "block-buckets", "ours+0%", "ours+5%"]


def write():
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in sys.stdin if line.startswith("|")]
    rows = [row[:2] + [re.sub(r"[,%+ ]", "", cell) for cell in row[2:]]
            for row in rows if row[0] not in ("step", "---")]
    with DATA.open("w", newline="", encoding="utf-8") as file:
        output = csv.writer(file, lineterminator="\n")
        output.writerow(COLUMNS)
        output.writerows(rows)


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_summary():
    steps = {}
    with DATA.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            steps.setdefault(row["step"], {})[row["scheduler"]] = row
    print_row(["step"] + SHOWN + ["ours+5% over bound"])
    print_row(["---"] + ["---:"] * (len(SHOWN) + 1))
    for step, rows in steps.items():
        cells = [f"{float(rows[name]['step_ms']):,.1f}" for name in SHOWN]
        print_row([step] + cells + [rows["ours+5%"]["over_bound_percent"] + " %"])


if __name__ == "__main__":
    write() if "--write" in sys.argv[1:] else print_summary()
