# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What CommSched says of programs with measured costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from commsched import opt
from commsched.profile.programs import Target, list_targets
from commsched.running import run_errors


@dataclass(frozen=True)
class Prediction:
    """The step of a program before and after commsched-pipeline, if it can be
    simulated, and the reports of its collectives by function and label."""

    step_ns: Optional[int]
    scheduled_ns: Optional[int]
    exposed_ns: Optional[int]
    collectives: dict


def read_targets(module: bytes) -> list[Target]:
    """The operations of a program that take time."""
    with run_errors():
        return list_targets(opt.run_programs(module).before)


def model_times(modules: list[bytes]) -> tuple[list, Optional[int]]:
    """The times of the operations by the model, in the order of
    read_targets(), and that of the step through all programs."""
    times: list = []
    steps = []
    with run_errors():
        for module in modules:
            run = opt.run_programs(
                module, "--commsched-estimate-runtime", reports=True)
            times += [target.pinned_ns for target in list_targets(run.after)]
            steps.append(_step_ns(run.reports.before))
    return times, _sum(steps)


def predict(modules: list[bytes], costs: str, schedules: bool) -> Prediction:
    """Simulates the step with a cost file, and if asked to what
    commsched-pipeline makes of it."""
    first = [opt.flag("commsched-set-costs", {"profile": costs})]
    passes = ["--commsched-pipeline"] if schedules else []
    with run_errors():
        runs = [opt.run_programs(
            module, *passes, first=first, reports=True)
            for module in modules]
    before = [r for run in runs for r in _functions(run.reports.before)]
    return Prediction(
        _sum([_step_ns(run.reports.before) for run in runs]),
        _sum([_step_ns(run.reports.after) for run in runs])
        if schedules else None,
        sum(r["exposed_comm_ns"] for r in before) if before else None,
        {(r["function"], c["name"]): c
         for r in before for c in r["collectives"]})


def _sum(steps: list[Optional[int]]) -> Optional[int]:
    """None if one of the steps is not known."""
    return None if None in steps else sum(steps)


def _functions(reports: dict) -> list:
    """The reports of single functions, without those of pairs."""
    return [r for r in reports.values() if "forward" not in r]


def _step_ns(reports: dict) -> Optional[int]:
    functions = _functions(reports)
    return sum(r["step_time_ns"] for r in functions) if functions else None
