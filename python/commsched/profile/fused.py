# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that a compiler has fused, and the operations that they compute.

A trace has only the names of such kernels. What they compute follows from the
sequence: computations that are matched in the same order in program and trace
are *anchors*, and what runs between two of them computes the operations that
the program has between them. An operation may be fused into a kernel behind
the next anchor, so neighbouring parts are joined where one has only operations
or only kernels. All of this takes O(n log n) in the length of a step.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Optional

from commsched.profile.activities import Activity
from commsched.profile.programs import Target

# As Inductor names them: triton_poi_fused_add_mul_3, graph_0_cpp_fused_silu_1.
_FUSED = re.compile(r"(graph_\d+_)?(cpp|triton_\w+?)_fused_")


@dataclass(frozen=True)
class FusedGroup:
    """Operations and the kernels that compute them: indices of targets, and
    of activities in the step."""

    operations: list[int]
    kernels: list[int]


def is_fused(activity: Activity) -> bool:
    return not activity.kind and bool(_FUSED.match(activity.name))


def group_fused(targets: list[Target], activities: list[Activity],
                found: list[Optional[int]]) -> list[FusedGroup]:
    """The groups of a step, of which `found` has the matched operations. Only
    operations with names are in groups. Kernels before the first anchor and
    behind the last one are in a group unless other computations, of which the
    program knows nothing, run between."""
    if not any(map(is_fused, activities)):
        return []
    anchors = find_anchors(targets, found)
    if not anchors:
        return []
    matched = set(found)
    groups: list[FusedGroup] = []
    operations: list[int] = []
    kernels: list[int] = []
    limits = [(_first_kernel(activities, anchors[0][0]) - 1, -1), *anchors,
              (_end_of_kernels(activities, anchors[-1][0]), len(targets))]
    for (position, target), (next_position, next_target) in pairwise(limits):
        operations += [i for i in range(target + 1, next_target)
                       if i not in matched and _is_computed(targets[i])]
        kernels += [i for i in range(position + 1, next_position)
                    if is_fused(activities[i])]
        if operations and kernels:
            groups.append(FusedGroup(operations, kernels))
            operations, kernels = [], []
    if groups:
        groups[-1].operations.extend(operations)
        groups[-1].kernels.extend(kernels)
    return groups


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Parts of `total` in proportion to the weights, or equal ones if these
    are 0. The sum of the parts is `total`."""
    if not any(weights):
        weights = [1] * len(weights)
    sums = [0, *accumulate(weights)]
    return [total * end // sums[-1] - total * begin // sums[-1]
            for begin, end in pairwise(sums)]


def _is_computed(target: Target) -> bool:
    return bool(target.name) and not target.kind and not target.is_free


def find_anchors(targets: list[Target],
                  found: list[Optional[int]]) -> list[tuple[int, int]]:
    """The longest sequence of activities whose operations have the same order
    in the program, as positions and targets."""
    pairs = [(position, target) for position, target in enumerate(found)
             if target is not None and not targets[target].kind]
    # By length: the least target that a sequence can end with, and its pair.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, target) in enumerate(pairs):
        length = bisect_left(ends, target)
        before.append(last[length - 1] if length else -1)
        ends[length:length + 1] = [target]
        last[length:length + 1] = [index]
    anchors = []
    index = last[-1] if last else -1
    while index >= 0:
        anchors.append(pairs[index])
        index = before[index]
    return anchors[::-1]


def _first_kernel(activities: list[Activity], position: int) -> int:
    """Where the fused kernels begin that run just before an activity."""
    while position > 0 and _is_fused_or_collective(activities[position - 1]):
        position -= 1
    return position


def _end_of_kernels(activities: list[Activity], position: int) -> int:
    """Where the fused kernels end that run just behind an activity."""
    position += 1
    while (position < len(activities)
           and _is_fused_or_collective(activities[position])):
        position += 1
    return position


def _is_fused_or_collective(activity: Activity) -> bool:
    return bool(activity.kind) or is_fused(activity)
