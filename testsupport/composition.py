#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run every two features of commsched-pipeline together on one step.

    composition.py OPT RUN           checks docs/reference/composition.md
    composition.py OPT RUN --write   writes it
    composition.py OPT RUN --turn N  checks a quarter of the pairs, by N; all if
                                     COMMSCHED_TEST_RUNS is more than 1

The step, test/Equivalence/Inputs/composed-step.mlir, has a joint function, an
optimizer, a loop, two groups, a carried value and a list of implementations. A
pair either computes the same as the step itself, on 4 ranks and in 2
repetitions, within its memory budget, or is refused by an error that names both
features. Anything else ends the program with an error.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
STEP = ROOT / "test" / "Equivalence" / "Inputs" / "composed-step.mlir"
PAGE = ROOT / "docs" / "reference" / "composition.md"
ACCUMULATE = "commsched-accumulate-gradients"

# By name of a feature: a pass that runs before the pipeline, or an option of it.
PASSES = {
    "commsched-order-collectives": "func.func(commsched-order-collectives)",
    "commsched-partition-joint": "commsched-partition-joint",
    ACCUMULATE: f"{ACCUMULATE}{{micro-batches=2 memory-budget=4KiB}}",
    "commsched-set-costs": "commsched-set-costs{target=b200}",
}
OPTIONS = {
    "steady-state": "steady-state",
    "pipeline-loops": "pipeline-loops=true",
    "choose-implementations": "choose-implementations=true",
    "buckets": "buckets=gathers-and-reductions mode=coalesced",
    "bitwise": "bitwise",
    "split": "split=sums max-chunks=2",
    "slack": "slack=20",
    "exclusive-groups": "exclusive-groups",
    "link-sharing": "link-sharing",
    "compute-slowdown": "compute-slowdown=0.2",
    "target": "target=a100",
    "collectives": "collectives=recompute",
    "host-memory": "host-memory=1KiB",
    "quantize": "quantize=auto",
    "reserved-bytes": "reserved-bytes=1KiB",
    "budget-on": "budget-on=reserved allocator=pytorch",
    "frontier": "frontier=FOLDER/frontier.csv",
    "strict": "strict",
}
FEATURES = [*PASSES, *OPTIONS]
HEAD = """<!-- Generated from what commsched-opt does; `testsupport/composition.py OPT RUN --write` writes it again. -->

# Features together

Every two features of [`commsched-pipeline`](pipelines.md) on one step:
[composed-step.mlir](../../test/Equivalence/Inputs/composed-step.mlir), with a joint
function, an optimizer, a loop, two groups, a value that it carries, and a list of
implementations.

`equal`: the scheduled step computes the same elements as the step itself on 4 ranks of
the backend `local`, in 2 repetitions, and its report is within the budget. `refused`:
an error names both features.

"""


class Checker:
    def __init__(self, opt: str, run: str, folder: str):
        self.opt, self.run, self.folder = opt, run, folder

    def try_pair(self, pair: tuple[str, str]) -> str:
        """`equal` or `refused`; raises RuntimeError for anything else."""
        # An allocator reserves no less than a segment.
        budget_bytes = 4 << 20 if "budget-on" in pair else 4 << 10
        passes = [PASSES[name] for name in pair if name in PASSES]
        options = [f"memory-budget={budget_bytes}"]
        options += [OPTIONS[name] for name in pair if name in OPTIONS]
        options = " ".join(options).replace("FOLDER", self.folder)
        passes.append(f"commsched-pipeline{{{options}}}")
        passes.append(f"commsched-report{{format=json output={self.folder}/report}}")
        step = f"{self.folder}/step.mlir"
        command = [self.opt, str(STEP), "-o", step]
        command.append(f"--pass-pipeline=builtin.module({','.join(passes)})")
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            return self.read_refusal(pair, made.stderr)
        self.check_budget(pair, budget_bytes)
        reference = self.accumulated() if ACCUMULATE in pair else STEP
        command = [self.run, step, f"--compare={reference}", "--ranks", "4"]
        command += ["--iterations", "2", "-o", "/dev/null"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode or "equal: all" not in ran.stdout + ran.stderr:
            raise RuntimeError(f"{pair}: {(ran.stdout + ran.stderr)[-400:]}")
        return "equal"

    def read_refusal(self, pair: tuple[str, str], errors: str) -> str:
        first = next((line for line in errors.splitlines() if "error:" in line), errors)
        names = [name.removeprefix("commsched-") for name in pair]
        if not all(re.search(rf"\b{re.escape(name)}\b", first) for name in names):
            raise RuntimeError(f"{pair}: the error does not name both: {first}")
        return "refused"

    def accumulated(self) -> str:
        """The step with an input for each micro-batch, as it is otherwise."""
        path = f"{self.folder}/accumulated.mlir"
        command = [self.opt, str(STEP), "-o", path]
        command.append(f"--pass-pipeline=builtin.module({PASSES[ACCUMULATE]})")
        subprocess.run(command, check=True)
        return path

    def check_budget(self, pair: tuple[str, str], budget_bytes: int) -> None:
        lines = pathlib.Path(self.folder, "report").read_text().splitlines()
        peak = max(json.loads(line)["peak_memory_bytes"] for line in lines if line)
        if peak > budget_bytes:
            raise RuntimeError(f"{pair}: {peak} bytes are over {budget_bytes}")


def make_page(cells: dict[tuple[str, str], str]) -> str:
    """The table. Each pair is in the row of its first feature."""
    columns = [name.removeprefix("commsched-") for name in FEATURES[1:]]
    lines = ["| feature | " + " | ".join(columns) + " |", "|---" * len(FEATURES) + "|"]
    for number, row in enumerate(FEATURES[:-1]):
        # What is left of the diagonal stands in another row.
        texts = ["↗"] * number
        texts += [cells[row, column] for column in FEATURES[number + 1 :]]
        lines.append(f"| {row} | " + " | ".join(texts) + " |")
    return HEAD + "\n".join(lines) + "\n"


def read_page() -> dict[tuple[str, str], str]:
    cells = {}
    lines = PAGE.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| feature ")]
    for number, line in enumerate(rows):
        texts = [text.strip() for text in line.strip("|").split("|")]
        for column, text in zip(FEATURES[1:], texts[1:], strict=True):
            if text != "↗":
                cells[FEATURES[number], column] = text
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("opt")
    parser.add_argument("run")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--turn", type=int, help="checks a quarter of the pairs")
    options = parser.parse_args()
    pairs = list(itertools.combinations(FEATURES, 2))
    if options.turn is not None and os.environ.get("COMMSCHED_TEST_RUNS", "1") == "1":
        pairs = pairs[options.turn % 4 :: 4]
    cells = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options.opt, options.run, folder)
        for pair in pairs:
            try:
                cells[pair] = checker.try_pair(pair)
            except RuntimeError as error:
                failures.append(str(error))
    if failures:
        print("\n".join(failures), file=sys.stderr)
        return 1
    if options.write:
        PAGE.write_text(make_page(cells))
        return 0
    known = read_page()
    wrong = [pair for pair in pairs if known.get(pair) != cells[pair]]
    for pair in wrong:
        print(f"{pair}: {cells[pair]}, but {PAGE.name} says {known.get(pair)}")
    print(f"{len(pairs)} pairs, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
