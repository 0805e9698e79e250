# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: what a schedule changes, by the names of nodes and without sizes.

A plan made for the graph of one rank can be applied to that of another, whose
sizes differ, and ranks can compare theirs.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Callable, Container, TypeVar, Union

from commsched.torch.rewriting.errors import PlanError

KINDS = ("all_gather", "reduce_scatter", "all_reduce")
MODES = ("copy", "coalesced")
STAGES = ("copy_in", "start", "wait", "copy_out")

# A node's name, or a bucket's number and one of STAGES.
Entry = Union[str, tuple]

_VERSION = 1

_T = TypeVar("_T")


@dataclass(frozen=True)
class Bucket:
    """Collectives that become one.

    kind:   "all_gather", "reduce_scatter" or "all_reduce".
    mode:   "copy": packed into one buffer; "coalesced": one launch with the
            members' tensors side by side.
    starts, waits: the members' nodes, in the order of the bucket.
    bytes:  members have different element types and travel as bytes.
    absorbed_casts: by member, the cast whose work the copy-in does, or "".
             Casts of all members to a larger type become one of what is
             packed; others stay, directly before the copy-in.
    """

    kind: str
    mode: str
    starts: tuple
    waits: tuple
    bytes: bool = False
    absorbed_casts: tuple = ()


@dataclass(frozen=True)
class Plan:
    """What to do to a graph.

    order:     the order of execution: nodes' names, and stages of buckets.
    buckets:   the collectives that become one.
    replacements: pairs (name, other): uses of the first node's value become
               uses of the second's; of waits, of all that their collectives
               deliver.
    removed:   nodes that fill or resize the storage of an unsharded parameter
               and are left out; uses of the parameter become uses of what was
               copied into it.
    into:      (gather, name, number): the gather writes into that result of
               the other node.
    unchanged: the order is that of the graph that it was made from.
    """

    order: tuple = ()
    buckets: tuple = ()
    replacements: tuple = ()
    removed: tuple = ()
    into: tuple = ()
    unchanged: bool = False

    @property
    def is_identity(self) -> bool:
        """Whether there is nothing to do."""
        return self.unchanged and not (
            self.buckets or self.replacements or self.removed or self.into
        )

    def without_bucket(self, number: int) -> Plan:
        """Returns the plan with the members of a bucket by themselves, started and
        waited for where the bucket is."""
        order: list[Entry] = []
        for entry in self.order:
            if isinstance(entry, str):
                order.append(entry)
            elif entry[0] != number:
                order.append((entry[0] - (entry[0] > number), entry[1]))
            elif entry[1] == "start":
                order.extend(self.buckets[number].starts)
            elif entry[1] == "wait":
                order.extend(self.buckets[number].waits)
        buckets = list(self.buckets)
        del buckets[number]
        return dataclasses.replace(
            self, order=tuple(order), buckets=tuple(buckets), unchanged=False
        )

    def order_only(self, names: Container[str]) -> Plan:
        """Returns the plan with the order of `names` and of buckets alone, whose
        members keep their casts."""
        order = [e for e in self.order if not isinstance(e, str) or e in names]
        buckets = [dataclasses.replace(b, absorbed_casts=()) for b in self.buckets]
        return dataclasses.replace(
            self, order=tuple(order), buckets=tuple(buckets), unchanged=False
        )

    def to_json(self) -> str:
        """Returns the plan as text; equal plans give equal text."""
        return json.dumps(
            {
                "version": _VERSION,
                "unchanged": self.unchanged,
                "order": [
                    entry
                    if isinstance(entry, str)
                    else {"bucket": entry[0], "stage": entry[1]}
                    for entry in self.order
                ],
                "buckets": [dataclasses.asdict(b) for b in self.buckets],
                "replacements": self.replacements,
                "removed": self.removed,
                "into": self.into,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str) -> "Plan":
        """Reads what `to_json` wrote; raises PlanError for anything else."""
        return read_versioned(text, "plan", _VERSION, _plan)


def read_versioned(
    text: str, what: str, version: int, build: Callable[[Any], _T]
) -> _T:
    """Returns what `build` makes of the JSON object `text`; raises PlanError
    if that is of another version, or not a `what` at all."""
    try:
        data = json.loads(text)
        if data["version"] != version:
            raise PlanError(
                f"a {what} of version {data['version']}, but this is "
                f"version {version}: run the same CommSched everywhere"
            )
        return build(data)
    except PlanError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"not a {what}: {error}") from error


def _plan(data: Any) -> Plan:
    return Plan(
        tuple(_entry(entry) for entry in data["order"]),
        tuple(_bucket(bucket) for bucket in data["buckets"]),
        tuple((a, b) for a, b in data["replacements"]),
        tuple(data["removed"]),
        tuple((a, b, int(n)) for a, b, n in data["into"]),
        bool(data["unchanged"]),
    )


def _entry(data: Any) -> Entry:
    if isinstance(data, str):
        return data
    if data["stage"] not in STAGES:
        raise PlanError(f"unknown stage '{data['stage']}' of a bucket")
    return (int(data["bucket"]), data["stage"])


def _bucket(data: Any) -> Bucket:
    if data["kind"] not in KINDS or data["mode"] not in MODES:
        raise PlanError(
            f"unknown kind '{data['kind']}' or mode '{data['mode']}' of a "
            "bucket"
        )
    return Bucket(
        data["kind"],
        data["mode"],
        tuple(data["starts"]),
        tuple(data["waits"]),
        bool(data["bytes"]),
        tuple(data["absorbed_casts"]),
    )
