#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make the instances of this folder anew, with their index.

An answer that is stored and no worse than the new one is kept. Optima of small
problems are proved by CP-SAT (`pip install ortools==9.15.6755`).
"""

import argparse
import gzip
import json
import math
import pathlib
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
}
SEEDS = range(0, 60, 3)
BUDGETS = (0, 5)  # Percent over the peak of the program.
# Up to this number of operations the optimum is proved.
MOST_PROVED = 60
SLACKS = (0, 5, 40)  # Options of commsched.schedule that are tried.


def run(*command, data=None):
    return subprocess.run([str(part) for part in command], check=True,
                          input=data, stdout=subprocess.PIPE, cwd=ROOT).stdout


def write_gzip(path, value):
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(value, separators=(",", ":")) + "\n"
    # Without the time, so that equal contents are equal files.
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def dump(opt, program):
    """The problems of a program, by function."""
    data = run(opt, "--commsched-dump-problem", "-o", "/dev/null", data=program)
    return json.loads(data)["functions"]


def make_problems(opt):
    """Triples of name, source and problem."""
    for seed in SEEDS:
        step = SmallStep(seed)
        (problem,) = dump(opt, (PROLOGUE + step.text()).encode())
        yield (f"small-{seed:02}",
               f"testsupport/steps/small_steps.py, seed {seed}", problem)
    for name, command in PROGRAMS.items():
        problems = [
            problem for problem in dump(opt, run(*shlex.split(command)))
            if any(node[0] == "start" for node in problem["nodes"])]
        for problem in problems:
            more = f"-{problem['function']}" if len(problems) > 1 else ""
            yield name + more, command, problem


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

    def write_index(self):
        lines = ",\n".join(json.dumps(entry) for entry in self.index)
        (HERE / "index.json").write_text(f"[\n{lines}\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    options = parser.parse_args()
    if exact.SKIP_REASON:
        sys.exit(f"error: {exact.SKIP_REASON}")
    has_index = (HERE / "index.json").exists()
    maker = Maker(verify.read_index() if has_index else {})
    for name, source, problem in make_problems(
            options.bin.resolve() / "commsched-opt"):
        maker.add(name, source, problem)
    maker.write_index()


if __name__ == "__main__":
    main()
