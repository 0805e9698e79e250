# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was done to each compiled graph, and why.

The same is in the log `commsched` (``TORCH_LOGS=commsched``, or logging's own
settings of the logger ``commsched.torch``; the level DEBUG adds the plans) and
in the structured trace that tlparse reads, which has the graphs before and
after too.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import logging
import threading
import warnings
from typing import Any, Optional

import torch

from commsched.torch import private
from commsched.torch.compiling.explanation import Explanation, show
from commsched.torch.compiling.publishing import pack, unpack
from commsched.torch.rewriting.plan import Plan

log = private.artifact_logger(
    "commsched.torch",
    "commsched",
    "How CommSched schedules the communication of each compiled graph.",
)


class CommSchedWarning(UserWarning):
    """A graph is not scheduled, and runs as it was."""


@dataclasses.dataclass
class Record:
    """One graph that came to the scheduler.

    kind:    "forward", "backward", "joint", "inference" or "step"; "whole" for
             what Dynamo captured, if no more is known of it.
    frame:   Dynamo's number of the frame and of its compilation, "0/0".
    codes:   the code objects that Dynamo compiled into the graph, the frame's
             own first.
    status:  "scheduled"; "unchanged", where there was nothing to do;
             "failed".
    reason:  why the graph was left as it was, or why this rank follows
             another without a plan of its own.
    before, after: the objects of commsched-report (docs/reference/report.md)
             for the graph and for its schedule, if there are any.
    decided: whose plan it is: "alone", "agreed" (this rank's, which others
             follow) or "followed" (another rank's; `after` is what this rank
             had planned).
    plan:    what was done to the graph.
    seconds: what importing, scheduling and rewriting took.
    cached:  the graph was compiled by another process, and its code came from a
             cache.
    notes:   further lines about the graph, of a joint one what it saves.
    parameters: weak references to those that Dynamo's graph reads, as far as they
             are known.
    """

    kind: str
    frame: Optional[str] = None
    codes: tuple = ()
    status: str = "scheduled"
    reason: str = ""
    before: Optional[dict] = None
    after: Optional[dict] = None
    decided: str = "alone"
    plan: Optional[Plan] = None
    seconds: float = 0.0
    cached: bool = False
    notes: list[str] = dataclasses.field(default_factory=list)
    parameters: tuple = ()

    @property
    def parameter_ids(self) -> frozenset[int]:
        """Of the parameters that still exist."""
        return frozenset(id(p) for ref in self.parameters if (p := ref()) is not None)

    def to_json(self) -> str:
        """Returns what of the record is the same wherever its code is used."""
        fields = {name: getattr(self, name) for name in _KEPT}
        plan = None if self.plan is None else self.plan.to_json()
        return json.dumps({**fields, "plan": plan}, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Record:
        """Returns the record of code that is loaded just now."""
        fields = json.loads(text)
        plan = fields.pop("plan")
        return Record(
            **fields,
            plan=None if plan is None else Plan.from_json(plan),
            frame=private.compile_frame(),
            codes=private.compiled_codes(),
            parameters=private.compiled_parameters(),
            cached=True,
        )

    @property
    def merged(self) -> list[list[str]]:
        """The names of the collectives of each bucket."""
        return [list(b.starts) for b in self.plan.buckets] if self.plan else []

    def __str__(self) -> str:
        return show(self)


_KEPT = ("kind", "status", "reason", "before", "after", "decided", "notes")

#: The latest records; a step that is compiled again and again has many.
_records: collections.deque[Record] = collections.deque(maxlen=1024)
_warned: set[str] = set()
#: What this process has made of its records for code in caches.
_carried: set[str] = set()
_lock = threading.Lock()


def add(record: Record) -> None:
    """Keeps `record` for :func:`explain`, and logs it."""
    with _lock:
        if record.frame and not record.parameters:  # Of a backward, made later.
            same = (r for r in reversed(_records) if r.frame == record.frame)
            record.parameters = next((r.parameters for r in same), ())
        _records.append(record)
    if log.isEnabledFor(logging.INFO):
        log.info("%s", record)
    if record.plan is not None and log.isEnabledFor(logging.DEBUG):
        log.debug("plan of this graph: %s", record.plan.to_json())
    private.trace_artifact(
        f"commsched_{record.kind}_report", lambda: str(record)
    )


def carried(kind: str) -> Optional[str]:
    """Returns the line of Python that ends code in a cache: whoever loads it has
    the record of the graph that is compiled just now, and of a forward that of how
    it was partitioned. None if there is no record."""
    frame = private.compile_frame()
    last = [r for r in reversed(records()) if r.frame == frame][:2]
    if not last or last[0].kind != kind:
        return None
    kept = last[1:] if [r.kind for r in last] == ["forward", "joint"] else []
    packed = pack(json.dumps([r.to_json() for r in (*kept, last[0])]))
    with _lock:
        _carried.add(packed)
    return f"__import__({__name__!r}, fromlist=['']).loaded({packed!r})"


def loaded(packed: str) -> None:
    """Adds the records of code that has come from a cache."""
    with _lock:
        if packed in _carried:  # This process has just compiled it.
            return
    for text in json.loads(unpack(packed)):
        add(Record.from_json(text))


def records() -> list[Record]:
    """Returns what was recorded so far, in the order of compilation."""
    with _lock:
        return list(_records)


def of(step: Any) -> list[Record]:
    """Returns the records of a function, or of a module and its parts: of graphs that
    read their parameters, or whose code they have. A graph that reads those of others
    may run for all instances of a class, and counts where nothing else has its code."""
    codes, own = private.codes_of(step), private.parameters_of(step)
    known = records()
    done = {code for r in known if own & r.parameter_ids for code in r.codes}
    return [
        r
        for r in known
        if own & r.parameter_ids
        or not codes.isdisjoint(r.codes)
        and (not (own and r.parameter_ids) or r.codes[0] in codes - done)
    ]


def latest() -> Optional[Record]:
    """Returns the last record, if there is one."""
    with _lock:
        return _records[-1] if _records else None


def reset() -> None:
    """Forgets all records, and which warnings were given."""
    with _lock:
        _records.clear()
        _warned.clear()
        _carried.clear()


def explain(step: Any = None) -> Explanation:
    """Prints what was done to each graph of `step`, and returns it.

    `step` is what `torch.compile` returned, or a module some of whose parts
    were compiled. Without it, all graphs of the process. A backward is compiled
    when it first runs, and is not there before.
    """
    explanation = Explanation(tuple(records() if step is None else of(step)))
    print(explanation)
    return explanation


def trace_graph(gm: torch.fx.GraphModule, kind: str, when: str) -> None:
    """Writes a graph to the structured trace as `commsched_KIND_WHEN`."""
    private.trace_artifact(
        f"commsched_{kind}_{when}",
        lambda: gm.print_readable(print_output=False),
    )


def trace_program(text: str, kind: str) -> None:
    """Writes the program of a graph, as MLIR, to the structured trace as
    `commsched_KIND_program`."""
    private.trace_artifact(f"commsched_{kind}_program", lambda: text)


def warn_once(message: str, cause: Optional[str] = None) -> None:
    """Warns of `message`, unless this process was warned of the same cause
    before (by default: of the same message)."""
    with _lock:
        if (cause or message) in _warned:
            return
        _warned.add(cause or message)
    if log.hasHandlers():  # Else logging would write to stderr, as below.
        log.warning(message)
    warnings.warn(message, CommSchedWarning, stacklevel=2)
