# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions joint functions, and compares both halves with the whole.

For random joint functions (`--small`, a range of seeds of
testsupport/steps/joint_steps.py) or those of a module (`--module`), with several
options:

- test-commsched-verify-partition accepts what commsched-partition-joint makes;
- the forward and then the backward compute the same as the joint function, bit
  for bit, on four ranks: each function with `--run` of the options;
- a second run, without threads, makes the same text;
- a smaller budget never saves more bytes, with either solver.

With `--pass=test-commsched-fit-memory`, which schedules as well, only what holds
for any pass: it is run on four ranks, and makes the same text twice. The link to
the host is fast; `--offloads` is how many of the partitions that are run have to
send values to the host and get them back.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "testsupport/steps"))

import joint_steps  # noqa: E402
from joint_halves import Program, parse_functions
from seeds import parse_seeds

VARIANTS = [
    "strategy=default", "", "activation-memory-budget=0.5",
    "activation-memory-budget=0.0", "collectives=recompute",
    "collectives=cost activation-memory-budget=0.7",
    "memory-budget=2000",
    "activation-memory-budget=0.2 memory-budget-solver=greedy "
    "mimic-autograd-order=false runtime-estimator=testing",
    "aggressive-recomputation recompute-views=false "
    "treat-parameters-as-free-to-save=false ban-recompute-reductions=false"]
FIT_VARIANTS = ["memory-budget=1KiB", "memory-budget=1536",
                "memory-budget=2KiB", "memory-budget=3KiB",
                "memory-budget=1MiB"]
RUNNER = "commsched-run --ranks=4 --opt-level=0 -o /dev/null"
PARTITION, FIT = "commsched-partition-joint", "test-commsched-fit-memory"
SOLVERS = ["dp", "greedy"]
REMARK = re.compile(r"\[Passed\] Partitioned .*?Function=(\w+)"
                    r".*?SavedBytes=(\d+)")
GROUP = re.compile(r"^ *commsched\.group .*$", re.MULTILINE)
HEAD = re.compile(r"^module attributes .*?\} \{$|^module \{$", re.MULTILINE | re.DOTALL)
LOCAL = "--mlir-print-local-scope"


class Checker:
    def __init__(self, options):
        self.opt = shlex.split(options.opt)
        self.run_commands = list(map(shlex.split, options.runner or [RUNNER]))
        self.least_offloads = options.offloads
        self.folder = Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pass_name = options.pass_name
        self.variants = options.variants or (
            VARIANTS if self.pass_name == PARTITION else FIT_VARIANTS)

    def call(self, *command):
        result = subprocess.run(command, text=True, capture_output=True, check=False)
        if result.returncode:
            sys.exit(f"{shlex.join(map(str, command))} failed:\n"
                     f"{(result.stderr + result.stdout)[:4000]}")
        return result

    def partition(self, module, options, *more):
        return self.call(
            *self.opt, str(module), f"--{self.pass_name}={options}",
            "--test-commsched-verify-partition", *more)

    def check_twice(self, path):
        for options in self.variants:
            text = self.partition(path, options).stdout
            again = self.partition(path, options, "--mlir-disable-threading").stdout
            if text != again:
                sys.exit(f"'{options}' makes two different texts of {path}")

    def check_budgets(self, module):
        for solver in SOLVERS:
            most = {}
            for tenths in range(10, -1, -1):
                options = (f"activation-memory-budget={tenths / 10} "
                           f"memory-budget-solver={solver}")
                output = self.partition(
                    module, options, "-o", "/dev/null",
                    "--remarks-filter=commsched").stderr
                saved = {name: int(count) for name, count in REMARK.findall(output)}
                if not saved:
                    sys.exit(f"no remark says what {module} saves:\n{output}")
                for name, count in saved.items():
                    if count > most.get(name, count):
                        sys.exit(f"{module}: of @{name} {options} saves "
                                 f"{count} bytes, a larger budget "
                                 f"{most[name]}")
                most = saved

    def compare(self, files, places):
        """Compares the results; `places` maps them to those of the original."""
        for command in self.run_commands:
            result = subprocess.run(
                [*command, files[1], f"--compare={files[0]}"], text=True,
                capture_output=True, check=False)
            if result.returncode:
                output = (result.stdout + result.stderr)[:4000]
                place = re.search(r"different: result (\d+)", output)
                sys.exit(f"{places[int(place[1])]}: {output}" if place else output)

    def check_runs(self, path, count):
        """All functions in one program, and partitions of them in another.
        Each has `count` partitions, its successor the next ones."""
        whole = self.call(*self.opt, path, LOCAL).stdout
        joints = {
            name: joint for name, joint in parse_functions(whole).items()
            if "commsched.num_forward_outputs" in joint.text}
        names = list(joints)
        chosen = {name: {(index + i) % len(self.variants) for i in range(count)}
                  for index, name in enumerate(names)}
        before, after, num_offloads = Program(), Program(), 0
        for name in names:
            before.functions.append(joints[name].text)
            before.add_joint(joints[name], chosen[name])
        for number, options in enumerate(self.variants):
            halves = parse_functions(self.partition(path, options, LOCAL).stdout)
            for name in names:
                if number in chosen[name]:
                    forward, backward = parts = [
                        halves[f"{name}_{half}"]
                        for half in ("forward", "backward")]
                    num_offloads += ("commsched.offload" in forward.text and
                                     "commsched.reload" in backward.text)
                    after.add_partition(number, joints[name], halves[name], *parts)
        if num_offloads < self.least_offloads:
            sys.exit(f"only {num_offloads} partitions send values to the host")
        order = [(name, number) for name in names for number in sorted(chosen[name])]
        head = HEAD.search(whole)[0] + "\n" + "\n".join(GROUP.findall(whole))
        files = []
        for side, program in ("before", before), ("after", after):
            files.append(self.folder / f"{path.stem}.{side}.mlir")
            calls = files[-1].with_suffix(".calls.mlir")
            calls.write_text(f"{head}\n{program.write(order)}}}\n")
            self.call(*self.opt, calls, "--inline", "-o", files[-1])
        places = [f"@{name} with '{self.variants[number]}'"
                  for name, number in order
                  for _ in before.results[name, number]]
        self.compare(files, places)
        return len(order)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opt", default="commsched-opt")
    parser.add_argument(
        "--runner",
        action="append",
        help="the runner, with its options; may be given several times")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--module", type=Path)
    parser.add_argument("--small", type=parse_seeds, default=())
    parser.add_argument("--operations", type=int, default=14,
                        help="leave larger ones out of the small functions")
    parser.add_argument("--offloads", type=int, default=0)
    parser.add_argument("--pass", dest="pass_name", default=PARTITION,
                        choices=(PARTITION, FIT))
    parser.add_argument("--variants", nargs="*",
                        help="options to partition with, instead of a list "
                        "of them")
    parser.add_argument("--run", type=int, default=0,
                        help="how many partitions of each function are run")
    options = parser.parse_args()
    checker = Checker(options)
    path = options.module
    if options.small:
        path = checker.folder / "small.mlir"
        steps = map(joint_steps.JointStep, options.small)
        path.write_text(joint_steps.FAST_HOST + "".join(
            step.text() for step in steps
            if len(step.lines) <= options.operations) + "}\n")
    checker.check_twice(path)
    if checker.pass_name == PARTITION:
        checker.check_budgets(path)
    count = checker.check_runs(path, options.run) if options.run else 0
    print(f"{count} partitions compute what their functions do")


if __name__ == "__main__":
    main()
