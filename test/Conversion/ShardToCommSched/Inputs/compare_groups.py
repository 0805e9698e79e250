# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the groups of many grids and axes with brute force.

`--write` prints a module with an all-reduce along every list of axes of every
grid of up to three axes; without it, the module after the conversion is read
from the standard input. The expected members come from the definition: devices
that agree in all other coordinates are a group, ordered by their coordinates
along the axes, and a device's rank is its place in the list of all of them.
"""

import argparse
import ast
import itertools
import re
import sys

SIZES = (1, 2, 3)
NODE = 4

GROUP = re.compile(
    r"commsched\.group @(\w+?)_axes_([\d_]+) size\((\d+)\)"
    r"(?: ranks_per_node\((\d+)\))?(?: stride\((\d+)\))?"
    r"(?: ranks\(dense<(.*)> : tensor<.*>\))?")


def cases():
    """Every grid with every list of axes in every order."""
    for rank in (1, 2, 3):
        for shape in itertools.product(SIZES, repeat=rank):
            for count in range(1, rank + 1):
                for axes in itertools.permutations(range(rank), count):
                    yield shape, axes


def name(shape):
    return "grid_" + "x".join(map(str, shape))


def expected_groups(shape, axes):
    devices = list(itertools.product(*map(range, shape)))
    groups = {}
    for rank, device in enumerate(devices):
        outside = [device[i] for i in range(len(shape)) if i not in axes]
        inside = [device[i] for i in axes]
        groups.setdefault(tuple(outside), []).append((inside, rank))
    return sorted([rank for _, rank in sorted(group)] for group in groups.values())


def declared_groups(size, stride, ranks, total):
    """The members of a declaration, as the dialect defines them."""
    if ranks is not None:
        # A splat stands for all of its elements.
        rows = ast.literal_eval(ranks)
        return sorted(rows if isinstance(rows, list) else [[rows]])
    groups = {}
    for rank in range(total):
        block, place = divmod(rank, size * stride)
        groups.setdefault((block, place % stride), []).append(rank)
    return sorted(groups.values())


def on_one_node(groups):
    return max(sum(rank // NODE == first // NODE for rank in group)
               for group in groups for first in group)


def write():
    for shape in sorted({shape for shape, _ in cases()}):
        print(f"shard.grid @{name(shape)}(shape = {'x'.join(map(str, shape))})")
    print("func.func @f(%x: tensor<2xf32>) {")
    for index, (shape, axes) in enumerate(cases()):
        print(f"  %{index} = shard.all_reduce %x on @{name(shape)} "
              f"grid_axes = {list(axes)} : tensor<2xf32> -> tensor<2xf32>")
    print("  return\n}")


def compare(text):
    declared = {}
    for grid, axes, size, per_node, stride, ranks in GROUP.findall(text):
        key = grid, tuple(map(int, axes.split("_")))
        assert key not in declared, f"{key} is declared twice"
        declared[key] = (int(size), int(per_node or min(int(size), 8)),
                         int(stride or 1), ranks or None)
    compared = listed = 0
    for shape, axes in cases():
        expected = expected_groups(shape, axes)
        case = name(shape), axes
        if len(expected[0]) == 1:
            assert case not in declared, f"{case} sends nothing"
            continue
        size, per_node, stride, ranks = declared.pop(case)
        total = sum(map(len, expected))
        actual = declared_groups(size, stride, ranks, total)
        assert actual == expected, f"{case}: {actual}, not {expected}"
        most = on_one_node(expected)
        assert per_node == most, f"{case}: {per_node} on a node, not {most}"
        # A list that a stride could replace is no error, but a waste.
        steps = {b - a for group in expected for a, b in zip(group, group[1:])}
        if ranks is not None:
            listed += 1
            assert len(steps) > 1, f"{case} has a stride of {steps}"
        compared += 1
    assert not declared, f"nobody asked for {list(declared)}"
    print(f"{compared} groups compared, {listed} of them listed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        write()
    else:
        compare(sys.stdin.read())


if __name__ == "__main__":
    main()
