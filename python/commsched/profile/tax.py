# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much longer computation takes beside collectives: the tax.

In the model, computation takes 1 + tax times as long while a collective is in
flight. A computation that took a time t, of which o overlaps with collectives
in flight, did the work

    w = (t - o) + o / (1 + tax)

which is the time that it takes alone. Computations of one operator and the same
types do the same work on a rank, whenever they run. Those of each operator,
types and rank are in two classes: alone, if o is at most a quarter of t, and
beside, if o is at least three quarters. The tax is the number for which

    sum of n * (work beside - work alone) = 0

over operators, types and ranks, where n is the number of computations in both
classes, and the work of a class is the mean of its middle half.
Long and frequent computations thus count most, as they do in the step, and a
few times that are far off count nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Optional

from commsched.profile.matching import Matching
from commsched.profile.programs import DEFAULT_IMPLEMENTATION, Target

LEAST_OF_OPERATOR = 3
"""As many computations of an operator, types and rank have to be in each
class."""

LEAST_OF_ALL = 20
"""As many computations of all operators have to be in each class."""

_LEAST = 5
_MOST = 100_000


@dataclass(frozen=True)
class Tax:
    """The tax in thousandths, the number of computations that it was measured
    with, and how many operators they are of."""

    thousandths: int
    computations: int
    operators: int

    @property
    def fraction(self) -> float:
        return self.thousandths / 1000

    def work(self, time: int, beside: int) -> int:
        """The time alone of a computation that took `time`, of which `beside`
        ran beside collectives."""
        return _work(time, beside, self.thousandths)


def _work(time: int, beside: int, thousandths: int) -> int:
    scale = 1000 + thousandths
    return time - beside + (2000 * beside + scale) // (2 * scale)


def measure_tax(targets: list[Target], matching: Matching) -> Optional[Tax]:
    """The tax of the implementation `nccl`. None where too few computations
    are in one of the classes, where it is below 0.005, and where the program
    names other implementations, which have taxes of their own."""
    if any(t.kind and t.implementation != DEFAULT_IMPLEMENTATION
           for t in targets):
        return None
    pairs = []
    operators = set()
    for (operator, *_), times in _same_work(targets, matching).items():
        alone, beside = _classes(times)
        if min(len(alone), len(beside)) >= LEAST_OF_OPERATOR:
            pairs.append((alone, beside))
            operators.add(operator)
    alone, beside = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
    if min(alone, beside) < LEAST_OF_ALL:
        return None
    thousandths = _solve(pairs)
    if thousandths < _LEAST:
        return None
    return Tax(thousandths, alone + beside, len(operators))


def remove_tax(targets: list[Target], matching: Matching, tax: Tax) -> None:
    """Makes the times of computations those that they take alone."""
    for index, times in matching.samples.items():
        if not targets[index].kind:
            matching.samples[index] = [
                tax.work(time, beside)
                for time, beside in zip(times, matching.overlaps[index])]


def _same_work(targets: list[Target],
               matching: Matching) -> dict[tuple, list[tuple[int, int]]]:
    """Time and overlap of the computations that do the same work, by a key
    that begins with the operator. Where the types are not known, those are the
    computations of one operation. Pinned times say what work differs. Parts of
    fused kernels are left out."""
    samples = defaultdict(list)
    for index in matching.samples:
        target = targets[index]
        if not target.kind and index not in matching.fused:
            same = target.types or index
            for rank, *times in zip(matching.ranks[index],
                                    matching.samples[index],
                                    matching.overlaps[index]):
                samples[target.operator, same, target.pinned_ns, rank].append(
                    tuple(times))
    return samples


def _classes(times: list[tuple[int, int]]) -> tuple[list, list]:
    """The computations that are almost alone, and almost entirely beside."""
    return ([(t, o) for t, o in times if 4 * o <= t],
            [(t, o) for t, o in times if 4 * o >= 3 * t and o > 0])


def _solve(pairs: list[tuple[list, list]]) -> int:
    """The tax in thousandths by bisection: it is the larger, the smaller the
    work beside. 0 if computation takes no longer beside collectives."""
    def difference(thousandths: int) -> int:
        return sum(
            (len(alone) + len(beside))
            * (_middle_work(beside, thousandths)
               - _middle_work(alone, thousandths))
            for alone, beside in pairs)

    low, high = 0, _MOST
    while low < high:
        middle = (low + high) // 2
        if difference(middle) > 0:
            low = middle + 1
        else:
            high = middle
    # The nearer of the two between which the difference is 0.
    if low > 0 and abs(difference(low - 1)) <= abs(difference(low)):
        return low - 1
    return low


def _middle_work(times: list[tuple[int, int]], thousandths: int) -> int:
    work = sorted(_work(t, o, thousandths) for t, o in times)
    middle = work[len(work) // 4:len(work) - len(work) // 4]
    return sum(middle) // len(middle)
