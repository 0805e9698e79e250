# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Before a compiled graph first runs, its ranks compare what they run.

A graph with collectives carries the operator `commsched::confirm`, which
runs before everything else and does something the first time only. Every
rank publishes the sequence of launches that its code has, for each process
group of the graph; the first one is the reference. A rank whose sequence
differs raises, with both ranks and the first difference named, and leaves
the message for the others. Then the ranks of a group wait for each other,
which they would do in the group's first collective anyway, so that none
enters a collective that another will not enter in the same order.

A graph that was confirmed is not waited for again: a rank that compiles it
once more alone only compares itself with the reference.

Code in a compiler's cache carries its contract. When it is loaded in another
job, its plan is published as if it had just been made; if the ranks of that
job have decided otherwise, loading fails, which the cache takes for a miss.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import threading
import time
from typing import Any, Optional

import torch

from commsched.torch.compiling import records
from commsched.torch.compiling.launches import digest_of
from commsched.torch.compiling.publishing import (
    Published,
    pack,
    publish,
    unpack,
)
from commsched.torch.compiling.store import (
    FIRST_LOOK,
    LONGEST_LOOK,
    Job,
    StoreSilent,
    current_job,
)

#: Seconds after which a rank that waits says for whom.
NOTICE = 30.0
#: Ranks that a message names at most.
NAMED = 8
#: What the ranks of a group decide if all of them are there.
GO = "go"


class RanksDiffer(RuntimeError):
    """Ranks of one process group would launch different collectives."""


class RanksSilent(RuntimeError):
    """Other ranks, or the store that they share, did not answer in time:
    whether the ranks would launch the same is not known."""


class Outdated(OSError):
    """Code from a cache launches otherwise than this job's ranks decided.
    Inductor's caches compile again on an OSError."""


@dataclasses.dataclass(frozen=True)
class Contract:
    """What one compiled graph launches, and how that was decided.

    kind, frame: which graph it is, for messages.
    launches:  digest of the launches before the plan, equal on all ranks.
    settings:  what else decides a schedule, by name.
    sequence:  digest of the launches that the code has.
    lines:     these launches as text, packed.
    kept:      the launches are those of the program, in its order.
    groups:    the process groups: name, ranks (or None), size.
    modules:   of each group, those whose parameters it gathers.
    timeout:   the option: seconds to wait for the other ranks, None for as
               long as collectives would.
    published: what the job's store has of the decision; None if it is not
               for other jobs.
    joint:     the same of how the joint graph was partitioned, if ranks
               decided on that.
    """

    kind: str
    frame: Optional[str]
    launches: str
    settings: dict
    sequence: str
    lines: str
    kept: bool
    groups: list
    modules: list
    timeout: Optional[float]
    published: Optional[Published] = None
    joint: Optional[Published] = None

    def to_json(self) -> str:
        return json.dumps(
            dataclasses.asdict(self), separators=(",", ":"), sort_keys=True
        )

    @staticmethod
    def from_json(text: str) -> "Contract":
        data = json.loads(text)
        for name in ("published", "joint"):
            if data[name] is not None:
                data[name] = Published(**data[name])
        return Contract(**data)

    @property
    def title(self) -> str:
        """The graph, in words."""
        name = f"the {self.kind} graph"
        return name if self.frame is None else f"{name} {self.frame}"


_contracts: dict[str, Contract] = {}
#: Guards what threads of a process count.
_lock = threading.Lock()


def register(contract: Contract) -> str:
    """Keeps `contract` and returns the name that `confirm` takes."""
    name = digest_of(contract.to_json())[:16]
    _contracts[name] = contract
    return name


def carried(name: str) -> str:
    """Returns the line of Python that code in a cache carries."""
    packed = pack(_contracts[name].to_json())
    return f"__import__({__name__!r}, fromlist=['']).loaded({packed!r})"


def loaded(packed: str) -> None:
    """Takes the contract of code that has just been compiled, or that comes
    from a cache; in the latter case raises Outdated if it does not hold."""
    contract = Contract.from_json(unpack(packed))
    made = register(contract) in _contracts_of(current_job())
    if made:
        return
    if contract.published is None:
        raise Outdated("made by ranks that could not agree")
    job = current_job()
    if job is None:
        return
    for own in filter(None, (contract.joint, contract.published)):
        own = dataclasses.replace(own, entry={**own.entry, "rank": job.rank})
        try:
            decided = publish(job, own)
        except StoreSilent as error:
            raise Outdated(str(error)) from error
        if decided["order"] != own.entry["order"]:
            raise Outdated(
                f"rank {decided['rank']} decided on another plan for "
                f"{contract.title}"
            )


def _contracts_of(job: Optional[Job]) -> set[str]:
    """The names of the contracts that this process made in this job."""
    return set() if job is None else job.state.setdefault("made", set())


def confirm(name: str) -> None:
    """Compares the contract `name` with those of the other ranks, the first
    time in this job. Raises RanksDiffer or RanksSilent."""
    job = current_job()
    if job is None:
        return
    confirmed = job.state.setdefault("confirmed", set())
    if name in confirmed:
        return
    # Other ranks go by what was decided: it holds for further runs, too.
    refused = job.state.setdefault("refused", {})
    if name in refused:
        raise refused[name]
    contract = _contracts.get(name)
    if contract is None:
        raise RanksDiffer(
            "code from a cache does not say what it launches: clear the cache"
        )
    try:
        _compare(job, contract)
    except (RanksDiffer, RanksSilent) as error:
        refused[name] = error
        raise
    confirmed.add(name)


def _compare(job: Job, contract: Contract) -> None:
    """Raises RanksDiffer or RanksSilent if the other ranks do not run what
    `contract` says, or if that cannot be known and matters."""
    try:
        _Confirmation(job, contract).run()
    except StoreSilent as error:
        if not contract.kept:
            raise RanksSilent(
                f"{contract.title} was scheduled, and whether all ranks run "
                f"the same schedule cannot be known: {error}"
            ) from error
        records.warn_once(f"ranks cannot compare what they launch: {error}")


def fail(job: Job, error: RuntimeError) -> RuntimeError:
    """Returns `error`, a RanksDiffer or RanksSilent, and leaves it for the ranks
    that wait."""
    with contextlib.suppress(StoreSilent):
        job.decide("poison", _text_of(error))
    return error


def _text_of(error: RuntimeError) -> str:
    return json.dumps([type(error).__name__, str(error)])


def _error_of(text: str) -> RuntimeError:
    name, message = json.loads(text)
    kinds = {kind.__name__: kind for kind in (RanksDiffer, RanksSilent)}
    return kinds[name](message)


class _Confirmation:
    """One graph's comparison."""

    def __init__(self, job: Job, contract: Contract):
        self._job = job
        self._contract = contract
        self._seconds = job.limit(contract.timeout)
        self._deadline = time.monotonic() + self._seconds

    def run(self) -> None:
        waiting = []
        of_groups = zip(self._contract.groups, self._contract.modules)
        for (name, ranks, size), modules in of_groups:
            if size == 1:
                continue
            base = f"run/{self._contract.launches}/{name}/"
            self._compare_settings(base)
            base += digest_of(self._contract.settings) + "/"
            self._compare_modules(base, modules)
            self._compare_launches(base)
            if self._count(base):
                waiting.append((base, ranks, size))
        for base, ranks, size in waiting:
            self._wait(base, ranks, size)

    # -- comparisons ---------------------------------------------------------

    def _compare_settings(self, base: str) -> None:
        ours = self._contract.settings
        first = self._find_other(base, "settings", ours)
        if first is None:
            return
        theirs = first["settings"]
        names = sorted(theirs.keys() | ours.keys())
        raise self._differ(
            first,
            "they were compiled with different settings: "
            + "; ".join(
                f"{name} is {theirs.get(name)} on rank {first['rank']} "
                f"and {ours.get(name)} on rank {self._job.rank}"
                for name in names
                if theirs.get(name) != ours.get(name)
            ),
        )

    def _compare_modules(self, base: str, ours: list[str]) -> None:
        """Launches may be alike that gather parameters of other modules."""
        first = self._find_other(base, "modules", ours)
        if first is None:
            return
        pairs = itertools.zip_longest(first["modules"], ours)
        theirs, own = next(pair for pair in pairs if pair[0] != pair[1])
        raise self._differ(
            first,
            f"they gather parameters of {theirs} on rank {first['rank']} and of "
            f"{own} on rank {self._job.rank}",
        )

    def _find_other(self, base: str, what: str, ours: Any) -> Optional[dict]:
        """The n-th different settings or modules of these launches are the same on
        all ranks: a job may run a graph with several. Returns those of the first
        rank if they are others."""
        seen = self._job.state.setdefault(what, {}).setdefault(base, [])
        if ours in seen:
            return None
        own = {"rank": self._job.rank, "title": self._contract.title, what: ours}
        first = json.loads(
            self._job.decide(f"{base}{what}/{len(seen)}", json.dumps(own))
        )
        if first[what] != ours:
            return first
        seen.append(ours)
        return None

    def _compare_launches(self, base: str) -> None:
        own = {
            "rank": self._job.rank,
            "title": self._contract.title,
            "sequence": self._contract.sequence,
            "lines": self._contract.lines,
        }
        references = self._job.state.setdefault("references", {})
        if base not in references:
            references[base] = json.loads(
                self._job.decide(base + "first", json.dumps(own))
            )
        first = references[base]
        if first["sequence"] != own["sequence"]:
            raise self._differ(
                first, _difference(first, own)
            )

    def _differ(self, first: dict, what: str) -> RanksDiffer:
        """Returns the error, and leaves its message for the others."""
        return fail(self._job, self._make_error(first, what))

    def _make_error(self, first: dict, what: str) -> RanksDiffer:
        return RanksDiffer(
            f"rank {first['rank']} and rank {self._job.rank} would launch "
            f"different collectives in {first['title']} and "
            f"{self._contract.title}: {what}"
        )

    # -- waiting -------------------------------------------------------------

    def _count(self, base: str) -> bool:
        """Adds this rank to those that will run the graph; returns whether
        it was not among them yet."""
        counted = self._job.state.setdefault("counted", set())
        with _lock:
            if base in counted:
                return False
            counted.add(base)
        self._job.set(f"{base}rank/{self._job.rank}", "1")
        self._job.add(base + "count", 1)
        return True

    def _wait(self, base: str, ranks: Optional[list], size: int) -> None:
        at = f"at/{self._job.rank}"
        pause, noticed = FIRST_LOOK, False
        started = time.monotonic()
        while self._job.add(base + "count", 0) < size:
            poison = self._job.get("poison")
            if poison is not None:
                raise _error_of(poison)
            if pause == FIRST_LOOK:
                self._job.set(at, json.dumps([self._contract.title, base]))
            now = time.monotonic()
            is_late = now > self._deadline
            if is_late or not noticed and now - started > NOTICE:
                noticed = True
                error = self._find_deadlock(base, ranks or [])
                if error is None and is_late:
                    error = RanksSilent(self._missing(base, ranks, size))
                if error is not None:
                    if self._verdict(base, _text_of(error)) == GO:
                        break
                    raise fail(self._job, error)
                records.log.warning(
                    "rank %d waits before %s for %s",
                    self._job.rank,
                    self._contract.title,
                    self._absent(base, ranks, size),
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
        self._job.set(at, "")
        verdict = self._verdict(base, GO)
        if verdict != GO:
            raise _error_of(verdict)

    def _find_deadlock(self, base: str, ranks: list) -> Optional[RanksDiffer]:
        """Returns that a rank waits for this one before another graph, if one does."""
        for rank in self._list_missing(base, ranks):
            title, other = self._find_place(rank) or ("", base)
            # Another group's graph may be run by another thread of this rank.
            if other == base or other.split("/")[2] != base.split("/")[2]:
                continue
            first = json.loads(self._job.get(f"{other}first"))
            first.update(rank=rank, title=title)
            own = {"rank": self._job.rank, "lines": self._contract.lines}
            return self._make_error(first, _difference(first, own))
        return None

    def _verdict(self, base: str, own: str) -> str:
        """Returns whether the group runs the graph: GO, or why it does not.
        The first rank that has seen all others, or waits no longer, decides
        for all."""
        return self._job.decide(base + "verdict", own)

    def _absent(self, base: str, ranks: Optional[list], size: int) -> str:
        """Returns which ranks are not there, and where they are instead."""
        if ranks is None:
            count = size - self._job.add(base + "count", 0)
            return f"{count} of {size} ranks"
        missing = self._list_missing(base, ranks)
        found = []
        for rank in missing[:NAMED]:
            place = self._find_place(rank)
            found.append(
                f"rank {rank}, which waits before {place[0]}"
                if place
                else f"rank {rank}"
            )
        if len(missing) > NAMED:
            found.append(f"{len(missing) - NAMED} more")
        return ", ".join(found)

    def _list_missing(self, base: str, ranks: list) -> list[int]:
        return [r for r in ranks if self._job.get(f"{base}rank/{r}") is None]

    def _find_place(self, rank: int) -> Optional[list[str]]:
        """Returns the title of the graph before which a rank waits, and its base."""
        text = self._job.get(f"at/{rank}")
        return json.loads(text) if text else None

    def _missing(self, base: str, ranks, size: int) -> str:
        return (
            f"rank {self._job.rank} waited {self._seconds:g} s "
            f"before {self._contract.title} for "
            f"{self._absent(base, ranks, size)}: either they run other "
            "collectives, or they take longer than the option 'timeout' "
            "allows, or they cannot reach the job's store"
        )


def _difference(first: dict, own: dict) -> str:
    theirs = json.loads(unpack(first["lines"]))
    ours = json.loads(unpack(own["lines"]))
    for place, (a, b) in enumerate(zip(theirs, ours)):
        if a != b:
            return (
                f"number {place} is '{a}' on rank {first['rank']} and '{b}' "
                f"on rank {own['rank']}"
            )
    return (
        f"there are {len(theirs)} on rank {first['rank']} and {len(ours)} on "
        f"rank {own['rank']}"
    )


#: Defines the operator that graphs call.
_library = torch.library.Library("commsched", "FRAGMENT")
_library.define("confirm(str contract) -> ()")
_library.impl("confirm", confirm, "CompositeExplicitAutograd")
torch.library.register_fake(
    "commsched::confirm", lambda contract: None, lib=_library
)
torch.fx.node.has_side_effect(torch.ops.commsched.confirm.default)


def insert(graph: torch.fx.Graph, contract: Contract) -> torch.fx.Node:
    """Makes `graph` confirm `contract` before it does anything else."""
    name = register(contract)
    _contracts_of(current_job()).add(name)
    first = next(n for n in graph.nodes if n.op != "placeholder")
    with graph.inserting_before(first):
        node = graph.call_function(
            torch.ops.commsched.confirm.default, (name,)
        )
    node.meta["val"] = None
    return node
