# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks decide alike which collectives a backward launches again.

Sizes decide what is saved, and ranks may differ in them: in the rows that
they get, and in shards that are not of one size. What they save may differ,
but not what they launch. As for orders (:mod:`agreement`), the first rank
publishes its partition, and none waits for another: ranks with the same graph
follow it, and others repeat the same collectives, launch all in the same order,
and save what fits their own sizes.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Optional

from torch import fx

from commsched.torch.compiling.launches import Launches, digest_of
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.publishing import (
    Published,
    body_of,
    pack,
    publish,
    unpack,
)
from commsched.torch.compiling.store import LONGEST, StoreSilent, current_job
from commsched.torch.importer.targets import target_name
from commsched.torch.rewriting.apply import apply_plan
from commsched.torch.rewriting.errors import PlanError
from commsched.torch.rewriting.halves import forward_nodes
from commsched.torch.rewriting.partition import Partition
from commsched.torch.rewriting.plan import Plan


@dataclasses.dataclass(frozen=True)
class Agreed:
    """What a rank does to its joint graph.

    how:       "alone" if there is nobody to agree with, "agreed" if its own
               partition is kept, "followed" if it is another rank's.
    partition: the partition to follow instead of its own, which another rank
               made for the same graph.
    launches:  the collectives of the other rank's backward, in order; None if
               it is not another rank's partition.
    reason:    why no rank partitions; "" if they do.
    """

    how: str
    partition: Optional[Partition] = None
    launches: Optional[tuple[str, ...]] = None
    reason: str = ""


def repeated_launches(
    joint: fx.Graph, names: Iterable[str]
) -> tuple[str, ...]:
    """Returns those among the collectives of a backward that could be in the
    forward."""
    known = {node.name for node in forward_nodes(joint)}
    return tuple(name for name in names if name in known)


def launch_in_order(backward: fx.GraphModule, names: Sequence[str]) -> None:
    """Moves the collectives of `backward` into the order `names`. Raises
    PlanError if they are others, or cannot be launched in that order."""
    found = Launches.of(backward.graph).names
    if found == tuple(names):
        return
    if sorted(found) == sorted(names):
        apply_plan(backward, Plan(order=tuple(names)))
        found = Launches.of(backward.graph).names
    for mine, theirs in itertools.zip_longest(found, names):
        if mine != theirs:
            raise PlanError(
                f"the backward launches '{mine}' where that of the rank that "
                f"decided launches '{theirs}'"
            )


def agree_on_partition(
    joint: fx.Graph,
    frame: Optional[str],
    own: Optional[Partition],
    backward: tuple[str, ...],
    options: Options,
    reason: str = "",
) -> Agreed:
    """Returns what this rank does to `joint`.

    `own` is its partition and `backward` the collectives of its backward, in
    order; None with the `reason` that there is none.
    """
    launches = Launches.of(joint)
    job = current_job()
    if job is None or not options.agree or not launches.items:
        return Agreed("alone", reason=reason)
    job.limit(options.timeout)
    key = "partition/" + digest_of(
        [launches.digest("joint"), options.settings()]
    )
    graph = _digest(joint)
    text = None
    if own is not None:
        text = json.dumps([own.to_json(), list(backward), graph])
    body = None if text is None else pack(text)
    if body is not None and len(body) > LONGEST:
        body = text = None
        reason = f"the partition is longer than {LONGEST} bytes"
    mine = {
        "rank": job.rank,
        "frame": frame,
        "digest": None if text is None else digest_of(text),
        "order": digest_of(list(backward)),
        "reason": reason,
    }
    partitions = job.state.setdefault("partitions", {})
    try:
        partitions[frame] = Published(key, mine, body)
        decided = publish(job, partitions[frame])
        if decided["digest"] == mine["digest"]:
            return Agreed("agreed", reason=reason)
        if decided["digest"] is None:
            partitions[frame] = Published(key, decided, None)
            reason = f"rank {decided['rank']} decided so: {decided['reason']}"
            return Agreed("followed", reason=reason)
        body = body_of(job, decided)
    except StoreSilent as error:
        reason = f"{error}, and without it ranks cannot agree on a partition"
        return Agreed("alone", reason=reason)
    theirs, names, their_graph = json.loads(unpack(body))
    if their_graph != graph and own and decided["order"] == mine["order"]:
        return Agreed("agreed")
    partitions[frame] = Published(key, decided, body)
    partition = None
    if their_graph == graph:
        partition = Partition.from_json(theirs)
    return Agreed("followed", partition, tuple(names))


def _digest(joint: fx.Graph) -> str:
    """Returns what is equal for graphs that differ in sizes at most."""
    return digest_of(
        [
            [node.name, target_name(node.target), *_inputs(node)]
            for node in joint.nodes
        ]
    )


def _inputs(node: fx.Node) -> list[str]:
    return [source.name for source in node.all_input_nodes]


def partition_of(frame: Optional[str]) -> Optional[Published]:
    """Returns what was published last for the joint graph of `frame`."""
    job = current_job()
    return job and job.state.get("partitions", {}).get(frame)
