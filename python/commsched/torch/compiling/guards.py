# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens where PyTorch has changed: nothing is scheduled, with one warning,
and steps run as without this package."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Optional

import commsched
import torch

from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.confirmation import (
    RanksDiffer,
    RanksSilent,
    fail,
)
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.store import Job, StoreSilent, current_job

#: The groups of names that every way in needs.
COMMON = ("graphs", "compiling", "ranks")


class ScheduleError(RuntimeError):
    """A graph could not be scheduled, and `strict` is set."""


def find_obstacle(options: Options, *groups: str) -> str:
    """Returns why nothing can be scheduled with this PyTorch, and warns of it once;
    "" if nothing is in the way.

    `groups` are those of `private.names` that are needed beside COMMON. With
    `options.strict` an obstacle is a ScheduleError. Raises RanksDiffer if another
    rank runs another version, or schedules where this one does not.
    """
    missing = private.names.missing(*COMMON, *groups)
    if options.agree and private.names.missing("ranks") is None:
        _compare(current_job(), groups, missing, options.timeout)
    if missing is None:
        return ""
    message = (
        f"PyTorch {torch.__version__} has other interfaces than CommSched "
        f"{commsched.__version__} uses, and nothing is scheduled: {missing}"
    )
    if options.strict:
        raise ScheduleError(message)
    records.warn_once(message, cause="names of PyTorch")
    return missing


def _compare(
    job: Optional[Job],
    groups: tuple,
    missing: Optional[str],
    timeout: Optional[float],
) -> None:
    """Compares what decides whether graphs are scheduled at all with the rank that
    was first to ask: where one rank schedules and another does not, neither would
    know why the other does not come."""
    key = " ".join(("versions", *groups))
    if job is None or key in job.state:
        return
    own = {
        "rank": job.rank,
        "PyTorch": torch.__version__,
        "CommSched": commsched.__version__,
        "what is missing": missing or "nothing",
    }
    job.limit(timeout)
    try:
        first = json.loads(job.decide(key, json.dumps(own)))
    except StoreSilent:
        return  # Without it nothing is scheduled, and that is said elsewhere.
    differences = [
        f"{name} is {first[name]} on rank {first['rank']} and {own[name]} on "
        f"rank {job.rank}"
        for name in own
        if name != "rank" and first[name] != own[name]
    ]
    if differences:
        message = f"ranks run different versions: {'; '.join(differences)}"
        raise fail(job, RanksDiffer(message))
    job.state[key] = True


@contextlib.contextmanager
def guarded(what: str, options: Options) -> Iterator[None]:
    """Ends the block on an exception, with a warning that CommSched does not do
    `what`. With `options.strict` it is a ScheduleError."""
    try:
        yield
    except (RanksDiffer, RanksSilent, ScheduleError):
        raise
    except Exception as error:
        message = f"CommSched does not {what}: {type(error).__name__}: {error}"
        if options.strict:
            raise ScheduleError(message) from error
        records.warn_once(message)
