# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was done to each compiled graph, and why."""

from __future__ import annotations

import dataclasses
import logging
import threading
import warnings
from typing import Any, Optional

#: All messages; TORCH_LOGS and logging's own settings both choose from it.
log = logging.getLogger("commsched.torch")


class CommSchedWarning(UserWarning):
    """A graph is not scheduled, and runs as it was."""


@dataclasses.dataclass
class Record:
    """One graph that came to the scheduler.

    kind:    "forward", "backward", "joint" or "inference".
    frame:   Dynamo's number of the frame and of its compilation, "0/0".
    code:    the code object that was compiled, if Dynamo did.
    status:  "scheduled"; "unchanged", if it has no collectives; "failed".
    reason:  why the graph was left as it was.
    before, after: the reports (docs/reference/report.md) of the graph and of
             its schedule, if there are any.
    merged:  the names of the collectives of each bucket.
    decided: "alone", "agreed" or "followed": whose plan it is.
    """

    kind: str
    frame: Optional[str] = None
    code: Optional[Any] = None
    status: str = "scheduled"
    reason: str = ""
    before: Optional[dict] = None
    after: Optional[dict] = None
    merged: list[list[str]] = dataclasses.field(default_factory=list)
    decided: str = "alone"


_records: list[Record] = []
_warned: set[str] = set()
_lock = threading.Lock()


def add(record: Record) -> None:
    """Keeps `record` for :func:`explain`."""
    with _lock:
        _records.append(record)


def records() -> list[Record]:
    """Returns what was recorded so far, in the order of compilation."""
    with _lock:
        return list(_records)


def reset() -> None:
    """Forgets all records and which warnings were given."""
    with _lock:
        _records.clear()
        _warned.clear()


def warn_once(message: str) -> None:
    """Warns of `message`, the first time only in this process."""
    with _lock:
        if message in _warned:
            return
        _warned.add(message)
    log.warning(message)
    warnings.warn(message, CommSchedWarning, stacklevel=3)
