# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions in the job's store."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from collections.abc import Mapping
from typing import Any, Optional

from commsched.torch.compiling.store import Job, StoreSilent


@dataclasses.dataclass(frozen=True)
class Published:
    """A decision as the job's store has it.

    key:   what ranks that compile the same graph have in common.
    entry: who decided what: "rank", "frame" and "reason" for messages,
           "digest" of the plan, None for none, and "order", the digest of
           the launches in its order.
    body:  the packed plan, None for none.
    """

    key: str
    entry: Mapping[str, Any]
    body: Optional[str]


def publish(job: Job, own: Published) -> Mapping[str, Any]:
    """Publishes a decision, unless there is one, and returns the entry that
    holds. Raises StoreSilent.

    An entry never changes, so the store is asked once for each key."""
    known = job.state.setdefault("entries", {})
    if own.key not in known:
        text = job.get(own.key)
        if text is None:
            if own.body is not None:
                job.set("body/" + own.entry["digest"], own.body)
            text = job.decide(own.key, json.dumps(dict(own.entry)))
        known[own.key] = entry = json.loads(text)
        if entry["order"] == own.entry["order"] and own.body is not None:
            # Launches alike, so it is as good for this rank.
            bodies = job.state.setdefault("bodies", {})
            bodies[entry["digest"]] = own.body
    return known[own.key]


def body_of(job: Job, entry: Mapping[str, Any]) -> str:
    """Returns the packed plan of an entry. Raises StoreSilent."""
    known = job.state.setdefault("bodies", {})
    digest = entry["digest"]
    if digest not in known:
        body = job.get("body/" + digest)
        if body is None:
            raise StoreSilent("the job's store has lost a plan that it had")
        known[digest] = body
    return known[digest]


def pack(text: str) -> str:
    """Returns `text` compressed, in printable characters."""
    return base64.b85encode(zlib.compress(text.encode())).decode()


def unpack(packed: str) -> str:
    """Returns the text that :func:`pack` took."""
    return zlib.decompress(base64.b85decode(packed)).decode()
