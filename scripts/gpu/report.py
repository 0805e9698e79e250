#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes cost tables and the page docs/results/gpu.md from the results of
scripts/gpu.sh.

    report.py build/gpu-results.json [--tables FOLDER] [--page FILE]

Of every command the last entry that passed counts, for each kind of machine.
Entries of stand-ins, which name no device, and of processors are left out: they
are no figures of a GPU. Without any, the page says that nothing was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from typing import Any, Optional

from results import ROOT, ResultsError, read

Data = dict[str, Any]
PAGE = pathlib.Path(__file__).with_name("page.txt")
PEAKS = ("f64", "f32", "f16", "bf16")
SHARED = "shared"


class Machine:
    """The entries of one kind of machine."""

    def __init__(self, entries: list[Data]):
        self.facts = entries[-1]["machine"]
        self.entries = entries
        #: The last entry of each command, and the last that passed.
        self.last = {(e["step"], e["part"]): e for e in entries}
        self.passed = {(e["step"], e["part"]): e for e in entries
                       if e["status"] == "passed"}

    @property
    def name(self) -> str:
        return f"{self.facts['gpus']} x {self.facts['device']}"

    @property
    def slug(self) -> str:
        device = re.sub(r"^nvidia\s+", "", self.facts["device"].lower())
        return (re.sub(r"[^a-z0-9]+", "-", device).strip("-")
                + f"-{self.facts['gpus']}gpu")

    def data(self, step: str, part: str) -> Data:
        return self.passed.get((step, part), {}).get("data", {})

    def device(self) -> Data:
        """What was read of the device while it was measured."""
        for entry in reversed(self.entries):
            found = entry.get("data", {}).get("device", {})
            if isinstance(found, dict) and found.get("type") == "cuda":
                return found
        return {}


def machines(results: Data) -> list[Machine]:
    """The machines with a GPU that the results have entries of."""
    found: dict[tuple, list[Data]] = {}
    for entry in results["entries"]:
        facts = entry["machine"]
        device = entry.get("data", {}).get("device")
        processor = isinstance(device, dict) and device.get("type") == "cpu"
        if facts.get("device") and not processor:
            found.setdefault((facts["device"], facts["gpus"]), []).append(
                entry)
    return [Machine(entries) for entries in found.values()]


# -- Cost tables -----------------------------------------------------------------


def slowest(rows: Iterable[Data], keys: tuple[str, ...]) -> list[Data]:
    """One row for each value of the keys: that with the longest time."""
    found: dict[tuple, Data] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        if key not in found or row["time_ns"] > found[key]["time_ns"]:
            found[key] = row
    return list(found.values())


def rate(product: Data) -> float:
    """TFLOP/s of a product."""
    flops = 2 * product["m"] * product["n"] * product["k"] * product["batch"]
    return flops / product["time_ns"] / 1e3


def target_of(machine: Machine) -> Data:
    """The fields of the target that were measured."""
    target: Data = {}
    products = machine.data("measure", "products").get("products", ())
    copies = machine.data("measure", "copies")
    if products:
        best = {}
        for product in products:
            kind = product["type"]
            best[kind] = max(best.get(kind, 0), rate(product))
        target = {f"peak_tflops_{kind}": best[kind]
                  for kind in PEAKS if kind in best}
        # Not measured: as the next wider type.
        target.update(peak_tflops_f8=0.0, peak_tops_i8=0.0,
                      compute_efficiency=1.0)
    if copies:
        largest = copies["copies"][-1]
        target["memory_gb_s"] = 2 * largest["bytes"] / largest["time_ns"]
        target["memory_efficiency"] = 1.0
        target["kernel_launch_ns"] = copies["smallest_operator_ns"]
    transfers = machine.data("measure", "transfers").get("rows", ())
    if transfers:
        largest = max(row["bytes"] for row in transfers)
        target["host_gb_s"] = min(row["bytes"] / row["time_ns"]
                                  for row in transfers
                                  if row["bytes"] == largest)
    for field in ("multiprocessors", "compute_capability"):
        if field in machine.device():
            target[field] = machine.device()[field]
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value
            for name, value in target.items()}


def tax_of_nccl(machine: Machine) -> Optional[float]:
    """The median tax of collectives, of GPUs that are not shared."""
    rows = machine.data("tax", "collectives").get("tax", ())
    taxes = [row["tax"] for row in rows]
    return max(0.0, round(statistics.median(taxes), 3)) if taxes else None


def cost_table(machine: Machine) -> Optional[Data]:
    """The table of docs/guide/cost-model.md; None if nothing is for it."""
    products = machine.data("measure", "products")
    operators = [*products.get("operators", ()),
                 *machine.data("measure", "attention").get("operators", ())]
    rows = [*machine.data("measure", "transfers").get("rows", ()),
            *machine.data("measure", "collectives").get("rows", ())]
    table: Data = {
        "target": target_of(machine),
        "products": slowest(products.get("products", ()),
                            ("m", "n", "k", "batch", "type")),
        "operators": sorted(slowest(operators, ("operator",)),
                            key=lambda row: row["operator"]),
        "rows": rows,
    }
    if not any(table.values()):
        return None
    tax = tax_of_nccl(machine)
    if tax is not None:
        table["implementations"] = {"nccl": {"tax": tax}}
    facts = machine.facts
    entry = machine.entries[-1]
    return {
        "name": machine.name,
        "source": "scripts/gpu.sh measure tax; commit "
        f"{entry['commit']}; {entry['date'][:10]}; driver {facts['driver']}; "
        f"PyTorch {facts.get('torch')}",
        "device": facts["device"],
        **table,
    }


def format_table(table: Data) -> str:
    """JSON with a line for each row."""
    lines = []
    for name, value in table.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[" + ",".join(
                "\n    " + json.dumps(row) for row in value) + "]"
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


# -- The page --------------------------------------------------------------------


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    """A table, all but its first column to the right."""
    lines = ["| " + " | ".join(header) + " |",
             "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def bytes_of(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"


def us(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e3:,.1f}"


def commands_section(machine: Machine) -> str:
    """What passed, in a sentence, and a table of the rest."""
    passed, rest = [], []
    for (step, part), entry in machine.last.items():
        name = f"{step}, {part}"
        if entry["status"] == "passed":
            passed.append(name)
            continue
        why = [entry[key].rstrip("; ").replace("|", "\\|")
               for key in ("reason", "note") if key in entry]
        rest.append([name, ": ".join([entry["status"], *why]),
                     entry["commit"][:10]])
    date = max(entry["date"][:10] for entry in machine.last.values())
    text = f"Passed, the last on {date}: {'; '.join(passed)}."
    if rest:
        text += "\n\n" + markdown(["command", "status", "commit"], rest)
    return text


def rates(machine: Machine) -> dict[str, str]:
    """What the machine computes and moves, by what it is."""
    found: dict[str, str] = {}
    by_type: dict[str, list[float]] = {}
    for row in slowest(machine.data("measure", "products").get("products", ()),
                       ("m", "n", "k", "type")):
        by_type.setdefault(row["type"], []).append(rate(row))
    for kind, all_rates in by_type.items():
        found[f"products of {kind}, TFLOP/s, median (most)"] = (
            f"{statistics.median(all_rates):.1f} ({max(all_rates):.1f})")
    # The last row of a kind is the largest.
    for row in machine.data("measure", "attention").get("attention", ()):
        found[f"`{row['operator']}`, TFLOP/s"] = (
            f"{row['flops'] / row['time_ns'] / 1e3:.1f}")
    transfers = machine.data("measure", "transfers")
    # What is moved, and how many bytes of it count for each of the copy.
    kinds = {
        "within the device":
            (machine.data("measure", "copies").get("copies", ()), 2),
        "to the host": (of_kind(transfers, "offload"), 1),
        "from the host": (of_kind(transfers, "reload"), 1),
        "both ways at once": (transfers.get("both_ways", ()), 2),
    }
    for name, (rows, factor) in kinds.items():
        for row in rows[-1:]:
            found[f"{bytes_of(row['bytes'])} {name}, GB/s"] = (
                f"{factor * row['bytes'] / row['time_ns']:.1f}")
    return found


def taxes(machine: Machine) -> dict[str, str]:
    """What products take beside others of the machine's work, and the tax."""
    return {
        f"{row['m']} x {row['n']} x {row['k']} beside {row['beside']} of "
        f"{bytes_of(row['bytes'])}":
            f"{us(row['alone_ns'])}, {us(row['beside_ns'])} ({row['tax']:.3f})"
        for part in ("copies", "collectives")
        for row in machine.data("tax", part).get("tax", ())}


def compared(title: str, facts: Callable[[Machine], dict[str, str]],
             found: list[Machine]) -> str:
    """What `facts` gives for each machine, one a column."""
    columns = [facts(machine) for machine in found]
    rows = dict.fromkeys(name for column in columns for name in column)
    return markdown(
        [title, *(machine.name for machine in found)],
        ([name, *(column.get(name, "-") for column in columns)]
         for name in rows)) + "\n\n" if rows else ""


def of_kind(transfers: Data, kind: str) -> list[Data]:
    return [row for row in transfers.get("rows", ())
            if row["collective"] == kind]


def collectives_section(machine: Machine) -> str:
    rows = [(what, row) for what in ("collectives", "runtime")
            for row in machine.data("measure", what).get("rows", ())
            if "tensors" not in row]
    return rows and markdown(
        ["collective", "measured by", "ranks", "size", "us"],
        ([row["collective"], "`commsched-run`" if what == "runtime"
          else "`commsched.torch.measure`", str(row["ranks"]),
          bytes_of(row["bytes"]), us(row["time_ns"])] for what, row in rows))


def pytorch_section(machine: Machine) -> str:
    parts = []
    for part in ("compiled", "training", f"training {SHARED}"):
        # A wrong order is a result, too.
        entry = machine.last.get(("pytorch", part), {})
        data = entry.get("data", {})
        if data.get("order"):
            parts.append(order_text(data["order"]))
        if data.get("modes"):
            parts.append(f"`{part}`, {data['ranks']} ranks, budget "
                         f"{data['memory_budget']} over the peak:\n\n"
                         + modes_table(data))
    return "\n\n".join(parts)


def order_text(rows: list[Data]) -> str:
    """How many graphs have the order of their schedule, and which have not."""
    wrong = [row["graph"] for row in rows if not row["all_in_order"]]
    text = (f"In the code of {len(rows) - len(wrong)} of {len(rows)} graphs, "
            f"{sum(row['events'] for row in rows)} starts, waits and external "
            "calls have the order of the schedule")
    return text + (f"; not in {', '.join(wrong)}." if wrong else ".")


def modes_table(data: Data) -> str:
    peaks = {row["mode"]: row["peak_bytes"] for row in data["modes"]}

    def cell(row: Data, key: str, show: Callable[[Any], str]) -> str:
        return show(row[key]) if row.get(key) is not None else "-"

    def growth(row: Data) -> str:
        before = peaks.get(row.get("unscheduled"))
        return f"{100 * (row['peak_bytes'] / before - 1):+.1f} %" if (
            before) else "-"

    return markdown(
        ["mode", "step, ms", "predicted, ms", "peak", "predicted peak",
         "peak over unscheduled", "collectives"],
        ([row["mode"], f"{row['step_ms']:.2f}",
          cell(row, "predicted_ms", "{:.2f}".format),
          bytes_of(row["peak_bytes"]),
          cell(row, "predicted_peak_bytes", bytes_of), growth(row),
          cell(row, "collectives", str)] for row in data["modes"]))


SECTIONS = {
    "Collectives": collectives_section,
    "PyTorch": pytorch_section,
}


def render(found: list[Machine], tables: dict[str, str]) -> str:
    """The page; `tables` are the links of the cost tables by machine."""
    text = PAGE.read_text(encoding="utf-8")
    if not found:
        return text + ("**Nothing has been measured on a GPU yet.** The "
                       "commands were tested without one: the backend on "
                       "stand-ins for CUDA and NCCL, the measurements on a "
                       "processor.\n")
    text += compared("largest sizes", rates, found)
    text += compared("us alone, us beside (tax)", taxes, found)
    for machine in found:
        facts = machine.facts
        text += (f"### {machine.name}\n\nDriver {facts['driver']}, "
                 f"{facts['memory']}, nvcc {facts['nvcc']}, PyTorch "
                 f"{facts.get('torch')}, Python {facts['python']}, "
                 f"{facts['cores']} cores.")
        if machine.slug in tables:
            text += (f" Cost table: [{machine.slug}.json]"
                     f"({tables[machine.slug]}).")
        text += f"\n\n{commands_section(machine)}"
        for title, section in SECTIONS.items():
            body = section(machine)
            if body:
                text += f"\n\n#### {title}\n\n{body}"
        text += "\n\n"
    return text.rstrip() + "\n"


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("results", type=pathlib.Path)
    add("--tables", type=pathlib.Path, default=ROOT / "data" / "cost-tables",
        help="folder for cost tables")
    add("--page", type=pathlib.Path,
        default=ROOT / "docs" / "results" / "gpu.md")
    options = parser.parse_args(arguments)
    if not options.results.exists():
        print(f"error: there is no file '{options.results}'; scripts/gpu.sh "
              "writes it", file=sys.stderr)
        return 1
    try:
        found = machines(read(options.results))
    except ResultsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    links = {}
    for machine in found:
        table = cost_table(machine)
        if table:
            options.tables.mkdir(parents=True, exist_ok=True)
            path = options.tables / f"{machine.slug}.json"
            path.write_text(format_table(table), encoding="utf-8")
            links[machine.slug] = os.path.relpath(path, options.page.parent)
            print(f"wrote {path}")
    options.page.write_text(render(found, links), encoding="utf-8")
    print(f"wrote {options.page}")
    if not found:
        print("no entry is of a GPU: there is no cost table")
    return 0


if __name__ == "__main__":
    sys.exit(main())
