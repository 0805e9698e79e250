# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All ranks follow one plan, and none waits for another while it compiles.

The first rank that has a plan for a graph publishes it in the job's store by
compare-and-set; the others find it there and follow it. What was decided for
a graph is never changed: a rank that compiles the graph again, or for the
first time, at any later time, gets the same. A rank that has no plan, since
it cannot read its graph or has no commsched-opt, takes part: it follows, or,
as the first, decides that the graph keeps its order everywhere.

Graphs correspond if their launches do (:mod:`launches`) and if the options
are equal. Neither sizes nor Dynamo's number of the frame take part: a rank
may compile a frame that the others do not have, and then the numbers differ.
Frames with equal launches share one plan.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Optional

import torch

from commsched.torch.compiling import records
from commsched.torch.compiling.confirmation import (
    Contract,
    insert,
)
from commsched.torch.compiling.launches import Launches, digest_of
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.partition_agreement import partition_of
from commsched.torch.compiling.publishing import (
    Published,
    body_of,
    pack,
    publish,
    unpack,
)
from commsched.torch.compiling.store import (
    LONGEST,
    Job,
    StoreSilent,
    current_job,
)
from commsched.torch.rewriting.plan import Plan


@dataclasses.dataclass(frozen=True)
class Decision:
    """What all ranks do to a graph.

    plan:   the plan to apply, or None if the graph keeps its order.
    how:    "alone" if there is nobody to agree with, "agreed" if this rank's
            own plan is kept, "followed" if it is another rank's.
    reason: why the graph keeps its order.
    launches: the graph's launches before the plan is applied.
    published: what of this is in the job's store, if there is one.
    transient: what is done to the graph is not what this and later jobs
               decide, since the store did not answer, or since the plan
               does not fit the graph.
    """

    plan: Optional[Plan]
    how: str
    reason: str
    launches: Launches
    published: Optional[Published] = None
    transient: bool = False


def agree(
    launches: Launches,
    kind: str,
    frame: Optional[str],
    plan: Optional[Plan],
    options: Options,
    reason: str = "",
) -> Decision:
    """Returns what all ranks do to a graph that has these `launches`.

    `plan` is this rank's own, or None with the `reason` that it has none;
    `frame` is named in messages. The time is bounded by a few requests to
    the job's store; no other rank has to do anything. If the store does not
    answer, a warning is given once and the graph keeps its order; the ranks
    compare what they run before the first run (:mod:`confirmation`).
    """
    job = current_job()
    if job is None or not options.agree or not launches.items:
        return Decision(plan, "alone", reason, launches)
    if launches.asymmetric:
        return _alone(plan, launches, reason)
    job.limit(options.timeout)
    key = "plan/" + digest_of([launches.digest(kind), options.settings()])
    try:
        return _agree(job, key, launches, frame, plan, reason)
    except StoreSilent as error:
        reason = f"{error}, and without it ranks cannot agree on a plan"
        records.warn_once(f"CommSched leaves graphs as they are: {reason}")
        return Decision(None, "alone", reason, launches, transient=True)


def _alone(plan: Optional[Plan], launches: Launches, reason) -> Decision:
    """Returns what to do to a graph in which each rank has another part: its
    plan, as long as that leaves the launches in order."""
    in_order = [[name] for name in launches.names]
    if plan is not None and order_of(plan, launches) != in_order:
        plan = None
        reason = (
            f"ranks have different parts in '{launches.asymmetric[0]}', so "
            "that they cannot agree on another order of launches"
        )
    return Decision(plan, "alone", reason, launches)


def _agree(job: Job, key: str, launches, frame, plan, reason) -> Decision:
    body = None if plan is None else pack(plan.to_json())
    if body is not None and len(body) > LONGEST:
        plan, body = None, None
        reason = f"the plan is longer than the {LONGEST} bytes of a message"
    own = Published(key, _entry(job, frame, plan, launches, reason), body)
    decided = publish(job, own)
    if decided["rank"] != job.rank and decided["digest"] is None:
        reason = (
            f"rank {decided['rank']} decided so for its graph "
            f"{decided['frame']}: {decided['reason']}"
        )
    # Ranks have to launch alike. Whatever else the plans differ in is up to
    # the rank, and its own plan fits its own graph best.
    if decided["order"] == own.entry["order"]:
        return Decision(plan, "agreed", reason, launches, own)
    if decided["digest"] is None:
        theirs = Published(key, decided, None)
        return Decision(None, "followed", reason, launches, theirs)
    body = body_of(job, decided)
    theirs = Published(key, decided, body)
    plan = Plan.from_json(unpack(body))
    return Decision(plan, "followed", "", launches, theirs)


def _entry(job: Job, frame, plan, launches, reason) -> dict:
    digest = order = None
    if plan is not None:
        digest = digest_of(plan.to_json())
        order = digest_of(
            [
                order_of(plan, launches),
                [(b.kind, b.mode, b.bytes) for b in plan.buckets],
                plan.replacements,
            ]
        )
    return {
        "rank": job.rank,
        "frame": frame,
        "digest": digest,
        "order": order,
        "reason": reason,
    }


def order_of(plan: Plan, launches: Launches) -> list[list[str]]:
    """Returns the launches in the order of `plan`, those of one bucket
    together."""
    names = set(launches.names)
    order = []
    for entry in plan.order:
        if isinstance(entry, str):
            if entry in names:
                order.append([entry])
        elif entry[1] == "start":
            order.append(list(plan.buckets[entry[0]].starts))
    return order


def seal(
    gm: torch.fx.GraphModule,
    kind: str,
    frame: Optional[str],
    decision: Decision,
    options: Options,
) -> None:
    """Makes `gm`, to which `decision` was applied, compare its launches with
    those of the other ranks before it first runs; recompiling it is left to
    the caller."""
    before = decision.launches
    if decision.published is None and not decision.transient:
        return
    plan = decision.plan
    after = Launches.of(gm.graph, before.groups)
    merged = () if plan is None else [b.starts for b in plan.buckets]
    lines = after.sequence(merged)
    insert(
        gm.graph,
        Contract(
            kind=kind,
            frame=frame,
            launches=before.digest(kind),
            settings=options.settings(),
            sequence=digest_of(lines),
            lines=pack(json.dumps(lines)),
            kept=lines == before.sequence(),
            groups=[[g.name, g.ranks, g.size] for g in before.groups],
            modules=[list(names) for names in before.modules],
            timeout=options.timeout,
            published=None if decision.transient else decision.published,
            joint=partition_of(frame),
        ),
    )
