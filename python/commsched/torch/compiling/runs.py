# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of commsched-opt on modules, each made once."""

from __future__ import annotations

import collections
import hashlib
import threading

from commsched import opt
from commsched.running import check_program, run_errors
from commsched.torch.compiling.options import Options

#: Runs that are kept: graphs of equal blocks are compiled one by one.
_KEPT = 16

#: Seconds after which commsched-opt is ended.
_LIMIT = 600.0


_runs: collections.OrderedDict[str, opt.ProgramRun] = collections.OrderedDict()
_lock = threading.Lock()


def schedule_text(
    text: str, options: Options, fused: bool = False
) -> opt.ProgramRun:
    """Schedules a module's text as `options` say, and returns the programs
    and the reports before and after. With `fused`, operations are priced as a
    compiler that fuses them runs them.

    Equal text with equal options is scheduled once in a process. Raises
    RunError.
    """
    flags = options.pipeline_flags()
    if not fused:
        return _once("schedule", text, options, flags, reports=True)
    first = ("--commsched-assume-fusion",)
    return _once("schedule fused", text, options, flags, True, first)


def estimate_text(text: str, options: Options) -> opt.ProgramRun:
    """As `schedule_text`, but only writes on each operation what it takes, and
    makes no reports."""
    return _once("estimate", text, options, ("--commsched-estimate-runtime",))


def partition_text(
    text: str,
    options: Options,
    passes: tuple[str, ...],
    following: tuple[str, ...] = (),
) -> opt.ProgramRun:
    """As `estimate_text`, for the passes that partition; returns the program
    after them, before and after the `following` passes, with reports if the
    budget is in bytes."""
    what = " ".join(("partition", *passes, "followed by", *following))
    reports = options.fits_memory
    return _once(what, text, options, following, reports, first=passes)


def reset() -> None:
    with _lock:
        _runs.clear()


def _once(
    what: str, text: str, options: Options, passes, reports=False, first=()
) -> opt.ProgramRun:
    check_program()
    digest = hashlib.sha256(f"{what} {options.fingerprint()} {text}".encode())
    key = digest.hexdigest()
    with _lock:
        if key in _runs:
            _runs.move_to_end(key)
            return _runs[key]
    first = (*options.cost_flags(), *first)
    with run_errors():
        run = opt.run_programs(
            text, *passes, first=first, reports=reports, timeout=_LIMIT
        )
    with _lock:
        _runs[key] = run
        while len(_runs) > _KEPT:
            _runs.popitem(last=False)
    return run
