# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small steps and their optima: results of the schedulers, lower bounds, and
the proven optima of optima.csv.
"""

import csv
import hashlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, fields

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("", "steps")]

import exact  # noqa: E402
from simulate import simulate  # noqa: E402
from small_steps import PROLOGUE, SmallStep  # noqa: E402

STORED = pathlib.Path(__file__).with_name("optima.csv")
NUM_STEPS = 200
# Pipelines; `{budget}` stands for the budget of the step.
SIMPLE_OVERLAP = "func.func(commsched-simple-overlap)"
SCHEDULE = "func.func(commsched-schedule{buckets=off memory-budget={budget}})"


class Contradiction(ValueError):
    """What two parts of the project say of one step differs."""


@dataclass(frozen=True)
class Proof:
    """What CP-SAT proved of a step."""

    seed: int
    program: str  # A digest of its text.
    limit_bytes: int
    optimum_ns: int  # The shortest step within the limit.
    unlimited_ns: int  # The shortest of all.


@dataclass(frozen=True)
class Outcome:
    """One way to schedule a step."""

    seed: int
    step_ns: int
    peak_bytes: int
    proof: Proof

    @property
    def gap(self):
        """The fraction by which the step is longer than the optimum."""
        return self.step_ns / self.proof.optimum_ns - 1

    @property
    def fits(self):
        return self.peak_bytes <= self.proof.limit_bytes


def digest(step):
    return hashlib.sha256(step.text().encode()).hexdigest()[:12]


def read_proofs():
    """The stored ones, by seed; raises Contradiction where the step that is
    drawn now is another."""
    proofs = {}
    with open(STORED, newline="") as file:
        for row in csv.DictReader(file):
            row = {key: int(v) if key != "program" else v for key, v in row.items()}
            proof = Proof(**row)
            if proof.program != digest(SmallStep(proof.seed)):
                raise Contradiction(f"{STORED} has another step {proof.seed}")
            proofs[proof.seed] = proof
    return proofs


def write_proofs(proofs):
    with open(STORED, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        names = [field.name for field in fields(Proof)]
        writer.writerow(names)
        for proof in sorted(proofs, key=lambda p: p.seed):
            writer.writerow(getattr(proof, name) for name in names)


def call_tool(tool, texts, pipelines=()):
    """What commsched-parity says of functions, in their order."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(PROLOGUE + "".join(texts))
        file.flush()
        command = [tool, file.name]
        command += [f"--pipeline={pipeline}" for pipeline in pipelines]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def get_problems(tool, seeds):
    """The problems of the steps, by seed."""
    texts = [SmallStep(seed).text() for seed in seeds]
    return dict(zip(seeds, call_tool(tool, texts)))


def get_limit(seed, problem):
    """The bytes of the step's budget, as the passes count them."""
    peak = problem["costs"]["peak_memory_bytes"]
    return peak + math.floor(peak * (SmallStep(seed).budget_percent / 100))


def schedule(tool, pipeline, proofs):
    """What a pipeline, or None, makes of the steps: outcomes, in the order of
    `proofs`. Raises Contradiction where the model says otherwise."""
    by_budget = defaultdict(list)
    for proof in proofs:
        by_budget[SmallStep(proof.seed).budget_percent].append(proof)
    outcomes = {}
    for percent, members in by_budget.items():
        texts = [SmallStep(proof.seed).text() for proof in members]
        filled = [pipeline.replace("{budget}", f"{percent}%")] if pipeline else []
        for proof, problem in zip(members, call_tool(tool, texts, filled)):
            order, costs = list(range(len(problem["nodes"]))), problem["costs"]
            if pipeline:
                (result,) = problem["outcomes"]
                order, costs = result["order"], result["costs"]
            if simulate(problem, order) != costs:
                raise Contradiction(f"{proof}: {costs} is not what the model says")
            if get_limit(proof.seed, problem) != proof.limit_bytes:
                raise Contradiction(f"{proof} is of another limit")
            outcomes[proof.seed] = Outcome(
                proof.seed, costs["step_time_ns"], costs["peak_memory_bytes"], proof
            )
    return [outcomes[proof.seed] for proof in proofs]


def check(tool, seed, order, limit, step_ns):
    """Raises Contradiction unless CommSched parses the step with its operations
    in `order`, and says that it takes that time and fits the limit."""
    (problem,) = call_tool(tool, [SmallStep(seed).text(order)])
    costs = problem["costs"]
    if costs["step_time_ns"] != step_ns or costs["peak_memory_bytes"] > limit:
        raise Contradiction(f"step {seed}: {costs}, not {step_ns} ns in {limit} bytes")


def prove(tool, seed, problem, seconds=600):
    """Proves the optimum of a step, and has the simulator check it. Raises
    exact.NotProved."""
    step = SmallStep(seed)
    limit = get_limit(seed, problem)
    program = list(range(len(problem["nodes"])))
    everything = sum(size for size, *_ in problem["buffers"])
    unlimited = exact.solve(problem, everything, program, seconds)
    optimum = exact.solve(problem, limit, program, seconds, low=unlimited.step_ns)
    check(tool, seed, unlimited.order, everything, unlimited.step_ns)
    check(tool, seed, optimum.order, limit, optimum.step_ns)
    return Proof(seed, digest(step), limit, optimum.step_ns, unlimited.step_ns)
