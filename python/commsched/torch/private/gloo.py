# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process groups of gloo beside those of the program."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from torch import distributed

from commsched.torch.private import names


def ranks_of_groups() -> list[list[int]]:
    """Returns the ranks of each process group that this process is in (2.13,
    2.15: torch.distributed.distributed_c10d._world)."""
    groups = names.world.pg_group_ranks.values()
    return [list(ranks) for ranks in groups]


@contextlib.contextmanager
def separate_group(
    store: Any, name: str, ranks: Sequence[int], seconds: float
) -> Iterator[distributed.ProcessGroup]:
    """Gives a process group of gloo of its own, in which nothing of the program
    is in flight, and ends it. Its ranks call this alike, and no others; `name`
    is used once in a job, and no call lasts longer than `seconds`.

    `torch.distributed.new_group` counts the groups of all ranks, which may be
    at different places of a program here (2.13, 2.15:
    torch.distributed.distributed_c10d._new_process_group_helper).
    """
    group, _ = names.new_process_group_helper(
        len(ranks),
        list(ranks).index(distributed.get_rank()),
        list(ranks),
        "gloo",
        store,
        group_name=name,
        timeout=datetime.timedelta(seconds=seconds),
        group_desc="commsched",
    )
    places = {rank: place for place, rank in enumerate(ranks)}
    names.world.pg_group_ranks[group] = places
    try:
        yield group
    finally:
        distributed.destroy_process_group(group)
