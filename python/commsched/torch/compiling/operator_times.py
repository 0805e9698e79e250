# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of operators on the processors at hand, which grow with the graphs.

All ranks begin with the operators of one table. Where a graph has others, the
ranks that run it measure these together when they compile it, as at the same
time in a step, and the slowest rank counts. They are added to the table's file
for later jobs.

No rank waits long for another one: one that knows all operators of its graph
says so and goes on, and if a rank does not come, nothing more is measured in
the job.
"""

from __future__ import annotations

import collections
import json
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import fx

from commsched.output import write_members
from commsched.torch.compiling import records
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling.meeting import exchange, give, in_new_thread
from commsched.torch.compiling.store import Job
from commsched.torch.importer.marks import region_of
from commsched.torch.importer.types import has_value, raw_value
from commsched.torch.measuring.operators import is_timed, time_calls
from commsched.torch.measuring.profile import signature
from commsched.torch.private.names import tree_leaves

#: Seconds that a rank waits for others at one graph, and that it measures
#: operators for in one job.
MEETING, MEASURING = 30.0, 5.0

#: Operators that Inductor calls as they are, beside attention.
_CALLED = frozenset(
    ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward")
)

_OFF = "operators/off"


class OperatorTimes:
    """The times of operators that a job knows, by signature.

    `known` are all so far; `path` is the file that keeps them for later jobs.
    """

    def __init__(
        self, job: Job, path: Path, times: Mapping[str, int], timeout: float
    ):
        self._job = job
        self._path = path
        self.known = dict(times)
        self._timeout = min(timeout, MEETING)
        self._seconds = MEASURING
        self._compiled: collections.Counter[str] = collections.Counter()
        self._tried: set[str] = set()
        self._off = False

    def of(self, gm: fx.GraphModule, inductor: bool) -> dict[str, int]:
        """Returns the times of the nodes of `gm` that are known, by name. With
        `inductor`, which compiles the graph, of those that stay as they are."""
        found = {}
        for node in gm.graph.nodes:
            text = signature(node)
            if text in self.known and _stays(node, inductor):
                found[node.name] = self.known[text]
        return found

    def measure(self, gm: fx.GraphModule, kind: str, inductor: bool) -> None:
        """Measures what is not known of `gm`, with the other ranks that run the
        graph, which call this alike. Never raises."""
        if self._off:
            return
        try:
            launches = Launches.of(gm.graph)
            if not launches.items or launches.asymmetric:
                return
            digest = launches.digest(kind)
            self._compiled[digest] += 1
            key = f"operators/{digest}/{self._compiled[digest]}/"
            self._measure(key, launches.peers, self._unknown(gm, inductor))
        except Exception as error:  # Whatever the store or the graph raises.
            self._give_up(str(error) or repr(error))

    def _measure(self, key: str, peers, calls: Mapping[str, fx.Node]) -> None:
        job = self._job
        if not calls or self._seconds <= 0:
            give(job, key + "calls", 0, peers)
            give(job, key + "times", {}, peers)
            return

        def meet(what: str, mine, seconds: float) -> list:
            deadline = time.monotonic() + seconds
            return exchange(
                job, key + what, mine, peers, deadline, lambda: job.get(_OFF)
            )

        meet("calls", len(calls), self._timeout)
        started = time.monotonic()
        mine = in_new_thread(lambda: time_calls(calls.values(), self._seconds))
        self._seconds -= time.monotonic() - started
        self._tried.update(calls)
        merged: dict[str, int] = {}
        for times in meet("times", mine, self._timeout + MEASURING):
            for text, nanoseconds in times.items():
                merged[text] = max(merged.get(text, 0), nanoseconds)
        self.known.update(merged)
        self._keep(merged)

    def _unknown(
        self, gm: fx.GraphModule, inductor: bool
    ) -> dict[str, fx.Node]:
        """Returns one call for each signature that is not known, those first
        that take most: products, and then by bytes."""
        calls: dict[str, fx.Node] = {}
        counts: collections.Counter[str] = collections.Counter()
        for node in gm.graph.nodes:
            if not is_timed(node) or not _stays(node, inductor):
                continue
            text = signature(node)
            if text not in self.known and text not in self._tried:
                calls.setdefault(text, node)
                counts[text] += 1

        def rank(text: str) -> tuple:
            size = counts[text] * _bytes_of(calls[text])
            return not _is_called(calls[text]), -size, text

        return {text: calls[text] for text in sorted(calls, key=rank)}

    def _give_up(self, reason: str) -> None:
        self._off = True
        records.warn_once(
            f"CommSched measures no more operators in this job: {reason}; "
            "what was not measured has the estimates of the machine's table"
        )
        try:
            self._job.set(_OFF, f"rank {self._job.rank} waits no more")
        except Exception:  # Others end by themselves.
            pass

    def _keep(self, times: Mapping[str, int]) -> None:
        """Adds `times` to the file; later jobs measure what it lacks."""
        try:
            members = json.loads(self._path.read_text("utf-8"))
            if isinstance(members, list):
                members = {"rows": members}
            known = {
                entry["operator"]: entry["time_ns"]
                for entry in members.get("operators", ())
            }
            members["operators"] = [
                {"operator": text, "time_ns": nanoseconds}
                for text, nanoseconds in sorted({**times, **known}.items())
            ]
            write_members(self._path, members)
        except (OSError, ValueError):
            pass


def _stays(node: fx.Node, inductor: bool) -> bool:
    """Whether the node runs as the kernel that was measured: Inductor fuses
    most others, also in the regions that it compiles of other graphs."""
    if inductor or region_of(node) is not None:
        return _is_called(node)
    return True


def _is_called(node: fx.Node) -> bool:
    name = node.target.overloadpacket.__name__
    return name in _CALLED or name.startswith("_scaled_dot_product_")


def _bytes_of(node: fx.Node) -> int:
    """The bytes that a call reads and writes; 0 for unknown sizes."""
    values = [raw_value(n) for n in (node, *node.all_input_nodes) if has_value(n)]
    return sum(
        leaf.numel() * leaf.itemsize
        for leaf in tree_leaves(values)
        if isinstance(leaf, torch.Tensor)
        and all(isinstance(size, int) for size in leaf.shape)
    )
