# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph as it was and as it was scheduled, of which the faster one is kept.

In their first runs the two take turns, the scheduled one first, and are timed.
A rank that has only the schedule says so before the second run, and then all
ranks keep it. After the last of these runs each rank publishes its times in the
job's store and reads those of all ranks that it communicates with, and of those
that these do: all decide by the same figures at the same run. Graphs with equal
launches are counted together, since a rank may compile one again that another
does not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection
from typing import Any, Optional

import torch
from torch import fx

from commsched.torch import private
from commsched.torch.compiling.confirmation import (
    RanksDiffer,
    RanksSilent,
)
from commsched.torch.compiling.launches import Launches, digest_of
from commsched.torch.compiling.meeting import RankAbsent, exchange
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.records import Record
from commsched.torch.compiling.store import Job, StoreSilent, current_job

Run = Callable[[list], Any]


def copy_of(gm: fx.GraphModule) -> fx.GraphModule:
    """Returns `gm` with a graph of its own; tensors of the module are shared."""
    graph = fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    return fx.GraphModule(gm, graph)


class Entrant:
    """A graph before it is scheduled: what all ranks know it by."""

    def __init__(self, gm: fx.GraphModule, kind: str, options: Options):
        launches = Launches.of(gm.graph)
        self._options = options
        self._key = digest_of([launches.digest(kind), options.settings()])
        self._peers = launches.peers

    def against(
        self, original: Optional[Run], scheduled: Run, record: Record
    ) -> Run:
        """Returns what runs `scheduled` or `original`, in turn at first and
        then the faster one; `record` gets a note of which that is. Without an
        `original` all ranks run what is scheduled."""
        job = current_job()
        contests = _alone
        if job is not None:
            contests = job.state.setdefault("contests", {})
        contest = contests.setdefault(
            self._key, _Contest(job, self._key, self._peers, self._options)
        )
        contest.join(record)

        def run(args: list) -> Any:
            if contest.winner is None:
                contest.proceed(original is not None)
            if contest.winner is not None:
                return (scheduled if contest.winner else original)(args)
            return contest.time(original, scheduled, args)

        return private.mark_boxed(run)


class _Contest:
    """The runs of graphs with equal launches. `winner` says whether the
    scheduled one is kept."""

    def __init__(
        self,
        job: Optional[Job],
        key: str,
        peers: Collection[int],
        options: Options,
    ):
        self.runs = 0
        self.winner: Optional[bool] = None
        self._job = job
        self._peers = peers
        self._options = options
        self._base = f"contest/{key}/"
        self._seconds: dict[bool, list[float]] = {False: [], True: []}
        self._records: list[Record] = []
        self._note = ""

    def join(self, record: Record) -> None:
        """Lets `record` have the note of what was decided."""
        self._records.append(record)
        if self._note:
            record.notes.append(self._note)

    def proceed(self, competes: bool) -> None:
        """Decides before a run what can be decided. Raises RanksDiffer or
        RanksSilent if other ranks do not take part."""
        if self.runs == 1:
            if not all(self._exchange("competes", competes)):
                self._keep(True, "the schedule is kept: Inductor lays out results "
                           "of the original order in another way")
        elif self.runs % 2 and not competes:
            raise RanksDiffer(
                "ranks compare a graph with its schedule, but a graph of the same "
                "launches has only the schedule here: leave out 'verify_gain'"
            )
        elif self.runs == self._options.verify_gain:
            self._decide()

    def time(self, original: Optional[Run], scheduled: Run, args: list) -> Any:
        """Runs the one whose turn it is."""
        turn = self.runs % 2 == 0
        self.runs += 1
        _synchronize()
        started = time.perf_counter()
        result = (scheduled if turn else original)(args)
        _synchronize()
        self._seconds[turn].append(time.perf_counter() - started)
        return result

    def _decide(self) -> None:
        """Keeps the one whose slowest rank is faster."""
        # The first run of each connects the ranks and allocates.
        own = [
            statistics.median(self._seconds[turn][1:] or self._seconds[turn])
            for turn in (False, True)
        ]
        everyone = self._exchange("seconds", own)
        before, after = map(max, zip(*everyone))
        wins = after <= before
        kept = "schedule is kept" if wins else "original order is kept"
        self._keep(
            wins,
            f"the {kept}: a run took {after * 1e3:.3g} ms with the schedule "
            f"and {before * 1e3:.3g} ms without, medians of {self.runs} runs in "
            f"turn, slowest of {len(everyone)} ranks",
        )

    def _keep(self, wins: bool, note: str) -> None:
        self.winner, self._note = wins, note
        for record in self._records:
            record.notes.append(note)

    # -- other ranks ---------------------------------------------------------

    def _exchange(self, what: str, own: Any) -> list:
        """Returns what all ranks that depend on each other give to this."""
        job = self._job
        if job is None:
            return [own]
        seconds = job.limit(self._options.timeout)
        deadline = time.monotonic() + seconds
        try:
            return exchange(
                job, f"{self._base}{what}", own, self._peers, deadline
            )
        except StoreSilent as error:
            raise RanksSilent(
                "ranks cannot agree on whether a scheduled graph is faster than "
                f"as it was: {error}"
            ) from error
        except RankAbsent as error:
            raise RanksSilent(
                f"rank {job.rank} timed a graph as it was and as it was "
                f"scheduled, but rank {error.rank} did not in {seconds:g} s (the "
                "option 'timeout')"
            ) from error


#: Of a process that has no other ranks.
_alone: dict[str, _Contest] = {}


def _synchronize() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
