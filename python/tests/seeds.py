# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds of random tests.

They begin with a number that comes from the commit, so that runs of several
commits add up, and COMMSCHED_TEST_SEED repeats one of them.
COMMSCHED_TEST_RUNS multiplies how many there are. A test that fails shows its
seed in what it printed.
"""

import functools
import os
import subprocess
from collections.abc import Iterator

from installed import ROOT


@functools.cache
def first_seed() -> int:
    """COMMSCHED_TEST_SEED, or else a number of the commit; 0 without git."""
    given = os.environ.get("COMMSCHED_TEST_SEED")
    if given:
        return int(given)
    done = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )
    return int(done.stdout[:8], 16) if done.returncode == 0 else 0


def runs() -> int:
    """COMMSCHED_TEST_RUNS: how many times as much is tried."""
    return int(os.environ.get("COMMSCHED_TEST_RUNS", "1"))


def seeds(count: int) -> Iterator[int]:
    """Yields `count` seeds, each of which it prints."""
    for index in range(count * runs()):
        seed = first_seed() + index
        print(f"COMMSCHED_TEST_SEED={seed}")
        yield seed
