# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with their operations in another legal order.

A frontend may write the operations of a step in any order that dependences allow.
The program is one that commsched-opt has printed, with an operation on each line
and no regions inside of a function.
"""

import random
import re

VALUE = re.compile(r"%\w+")


def find_needed(operations: list[str]) -> list[set[int]]:
    """By operation: those that come before it. What has no result has effects,
    which keep their order."""
    makers, last, needed = {}, None, []
    for index, text in enumerate(operations):
        results, separator, rest = text.partition(" = ")
        has_result = results.lstrip().startswith("%") and bool(separator)
        names = VALUE.findall(rest if has_result else text)
        needed.append({makers[name] for name in names if name in makers})
        if has_result:
            makers.update(dict.fromkeys(VALUE.findall(results), index))
            continue
        needed[index] |= set() if last is None else {last}
        last = index
    return needed


def sort_randomly(operations: list[str], rng: random.Random, depth: float):
    """The operations in another order. `depth` is how likely what became ready
    last comes next, so that 1 is nearly depth first."""
    needed = find_needed(operations)
    users = [[] for _ in operations]
    for index, before in enumerate(needed):
        for other in before:
            users[other].append(index)
    missing = [len(before) for before in needed]
    ready = [index for index, count in enumerate(missing) if count == 0]
    while ready:
        last = rng.random() < depth
        index = ready.pop(-1 if last else rng.randrange(len(ready)))
        yield operations[index]
        for user in users[index]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)


def shuffle(program: str, seed: int, depth: float = 0.0) -> str:
    """The program with the operations of each function in a random order."""
    rng = random.Random(seed)
    lines, body = [], None
    for line in program.splitlines():
        word = line.strip().partition(" ")[0]
        if word == "return" and body is not None:
            lines += sort_randomly(body, rng, depth)
            body = None
        (lines if body is None else body).append(line)
        if word == "func.func" and line.endswith("{"):
            body = []
    return "\n".join(lines) + "\n"
