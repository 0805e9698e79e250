# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shortest step of a small joint function within a limit of live bytes.

All sets of saved values are partitioned, and CP-SAT proves the shortest order
of both halves of a partition. Partitions are tried from the one with the lowest
bound of the step time on, so that few of them need a proof. The budgets of a step
divide what lies between the least and the most memory that any partition takes in
the order of the program.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("", "steps")]

import exact  # noqa: E402
from joint_steps import PROLOGUE, JointStep  # noqa: E402
from optima import Contradiction  # noqa: E402
from simulate import check_legal, simulate_peak, simulate_time  # noqa: E402

HEAD = re.compile(r"func\.func (?:private )?@(\w+)\((.*)$", re.MULTILINE)
ARGUMENT = re.compile(r'commsched\.name = "(\w+)", commsched\.role')
OPERATION = re.compile(r'^    .*commsched\.name = "(\w+)"', re.MULTILINE)
#: More saved values than this have too many subsets.
MOST_VALUES = 11


@dataclass(frozen=True)
class Half:
    """The problem of one half of a partition."""

    problem: dict
    bound_ns: int
    peak: int

    @property
    def program(self):
        return list(range(len(self.problem["nodes"])))


@dataclass(frozen=True)
class Partition:
    """Both halves for one set of saved values."""

    saved: tuple
    forward: Half
    backward: Half
    # What is live beside the forward, tangents, and beside the backward: of the
    # forward's arguments and results those that the backward does not take.
    tangents: int
    beside: int

    @property
    def bound_ns(self):
        return self.forward.bound_ns + self.backward.bound_ns

    @property
    def peak(self):
        """Of the order of the program."""
        return max(
            self.forward.peak + self.tangents, self.backward.peak + self.beside
        )


def run(command, text):
    """What the tool prints for a program."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [*command[:1], file.name, *command[1:]], check=True, text=True,
            stdout=subprocess.PIPE,
        )
    return done.stdout


def transform(opt, text, pipeline):
    """The program behind a pipeline, and the reports on it, by function."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        passes = f"{pipeline},commsched-report{{format=json output={path}}}"
        result = run([opt, f"--pass-pipeline=builtin.module({passes})"], text)
        reports = [json.loads(line) for line in path.read_text().splitlines()]
    return result, {report["function"]: report for report in reports}


def read_problems(parity, text):
    """By function."""
    lines = run([parity], text).splitlines()
    return {line["function"]: line for line in map(json.loads, lines)}


def split_functions(text):
    """The text of each function by its name."""
    begins = list(HEAD.finditer(text))
    ends = [match.start() for match in begins[1:]] + [len(text)]
    return {
        match[1]: text[match.start() : end] for match, end in zip(begins, ends)
    }


class Partitions:
    """All partitions of a step, from the lowest bound on."""

    def __init__(self, opt, parity, step):
        self.step = step
        names = [
            name
            for line in step.lines[: step.num_forward_lines - 1]
            for name in re.findall(r"^%(v\d+) = ", line)
        ]
        choices = [name for name in names if name not in step.kept_names]
        if len(choices) > MOST_VALUES:
            raise exact.NotProved(f"{len(choices)} values may be saved")
        kept = sorted(step.kept_names)
        subsets = [
            (*kept, *chosen)
            for count in range(len(choices) + 1)
            for chosen in itertools.combinations(choices, count)
        ]
        program = PROLOGUE + "".join(
            step.text(f"s{number}", saved) for number, saved in enumerate(subsets)
        )
        program, reports = transform(opt, program, "commsched-partition-joint")
        functions = split_functions(program)
        problems = read_problems(parity, program)
        found = {}
        for number, saved in enumerate(subsets):
            halves = [f"s{number}_{half}" for half in ("forward", "backward")]
            texts = [functions[half] for half in halves]
            repeated = set(OPERATION.findall(texts[1]))
            if repeated & step.kept_names:
                continue
            key = "".join(texts).replace(f"s{number}_", "")
            if key in found:
                continue
            found[key] = self.read(
                saved, [problems[half] for half in halves],
                [reports[half]["tight_lower_bound_ns"] for half in halves],
                ARGUMENT.findall(texts[1].partition("\n")[0]),
            )
            report = reports[f"s{number}"]
            if found[key].peak != report["peak_memory_bytes"]:
                raise Contradiction(f"{step.name}, saving {saved}: {report}")
        self.all = sorted(found.values(), key=lambda p: (p.bound_ns, p.saved))

    def read(self, saved, problems, bounds, taken):
        halves = [
            Half(problem, bound, simulate_peak(problem, range(len(problem["nodes"]))))
            for problem, bound in zip(problems, bounds)
        ]
        beside = 4 * sum(
            value.size
            for value, role in self.step.arguments
            if role != "tangent" and value.name[1:] not in taken
        )
        beside += 4 * self.step.returned[0].size
        tangents = 4 * sum(
            value.size for value, role in self.step.arguments if role == "tangent"
        )
        return Partition(saved, *halves, tangents, beside)


class Solver:
    """Proves the shortest step of all partitions."""

    def __init__(self, partitions, seconds):
        self.partitions = partitions
        self.seconds = seconds

    def solve_half(self, half, limit, high):
        """The shortest time, or None if it is above `high` or nothing fits."""
        if half.bound_ns > high:
            return None
        optimum = exact.solve(
            half.problem, limit, half.program, self.seconds, low=half.bound_ns,
            high=high,
        )
        if not optimum:
            return None
        check_legal(half.problem, optimum.order)
        if (
            simulate_time(half.problem, optimum.order)[0] != optimum.step_ns
            or simulate_peak(half.problem, optimum.order) > limit
        ):
            raise Contradiction(f"{optimum} is not what the model says")
        return optimum.step_ns

    def solve(self, limit, known=None):
        """The shortest step and the partition that has it; `known`: a time that
        is possible, and None for its partition. None if nothing fits. Raises
        exact.NotProved."""
        best = (known, None) if known is not None else None
        for partition in self.partitions.all:
            most = (best[0] - 1) if best else sys.maxsize // 4
            if partition.bound_ns > most:
                break
            backward = self.solve_half(
                partition.backward, limit - partition.beside,
                most - partition.forward.bound_ns,
            )
            if backward is None:
                continue
            forward = self.solve_half(
                partition.forward, limit - partition.tangents, most - backward
            )
            if forward is not None:
                best = forward + backward, partition
        return best


#: What decides, with `{}` for the bytes. Collectives are not merged.
WAYS = {
    "commsched-partition-joint, commsched-schedule": (
        "commsched-partition-joint{{memory-budget={0} collectives=cost "
        "runtime-estimator=model}},func.func(commsched-schedule{{buckets=off "
        "memory-budget={0}}})"
    ),
    "commsched-pipeline": (
        "commsched-pipeline{{memory-budget={0} buckets=off}}"
    ),
}


class Result:
    """What becomes of one step with one budget: times in nanoseconds."""

    def __init__(self, step, limit, optimum_ns):
        self.step, self.limit, self.optimum_ns = step, limit, optimum_ns
        self.ours = {}  # By way; none where the budget is exceeded.

    def get_gap(self, way):
        ours = self.ours.get(way)
        return None if ours is None else ours / self.optimum_ns - 1


def run_way(opt, step, way, limit):
    """The step time, or None where it takes more than the limit."""
    _, reports = transform(
        opt, PROLOGUE + step.text(), WAYS[way].format(limit)
    )
    report = reports[step.name]
    fits = report["peak_memory_bytes"] <= limit
    return report["step_time_ns"] if fits else None


def compare(options, seed):
    """Yields the results of a step."""
    step = JointStep(seed)
    partitions = Partitions(options.opt, options.tool, step)
    peaks = [partition.peak for partition in partitions.all]
    least, most = min(peaks), max(peaks)
    limits = [
        least + (most - least) * number // options.budgets
        for number in range(options.budgets)
    ]
    for limit in dict.fromkeys(limits):
        ours = {
            way: run_way(options.opt, step, way, limit) for way in options.ways
        }
        known = min((t for t in ours.values() if t is not None), default=None)
        solver = Solver(partitions, options.seconds)
        try:
            optimum = solver.solve(limit, known)
        except exact.NotProved as error:
            print(f"{step.name} with {limit} bytes: {error}", file=sys.stderr)
            continue
        result = Result(step, limit, optimum[0])
        result.ours = ours
        yield result
