#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Give random steps to commsched-pipeline in other orders, within many budgets.

The operations of a random step change places within their dependences. Within
budgets from the least peak to twice that of the program, more memory may not make
its step longer, nor take more memory for the same step, and the step may not be
over 1 % longer than that of the operations as they were written. Prints what is;
the status is 1 if anything is.
"""

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import compare_rules

NAME = re.compile(r"%[\w.$-]+")
#: Of the peak of the program, between two budgets.
STRIDE = 0.05
TOLERANCE = 0.01


def shuffle_body(lines: list[str], rng: random.Random) -> list[str]:
    """Operations without regions in a random order in which each comes behind
    those whose results it uses."""
    makers = {}
    for index, line in enumerate(lines):
        results = line.split(" = ")[0] if " = " in line else ""
        makers.update((name.split(":")[0], index) for name in NAME.findall(results))
    users = [[] for _ in lines]
    missing = [0] * len(lines)
    for index, line in enumerate(lines):
        operands = NAME.findall(line.split(" = ", 1)[-1])
        for maker in {makers[name] for name in operands if name in makers} - {index}:
            users[maker].append(index)
            missing[index] += 1
    ready = [index for index, count in enumerate(missing) if not count]
    order = []
    while ready:
        index = ready.pop(rng.randrange(len(ready)))
        order.append(lines[index])
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    return order


def shuffle(text: str, seed: int) -> str:
    """A module, as commsched-opt prints it, with each function shuffled."""
    rng = random.Random(seed)
    out, body = [], None
    for line in text.splitlines():
        if line.lstrip().startswith("func.func"):
            body = []
            out.append(line)
        elif body is not None and line.lstrip().startswith("return"):
            out += [*shuffle_body(body, rng), line]
            body = None
        else:
            (out if body is None else body).append(line)
    return "\n".join(out)


def find_faults(costs: list, written: list, budgets: list[int]) -> Iterator[str]:
    """What is wrong with the costs of a step within ascending budgets, and with
    those of the same step as it was written."""
    for index, budget in enumerate(budgets):
        ours, limit = costs[index], written[index].step_ns * (1 + TOLERANCE)
        if written[index].peak_bytes <= budget and ours.step_ns > limit:
            yield (
                f"within {budget} bytes {ours.step_ns} ns, but "
                f"{written[index].step_ns} as it was written"
            )
        less = costs[index - 1] if index else None
        if less and less.peak_bytes <= budget and less[:2] < ours[:2]:
            yield (
                f"within {budget} bytes {ours[:2]} ns and bytes, but {less[:2]} "
                f"within {budgets[index - 1]}"
            )


def check_step(tool, pool: ThreadPoolExecutor, seed: int, stride: float):
    """The label of the step of a seed, and what is wrong with it."""
    step = compare_rules.model_steps.make_random_step(seed)
    paths = [tool.folder / f"{name}.mlir" for name in ("step", "written", "other")]
    paths[0].write_text(step.text, encoding="utf-8")
    program = tool.run(paths[0], "", paths[1].name)
    text = paths[1].read_text(encoding="utf-8")
    paths[2].write_text(shuffle(text, seed), encoding="utf-8")

    def cost(path, budget):
        return tool.run(path, f"commsched-pipeline{{memory-budget={budget}}}")

    least = cost(paths[2], 0).peak_bytes
    stride = max(int(stride * program.peak_bytes), 1)
    budgets = list(range(least, max(2 * program.peak_bytes, least + 1), stride))
    written = list(pool.map(lambda budget: cost(paths[1], budget), budgets))
    costs = list(pool.map(lambda budget: cost(paths[2], budget), budgets))
    return step.label, list(find_faults(costs, written, budgets))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--steps", type=int, default=20)
    add("--seed", type=int, default=1, help="of the first step")
    add("--stride", type=float, default=STRIDE, help="between budgets")
    add("--opt", default=compare_rules.BUILT_TOOL)
    options = parser.parse_args()
    count = 0
    with compare_rules.make_pool() as pool, tempfile.TemporaryDirectory() as folder:
        tool = compare_rules.Tool(options.opt, folder)
        for seed in range(options.seed, options.seed + options.steps):
            label, faults = check_step(tool, pool, seed, options.stride)
            count += bool(faults)
            for fault in faults:
                print(f"{seed}: {label}: {fault}", flush=True)
    print(f"{count} of {options.steps} steps are wrong")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
