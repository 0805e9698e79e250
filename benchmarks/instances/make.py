#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make the instances of this folder anew, with their index.

An answer that is stored and no worse than the new one is kept. Optima of small
problems are proved by CP-SAT (`pip install ortools==9.15.6755`). PyTorch traces
steps that are in no file.
"""

import argparse
import gzip
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUPPORT = ROOT / "testsupport"
sys.path[:0] = [str(ROOT / "python"), *(
    str(SUPPORT / name) for name in ("", "optimum", "steps"))]

import commsched  # noqa: E402
import exact  # noqa: E402
import verify  # noqa: E402
from simulate import simulate_peak, simulate_time  # noqa: E402
from small_steps import PROLOGUE, SmallStep  # noqa: E402

STEP = "python3 testsupport/steps/make_step.py --pin"
TRACED = "cat examples"
DEBUG = "python3 examples/models/torch_step.py --model llama3-debug --batch 8 --seq 2048 -o -"
# name: what prints the program.
PROGRAMS = {
    "overview": f"{TRACED}/overview.mlir",
    "llama3-tiny-fsdp4": f"{TRACED}/llama3-tiny-fsdp4.mlirbc",
    "llama3-2layer-fsdp64": f"{TRACED}/llama3-2layer-fsdp64.mlirbc",
    "llama3-8b-fsdp64": f"{TRACED}/llama3-8b-fsdp64.mlirbc",
    "llama3-8b-tp8": f"{TRACED}/llama3-8b-tp8.mlirbc",
    "dense-8b-fsdp64": f"{STEP} --model 8b --dp 64",
    "dense-8b-fsdp8-tp8": f"{STEP} --model 8b --dp 8 --tp 8",
    "dense-8b-fsdp8-replicas8": f"{STEP} --model 8b --dp 8 --replicas 8",
    "moe-8x7b-fsdp64-ep8": f"{STEP} --model moe-8x7b --dp 64 --ep 8",
    "dense-70b-fsdp64": f"{STEP} --model 70b --dp 64",
    "llama3-debug-fsdp8": f"{DEBUG} --dp 8",
    "llama3-debug-fsdp8-tp2": f"{DEBUG} --dp 8 --tp 2",
}
# name: what merges the collectives of a program to make another problem of it.
BUCKETS = {
    "llama3-debug-fsdp8": {
        "blocks": "mode=copy plan=auto",
        "4mb": "mode=coalesced cap-mb=4",
    },
}
SEEDS = range(0, 60, 3)
BUDGETS = (0, 5)  # Percent over the peak of the program.
# Up to this number of operations the optimum is proved.
MOST_PROVED = 60
SLACKS = (0, 5, 40)  # Options of commsched.schedule that are tried.


def run(*command, data=None):
    parts = [sys.executable if part == "python3" else str(part) for part in command]
    return subprocess.run(parts, check=True, input=data, stdout=subprocess.PIPE,
                          cwd=ROOT).stdout


def write_gzip(path, value):
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(value, separators=(",", ":")) + "\n"
    # Without the time, so that equal contents are equal files.
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def dump(opt, program, *passes):
    """The problems of what the passes make of a program, by function."""
    data = run(opt, *passes, "--commsched-dump-problem", "-o", "/dev/null",
               data=program)
    return json.loads(data)["functions"]


def list_buckets(name):
    """Pairs of what the name of a problem ends with, and passes that merge."""
    yield "", []
    for label, options in BUCKETS.get(name, {}).items():
        yield f"-{label}", [f"--commsched-bucket-{kind}={options}"
                            for kind in ("all-gather", "reduce-scatter")]


def make_problems(opt, pattern):
    """Triples of name, source and problem, of the programs that match."""
    for seed in SEEDS:
        name = f"small-{seed:02}"
        if re.search(pattern, name):
            (problem,) = dump(opt, (PROLOGUE + SmallStep(seed).text()).encode())
            yield name, f"testsupport/steps/small_steps.py, seed {seed}", problem
    for name, command in PROGRAMS.items():
        if re.search(pattern, name):
            program = run(*shlex.split(command))
            for label, passes in list_buckets(name):
                merged = f" | commsched-opt {shlex.join(passes)}" * bool(passes)
                yield from split_program(
                    name + label, command + merged, dump(opt, program, *passes))


def split_program(name, source, problems):
    """Triples of name, source and problem of the functions that communicate."""
    problems = [problem for problem in problems
                if any(node[0] == "start" for node in problem["nodes"])]
    for problem in problems:
        more = f"-{problem['function']}" if len(problems) > 1 else ""
        yield name + more, source, problem


def solve(problem, limit):
    """The shortest of the scheduler's steps, and what found it."""
    results = []
    for slack in SLACKS:
        found = commsched.schedule(problem, memory_budget=limit,
                                   slack_percent=slack)
        results.append((found.step_ns, slack, list(found.order)))
    _, slack, order = min(results)
    return order, (f"commsched.schedule(memory_budget={limit}, "
                   f"slack_percent={slack})")


class Maker:
    def __init__(self, stored):
        self.stored, self.index = stored, []

    def add(self, name, source, problem):
        for percent in BUDGETS:
            self.add_budget(name, source, problem, percent)

    def add_budget(self, name, source, problem, percent):
        program = range(len(problem["nodes"]))
        peak = simulate_peak(problem, program)
        limit = peak + math.floor(peak * (percent / 100))
        text = json.dumps({"version": 1, "functions": [problem]})
        (read,) = commsched.read_problems(text).values()
        order, found_by = solve(read, limit)
        bound = commsched.lower_bound(read)
        if len(program) <= MOST_PROVED:
            proved = exact.solve(problem, limit, hint=order, low=bound)
            bound = proved.step_ns
            if bound < simulate_time(problem, order)[0]:
                order = proved.order
                found_by = "CP-SAT (testsupport/optimum/exact.py)"
        entry = {
            "name": f"{name}+{percent}%",
            "problem": f"problems/{name}.json.gz",
            "source": source,
            "operations": len(program),
            "collectives": sum(node[0] in ("start", "blocking")
                               for node in problem["nodes"]),
            "program_ns": simulate_time(problem, program)[0],
            "program_bytes": peak,
            "limit_bytes": limit,
            "bound_ns": bound,
            "best_ns": simulate_time(problem, order)[0],
            "optimal": False,
            "found_by": found_by,
            "answer": f"answers/{name}-{percent}.json.gz",
        }
        order = self.keep_better(entry, problem, order)
        entry["optimal"] = entry["best_ns"] == entry["bound_ns"]
        write_gzip(HERE / entry["problem"],
                   {"version": 1, "functions": [problem]})
        write_gzip(HERE / entry["answer"],
                   {"instance": entry["name"], "order": order})
        self.index.append(entry)
        print(entry["name"], entry["best_ns"] / entry["bound_ns"], flush=True)

    def keep_better(self, entry, problem, order):
        """The stored order if it answers the problem as well, else `order`."""
        old = self.stored.get(entry["name"])
        if not old:
            return order
        try:
            step, _ = verify.verify(entry, problem, HERE / old["answer"])
        except verify.Refused:
            return order  # The problem has changed.
        if step > entry["best_ns"]:
            return order
        entry["best_ns"], entry["found_by"] = step, old["found_by"]
        return verify.read_json(HERE / old["answer"])["order"]

    def write_index(self, pattern):
        """Entries of other programs than those that match stay."""
        made = {entry["name"]: entry for entry in self.index}
        stay = {name: entry for name, entry in self.stored.items()
                if not re.search(pattern, name)}
        entries = {**stay, **made}
        lines = ",\n".join(json.dumps(entry) for entry in entries.values())
        (HERE / "index.json").write_text(f"[\n{lines}\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--only", default=".",
                        help="the programs whose name this matches; others stay")
    options = parser.parse_args()
    if exact.SKIP_REASON:
        sys.exit(f"error: {exact.SKIP_REASON}")
    has_index = (HERE / "index.json").exists()
    maker = Maker(verify.read_index() if has_index else {})
    for name, source, problem in make_problems(
            options.bin.resolve() / "commsched-opt", options.only):
        maker.add(name, source, problem)
    maker.write_index(options.only)


if __name__ == "__main__":
    main()
