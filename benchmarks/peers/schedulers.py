# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the comparisons of schedulers of docs/results/scheduling.md as CSV.

    schedulers.py --write [FILE] < TABLE    writes the rows that
                                            benchmarks/peers/run.py prints
    schedulers.py                           prints the summary of schedulers.csv
    schedulers.py FILE                      prints all rows of another file
    schedulers.py --readme                  prints the table of the README

FILE is in docs/results/data, and schedulers.csv without it. It has a row for each step,
and for each scheduler the columns of COLUMNS behind its name. The summary has the step
times of some schedulers on every step, and the distance of commsched-pipeline to
the bound.
"""

import csv
import pathlib
import re
import sys

DATA = pathlib.Path(__file__).parents[2] / "docs" / "results" / "data"
SUMMARIZED = "schedulers.csv"
COLUMNS = ["step_ms", "over_bound_percent", "peak_over_input_percent",
           "collectives", "schedule_ms"]
# Of the README: a label and a scheduler of front.csv, by the columns of a step.
STEPS = {"Llama 3 8B, 64 ranks": "llama3-8b-fsdp64",
         "Llama 3.1 8B, 8 ranks": "llama3.1-8b",
         "Mixtral 8x7B, 16 ranks": "mixtral-8x7b"}
LABELS = [("waits for each collective at once: nobody trains so", "input", ""),
          ("FSDP2's prefetch, buckets by block *", "block-buckets", ""),
          ("Inductor's passes *", "inductor-scheduler", ""),
          ("the same with its buckets *", "inductor-scheduler, buckets", ""),
          ("PyTorch's FX overlap scheduler", "fx-overlap", ""),
          ("XLA's scheduler, no memory limit *", "xla-lhs", ""),
          ("the same, merged up to 30 MiB *", "xla-lhs", "-merged"),
          ("**CommSched**, budget: the input's memory", "ours+0%", "")]
SHOWN = ["input", "inductor-scheduler", "inductor-scheduler, buckets",
         "simple-overlap", "block-buckets", "ours+0%", "ours+5%"]


def write(data):
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in sys.stdin if line.startswith("|")]
    steps = {}
    for step, scheduler, *cells in rows:
        if step in ("step", "---"):
            continue
        for column, cell in zip(COLUMNS, cells):
            steps.setdefault(step, {})[f"{scheduler}: {column}"] = \
                re.sub(r"[,%+ ]", "", cell)
    columns = dict.fromkeys(name for cells in steps.values() for name in cells)
    with data.open("w", newline="", encoding="utf-8") as file:
        output = csv.DictWriter(file, ["step", *columns], lineterminator="\n")
        output.writeheader()
        output.writerows({"step": step, **cells} for step, cells in steps.items())


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def read(data):
    """The cells of each scheduler on each step, by name."""
    steps = {}
    with data.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            schedulers = steps.setdefault(row.pop("step"), {})
            for name, cell in row.items():
                scheduler, column = name.rsplit(": ", 1)
                schedulers.setdefault(scheduler, {})[column] = cell
    return {step: {name: cells for name, cells in schedulers.items()
                   if cells["step_ms"]} for step, schedulers in steps.items()}


def print_rows(data):
    print_row(["step", "scheduler", "step, ms", "over bound", "peak over input",
               "collectives", "to schedule, ms"])
    print_row(["---"] * 2 + ["---:"] * 5)
    for step, schedulers in read(data).items():
        for scheduler, row in schedulers.items():
            time = row["schedule_ms"] and f"{float(row['schedule_ms']):,.1f}"
            print_row([step, scheduler, f"{float(row['step_ms']):,.1f}",
                       row["over_bound_percent"] + " %",
                       row["peak_over_input_percent"] + " %",
                       f"{int(row['collectives']):,}", time])


def print_summary(data):
    print_row(["step"] + SHOWN + ["ours+5% over bound"])
    print_row(["---"] + ["---:"] * (len(SHOWN) + 1))
    for step, rows in read(data).items():
        cells = [f"{float(rows[name]['step_ms']):,.1f}" for name in SHOWN]
        print_row([step] + cells + [rows["ours+5%"]["over_bound_percent"] + " %"])


def print_readme(data):
    steps = read(data)
    heads = [head for step in STEPS for head in (f"{step}: ms", "memory", "s")]
    print_row(["simulated, target h100", *heads])
    print_row(["---"] + ["---:"] * len(heads))
    for label, scheduler, suffix in LABELS:
        cells = [label]
        for step in STEPS.values():
            row = steps.get(step + suffix, {}).get(scheduler)
            time = row and row["schedule_ms"]
            cells += [f"{float(row['step_ms']):,.1f}",
                      f"{float(row['peak_over_input_percent']):+.1f} %",
                      f"{float(time) / 1000:.2f}" if time else ""] if row \
                else [""] * 3
        print_row(cells)


def main(arguments):
    if "--readme" in arguments:
        return print_readme(DATA / "front.csv")
    is_written = "--write" in arguments
    names = [name for name in arguments if name != "--write"] or [SUMMARIZED]
    data = DATA / names[0]
    if is_written:
        write(data)
    elif data.name == SUMMARIZED:
        print_summary(data)
    else:
        print_rows(data)


if __name__ == "__main__":
    main(sys.argv[1:])
