# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds of random tests.

They begin with the one that lit's tests begin with (test/seed.py), which
COMMSCHED_TEST_SEED sets. COMMSCHED_TEST_RUNS multiplies how many there are. A test
that fails shows its seed in what it printed.
"""

import functools
import os
import runpy
from collections.abc import Iterator, Sequence

from installed import ROOT


@functools.cache
def first_seed() -> int:
    """The seed of test/seed.py."""
    return runpy.run_path(str(ROOT / "test" / "seed.py"))["find_seed"]()


def runs() -> int:
    """COMMSCHED_TEST_RUNS: how many times as much is tried."""
    return int(os.environ.get("COMMSCHED_TEST_RUNS", "1"))


def turns(choices: Sequence, count: int) -> list:
    """Returns `count` of the choices, others with another seed; all of them if
    more is tried than once."""
    if runs() > 1:
        return list(choices)
    first = first_seed() % len(choices)
    return [*choices, *choices][first : first + count]


def seeds(count: int) -> Iterator[int]:
    """Yields `count` seeds, each of which it prints."""
    for index in range(count * runs()):
        seed = first_seed() + index
        print(f"COMMSCHED_TEST_SEED={seed}")
        yield seed
