# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process groups of gloo: their ranks, further ones, and their end."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import functools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import distributed

from commsched.torch.private import names


def carries_all() -> bool:
    """Whether gloo carries all collectives of this job's default group."""
    if not distributed.is_available() or not distributed.is_initialized():
        return False
    backends = distributed.get_backend_config().split(",")
    return {entry.rpartition(":")[2] for entry in backends} == {"gloo"}


def ranks_of_groups() -> list[list[int]]:
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
    at different places of a program here.
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


#: Seconds between two looks at gloo's threads, and that they have to come to
#: rest.
_LOOK, _REST = 0.002, 1.0


@functools.cache
def rest_at_exit() -> None:
    """Lets gloo's threads come to rest before this interpreter ends.

    A thread that carried out a collective releases it after those that wait
    for it have gone on, and with it objects of Python. A thread that asks for
    the interpreter when that is ending is ended inside of C++, which aborts the
    process: "terminate called without an active exception". That happens to
    any program that stops right after a collective, without CommSched too.
    """
    atexit.register(_rest)


def _rest() -> None:
    """Sleeps, which lets other threads have the interpreter, until gloo's are
    asleep twice."""
    asleep, deadline = 0, time.monotonic() + _REST
    while asleep < 2 and time.monotonic() < deadline:
        time.sleep(_LOOK)
        asleep = asleep + 1 if not _is_any_awake() else 0


def _is_any_awake() -> bool:
    for task in Path("/proc/self/task").glob("*"):
        try:
            name, _, rest = (task / "stat").read_text().partition(") ")
        except OSError:
            continue  # The thread has ended.
        if name.endswith("(pt_gloo_runloop") and rest[:1] != "S":
            return True
    return False
