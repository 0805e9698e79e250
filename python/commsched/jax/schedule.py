# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a lowered function to one whose collectives are scheduled."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import jax

from commsched import opt
from commsched.jax import private
from commsched.jax.options import Options
from commsched.jax.report import Report, with_collectives
from commsched.running import RunError, check_program, run_errors

#: The note of a module that has nothing to schedule.
NO_COLLECTIVES = (
    "it runs no collectives; those that XLA's partitioner inserts for "
    "shardings are made after CommSched, unlike those of jax.shard_map"
)


class ScheduleError(RuntimeError):
    """A lowered function cannot be scheduled; says why."""


@dataclasses.dataclass(frozen=True)
class Scheduled:
    """A lowered function whose collectives are scheduled.

    lowered: what to compile in place of the function that was given.
    report:  what was done.
    """

    lowered: jax.stages.Lowered
    report: Report

    def compile(self, *args: Any, **keywords: Any) -> jax.stages.Compiled:
        """As `jax.stages.Lowered.compile`."""
        return self.lowered.compile(*args, **keywords)

    def as_text(self, *args: Any, **keywords: Any) -> str:
        """As `jax.stages.Lowered.as_text`."""
        return self.lowered.as_text(*args, **keywords)

    def compiler_ir(self, *args: Any, **keywords: Any) -> Any:
        """As `jax.stages.Lowered.compiler_ir`."""
        return self.lowered.compiler_ir(*args, **keywords)


def schedule(lowered: jax.stages.Lowered, **options: Any) -> Scheduled:
    """Schedules the collectives of `jax.jit(f).lower(...)`.

    `options` are those of :class:`commsched.jax.Options`. A module without
    collectives comes back as it was, with a note in the report. Raises
    OptionsError for an option that there is not or a value that it does not
    take, and ScheduleError for a function that cannot be scheduled.
    """
    settings = Options.of(options)
    if not isinstance(lowered, jax.stages.Lowered):
        raise ScheduleError(
            "commsched.jax.schedule takes what jax.jit(f).lower(...) gives, "
            f"not {_kind(lowered)}"
        )
    start = time.perf_counter()
    try:
        check_program()
        module = private.module_of(lowered)
        text = module_text(module)
        with run_errors():
            scheduled = _schedule_text(text, settings)
        reports = scheduled.reports
        if not reports.after:
            note = Report({}, {}, time.perf_counter() - start, NO_COLLECTIVES)
            return Scheduled(lowered, note)
        result = private.parse_like(module, scheduled.text)
        result = private.with_module(lowered, result)
    except (RunError, private.UnknownJax) as error:
        raise ScheduleError(str(error)) from error
    except private.ParseError as error:
        raise ScheduleError(
            f"jaxlib does not read the scheduled module: {error}"
        ) from error
    seconds = time.perf_counter() - start
    report = Report(*reports, seconds)
    return Scheduled(result, report)


def module_text(module: Any, locations: bool = True) -> str:
    """Returns a module of JAX as commsched-opt reads it: in generic form, with
    locations, from which XLA makes names of operations."""
    return module.operation.get_asm(
        print_generic_op_form=True, enable_debug_info=locations
    )


def _schedule_text(text: str, options: Options) -> opt.ReportedText:
    """Schedules a StableHLO module in generic form; the reports are those of
    functions that communicate. Raises what :func:`commsched.opt.run_reports`
    does."""
    run = opt.run_reports(
        text,
        options.pipeline_flag(),
        first=options.read_flags(),
        last=(
            *options.write_flags(),
            "--mlir-print-op-generic",
            "--mlir-print-debuginfo",
        ),
        timeout=options.timeout,
    )
    before = with_collectives(run.reports.before)
    after = run.reports.after
    after = {name: after[name] for name in before if name in after}
    return opt.ReportedText(run.text, opt.Reports(before, after))


def _kind(value: Any) -> str:
    if isinstance(value, jax.stages.Wrapped):
        return "the jitted function itself"
    return f"an object of type {type(value).__name__}"
