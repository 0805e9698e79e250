# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks tell each other, in the job's store."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Callable, Iterable
from typing import Any, Optional, TypeVar

from commsched.torch.compiling.store import Job, poll

Result = TypeVar("Result")


class RankAbsent(TimeoutError):
    """The other `rank` said nothing."""

    def __init__(self, rank: int, what: str):
        super().__init__(f"rank {rank} {what}")
        self.rank = rank


def give(job: Job, key: str, mine: Any, peers: Iterable[int]) -> None:
    """Tells other ranks what is `mine` of `key`, without waiting for theirs."""
    job.set(f"{key}/{job.rank}", json.dumps([mine, list(peers)]))


def exchange(
    job: Job,
    key: str,
    mine: Any,
    peers: Iterable[int],
    deadline: float,
    ended: Callable[[], Optional[str]] = lambda: None,
) -> list[Any]:
    """Returns what is given for `key` by this rank, by its `peers`, and by those
    that these depend on, in the order of ranks.

    Raises RankAbsent for one that has given nothing at the `deadline`, a time
    of `time.monotonic`, or before `ended` says why none will.
    """
    give(job, key, mine, peers)
    found: dict[int, Any] = {}
    missing = {job.rank}
    while missing:
        rank = min(missing)
        found[rank], theirs = _await(job, key, rank, deadline, ended)
        missing = (missing | set(theirs)) - set(found)
    return [found[rank] for rank in sorted(found)]


def _await(job: Job, key: str, rank: int, deadline: float, ended) -> list:
    reason = "did not take part in time"

    def given() -> Optional[str]:
        nonlocal reason
        text = job.get(f"{key}/{rank}")
        if text is None and (end := ended()) is not None:
            reason, text = f"did not take part: {end}", ""
        return text

    text = poll(given, deadline)
    if not text:
        raise RankAbsent(rank, reason)
    return json.loads(text)


def in_new_thread(run: Callable[[], Result]) -> Result:
    """Returns what `run` does in a thread of its own: what is compiled just
    now runs under modes, of fake tensors for example, that are the thread's."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor.submit(run).result()
