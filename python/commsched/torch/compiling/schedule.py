# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one entry that all ways in call: schedules a graph in place."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from typing import Optional

import commsched
import torch

from commsched import ir
from commsched.opt import ProgramRun
from commsched.running import RunError
from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.agreement import agree, seal
from commsched.torch.compiling.guards import ScheduleError, find_obstacle
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling.memory import beside
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.partition_facts import beside_bytes
from commsched.torch.compiling.prices import Prices
from commsched.torch.compiling.records import Record
from commsched.torch.compiling.runs import schedule_text
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.graphs import GraphSpec, ImportOptions
from commsched.torch.importer.graphs import import_graphs
from commsched.torch.importer.inline import inlined
from commsched.torch.importer.ordering import put_in_order
from commsched.torch.importer.targets import (
    communicates,
    communication_inside,
    is_unknown_collective,
    is_wait,
    target_name,
    transfer_kind,
)
from commsched.torch.measuring.profile import (
    ProfileError,
    operator_runtimes,
    read_operators,
)
from commsched.torch.private import gloo
from commsched.torch.rewriting import (
    Limit,
    Plan,
    PlanError,
    RewriteError,
    Trial,
    fit_plan,
    follow_plan,
    limit_in_flight,
    make_plan,
)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Puts off Python's collection of circular garbage, which would walk the
    whole graph again and again and take half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def recorded(kind: str, options: Options, otherwise: str) -> Iterator[Record]:
    """Gives the record of what is done to a graph of `kind`, and keeps it
    with the time that it took.

    An exception ends the block with one warning for each cause: CommSched
    leaves `otherwise`. With `options.strict` it is a ScheduleError.
    """
    record = Record(
        kind,
        private.compile_frame(),
        private.compiled_codes(),
        parameters=private.compiled_parameters(),
    )
    started = time.perf_counter()
    try:
        yield record
    except Exception as error:
        record.status, record.reason = "failed", describe(error)
        message = f"CommSched leaves {otherwise}: {record.reason}"
        if options.strict:
            raise ScheduleError(message) from error
        records.warn_once(message, cause=record.reason)
    finally:
        record.seconds = time.perf_counter() - started
        records.add(record)


@_without_collection()
def optimize_graph(
    gm: torch.fx.GraphModule,
    kind: str,
    options: Options,
    roles: Optional[Mapping[str, Optional[str]]] = None,
    forward: Optional[torch.fx.GraphModule] = None,
    *,
    recompile: bool = True,
) -> bool:
    """Rewrites `gm` in place into CommSched's schedule of it.

    `kind` is one of the importer's KINDS; `roles` and `forward` are those of
    GraphSpec. The object `gm.graph` stays the same. Returns whether the graph
    was rewritten: one without collectives is left alone, and so is, with one
    warning for each cause, one that cannot be scheduled; with
    `options.strict` that raises ScheduleError. Without `recompile` the code
    of `gm` is left to the caller.
    """
    obstacle = find_obstacle(options)
    if obstacle:
        records.add(Record(kind, status="failed", reason=obstacle))
        return False
    with recorded(kind, options, f"a {kind} graph as it was") as record:
        if not has_collectives(gm):
            record.status, record.reason = "unchanged", "no collectives"
            return False
        _check_torch()
        put_in_order(gm.graph)
        records.trace_graph(gm, kind, "before")
        plan, error = _plan(gm, kind, options, roles, forward, record)
        try:
            _decide(gm, kind, options, roles or {}, plan, error, record)
        finally:
            if recompile:
                gm.recompile()
        records.trace_graph(gm, kind, "after")
        return True
    return False


def has_collectives(gm: torch.fx.GraphModule) -> bool:
    """Returns whether `gm` calls a collective or a transfer from or to the
    host, itself or in a graph that it calls."""
    return any(
        (communicates(node.target) and not is_wait(node.target))
        or transfer_kind(node.target) is not None
        or communication_inside(node) is not None
        for node in gm.graph.nodes
        if node.op == "call_function"
    )


def _plan(
    gm, kind, options, roles, forward, record
) -> tuple[Optional[Plan], Optional[Exception]]:
    """Returns this rank's plan, or None and why it has none."""
    try:
        spec = GraphSpec(kind, gm, kind, roles or {}, forward)
        measure_operators(options, gm, kind)
        settings = import_options(options, gm, kind)
        record.notes += _notes_of_prices(options.prices, settings)
        module = import_graphs([spec], settings)
        _report_unknown(gm, record)
        _identify(module)
        text = str(module)
        records.trace_program(text, kind)
        options = beside(options, beside_bytes(gm.graph))
        run = schedule_text(text, options, _is_fused(options, kind))
        plan, run = _read_plan(text, run, kind, options, record)
        record.before = run.reports.before.get(kind)
        record.after = run.reports.after.get(kind)
        return plan, None
    except Exception as error:
        if options.strict:
            raise
        return None, error


def _read_plan(text, run, kind, options, record) -> tuple[Plan, ProgramRun]:
    """Returns the plan of a run and the run, or those of one that merges nothing if
    no plan can say what the first did."""
    try:
        return make_plan(run.before, run.after, kind), run
    except PlanError as error:
        if options.strict or options.buckets == "off":
            raise
        alone = dataclasses.replace(options, buckets="off")
        run = schedule_text(text, alone, _is_fused(options, kind))
        plan = make_plan(run.before, run.after, kind)
        record.notes.append(f"merges nothing, since {error}")
        return plan, run


def _report_unknown(gm: torch.fx.GraphModule, record: Record) -> None:
    """Says which collectives are fences."""
    for node in inlined(gm).nodes:
        if node.op == "call_function" and is_unknown_collective(node.target):
            what = f"collective '{target_name(node.target)}', which is not known"
            record.notes.append(f"moves nothing across '{node.name}': {what}")
            records.warn_once(f"CommSched moves no communication across the {what}")


def _identify(module: ir.Module) -> None:
    """Says which graph the function is, so that one profile can have those of
    a whole job: by what it computes, not by what is known of its times."""
    (function,) = module.functions
    text = re.sub(r"commsched\.runtime_ns = \d+ : i64", "", str(module))
    text = re.sub(r"[{}, ]", "", text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    function.attributes["commsched.graph"] = f"{function.name} {digest}"


def _decide(gm, kind, options, roles, plan, error, record) -> None:
    """Does to `gm` what the ranks decide.

    Takes part in the decision without a plan too, and makes the graph
    compare its launches with those of other ranks, whatever became of it.
    """
    # Of a parameter that was padded, a rank saves another value for its backward.
    launches = Launches.of(gm.graph, roles={} if kind == "backward" else roles)
    trial, error = _try(gm, plan, error, options, record)
    plan = None if trial is None else trial.plan
    reason = "" if error is None else describe(error)
    try:
        decision = agree(launches, kind, record.frame, plan, options, reason)
        if trial is not None and decision.plan is not plan:
            trial.undo()
    except BaseException:
        if trial is not None:
            trial.undo()
        raise
    record.decided, record.reason = decision.how, reason
    if error is not None and decision.plan is not None:
        records.warn_once(
            "CommSched follows another rank's schedule, and has none of its "
            f"own: {reason}"
        )
    try:
        if decision.plan is not None:
            if decision.plan is plan:
                trial.keep(recompile=False)
            else:
                follow_plan(gm, decision.plan)
            record.plan = decision.plan
    except Exception:
        decision = dataclasses.replace(decision, plan=None, transient=True)
        raise
    finally:
        seal(gm, kind, record.frame, decision, options)
    if decision.plan is None:
        raise error or PlanError(decision.reason)


def _try(
    gm, plan, error, options, record
) -> tuple[Optional[Trial], Optional[Exception]]:
    """Carries out this rank's plan, or what fits of it, before other ranks hear of
    it; returns None and why if there is nothing."""
    if plan is None:
        return None, error
    limits = _limits(options)
    moved = 0

    def within_limits(plan: Plan) -> Plan:
        nonlocal moved
        plan, moved = limit_in_flight(plan, gm.graph, limits)
        return plan

    try:
        if options.strict:
            trial, left_out = Trial(gm, within_limits(plan)), []
        else:
            trial, left_out = fit_plan(gm, plan, within_limits)
    except Exception as problem:
        if options.strict:
            raise
        return None, problem
    if left_out:
        record.notes += left_out
        record.notes.append("the figures are those of the whole plan")
    if moved:
        record.notes.append(
            f"moves {moved} starts or waits to have no more than "
            f"{' and '.join(what for what, *_ in limits)} in flight; the figures "
            "are those before that"
        )
    return trial, None


def _limits(options: Options) -> list[Limit]:
    """Returns what may be in flight at a time. Gloo corrupts memory with more
    than one of the operators that gather (benchmarks/pytorch/gloo_in_flight.py)."""
    limits = []
    if options.max_in_flight is not None:
        count = options.max_in_flight
        limits.append(Limit(f"{count} collectives", lambda kind: True, count))
    if gloo.carries_all():
        is_gather = "all_gather".__eq__
        limits.append(Limit("1 all-gather of gloo", is_gather, 1))
    return limits


def _check_torch() -> None:
    if not private.is_tested(torch.__version__):
        first, last = private.TESTED
        records.warn_once(
            f"PyTorch is {torch.__version__}, but CommSched "
            f"{commsched.__version__} was tested with {first} to {last}: "
            "look whether there is a release for yours"
        )


# What Inductor assumes of a size of which nothing is known.
_UNKNOWN_SIZE = 8192


def measure_operators(
    options: Options, gm: torch.fx.GraphModule, kind: str
) -> None:
    """Measures the operators of `gm`, if that is how the machine at hand is
    priced, with the other ranks, which all are about to schedule theirs."""
    operators = options.prices.operators
    if operators is not None:
        operators.measure(gm, kind, _is_for_inductor(options, kind))


def _is_for_inductor(options: Options, kind: str) -> bool:
    """Whether Inductor compiles what is scheduled. A framework runs the graph
    of a whole step itself."""
    return options.inner == "inductor" and kind != "step"


def _is_fused(options: Options, kind: str) -> bool:
    """Whether what Inductor fuses is priced so: where what it calls as it is was
    measured on the machine at hand, beside which all else would weigh too much."""
    return options.prices.operators is not None and _is_for_inductor(options, kind)


def _notes_of_prices(prices: Prices, settings: ImportOptions) -> list[str]:
    notes = [prices.note] if prices.note else []
    count = len(settings.runtimes)
    if count and prices.operators is None:
        notes.append(f"pins the times that the profile has for {count} operators")
    elif count:
        notes.append(f"pins the times that {count} operators took")
    return notes


def import_options(
    options: Options, gm: torch.fx.GraphModule, kind: str = ""
) -> ImportOptions:
    """Returns what the importer needs to know beside the graph `gm` of `kind`."""
    prices, runtimes = options.prices, {}
    if prices.operators is not None:
        runtimes = prices.operators.of(gm, _is_for_inductor(options, kind))
    elif prices.profile is not None:
        runtimes = operator_runtimes(gm, read_operators(prices.profile))
    return ImportOptions(
        ranks_per_node=options.node_size(),
        hints=dict(options.hints),
        default_size=_UNKNOWN_SIZE,
        runtimes=runtimes,
        # The way back into the graph knows whole operators.
        split=False,
        separate_copies=True,
        fences=not options.strict,
    )


def describe(error: Exception) -> str:
    if isinstance(error, GraphImportError):
        error.function = None  # It is named after the kind of graph.
    text = str(error)
    # What this package raises says what is wrong; of anything else the kind
    # of error does too.
    known = (GraphImportError, PlanError, ProfileError, RewriteError, RunError)
    if text and isinstance(error, known):
        return text
    return f"{type(error).__name__}: {text}"
