# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and JSON of what was measured, beside what was predicted."""

from __future__ import annotations

import json
from typing import Any, Optional

from commsched.profile.activities import lower_median
from commsched.profile.costs import ninth_decile
from commsched.profile.exposure import StepExposure
from commsched.profile.matching import Matching
from commsched.profile.predictions import Prediction
from commsched.profile.programs import Target
from commsched.profile.tables import format_time, table
from commsched.profile.tax import Tax

_MOST_LISTED = 10


def costs_report(targets: list[Target], matching: Matching,
                 tax: Optional[Tax], model: tuple,
                 prediction: Prediction) -> dict[str, Any]:
    """Predicted against measured, for operators, collectives and the step."""
    model_ns, model_step_ns = model
    operators: dict = {}
    collectives = []
    for index, times in matching.samples.items():
        target = targets[index]
        median = lower_median(times)
        if target.kind:
            collectives.append({
                "name": target.label, "function": target.function,
                "kind": target.kind, "model_ns": model_ns[index],
                "measured_ns": median, "least_ns": min(times),
                "ninth_decile_ns": ninth_decile(times),
                "count": len(times)})
            continue
        entry = operators.setdefault(target.operator, {
            "operator": target.operator, "operations": 0, "model_ns": 0,
            "measured_ns": 0})
        entry["operations"] += 1
        entry["measured_ns"] += median
        entry["model_ns"] += model_ns[index] or 0
    return {
        "steps": len(matching.steps),
        "ranks": len({step.rank for step in matching.steps}),
        "matched": {
            "operations": len(matching.samples),
            "activities": matching.matched},
        **({"fused": {"operations": len(matching.fused),
                      "kernels": matching.kernels}}
           if matching.fused else {}),
        "not_in_trace": [targets[i].label for i in matching.missing],
        "not_in_program": dict(matching.unknown.most_common()),
        "outside_steps": matching.outside,
        "pinned": sum(targets[i].pinned_ns is not None
                      for i in matching.samples),
        **({"tax": {"tax": tax.fraction, "computations": tax.computations,
                    "operators": tax.operators}} if tax else {}),
        "step": {
            "model_ns": model_step_ns, "predicted_ns": prediction.step_ns,
            "measured_ns": lower_median([s.time_ns for s in matching.steps])},
        "operators": sorted(operators.values(),
                            key=lambda e: (-e["measured_ns"], e["operator"])),
        "collectives": collectives,
    }


def exposure_report(exposure: StepExposure, targets: list[Target],
                    prediction: Optional[Prediction]) -> dict[str, Any]:
    """Step, computation and communication of the steps, what of them is
    exposed and why, and for each collective when it ran and what of it was
    exposed."""
    report: dict[str, Any] = {
        key: getattr(exposure, key) for key in (
            "rank", "step_ns", "compute_ns", "comm_ns", "exposed_ns",
            "idle_ns")}
    report["idle"] = {f"{cause}_ns": time
                      for cause, time in exposure.idle_by_cause.items()}
    report["collectives"] = [
        {"name": c.name, "kind": c.kind, "stream": c.stream,
         "start_ns": c.start_ns, "end_ns": c.end_ns,
         "exposed_ns": c.exposed_ns,
         **({"reason": c.reason.code, "reason_text": c.reason.text}
            if c.reason else {})}
        for c in exposure.collectives]
    report["not_in_all_steps"] = exposure.left_out
    if prediction is None:
        return report
    # A name that two functions have says nothing about either.
    functions: dict = {}
    for target in targets:
        functions.setdefault((target.kind, target.label), []).append(
            target.function)
    for measured, collective in zip(exposure.collectives,
                                    report["collectives"]):
        name = measured.operation
        found = functions.get((measured.kind, name), [])
        if len(found) != 1:
            continue
        predicted = prediction.collectives.get((found[0], name), {})
        for key in ("limited_by", "remedy"):
            if key in predicted:
                collective[key] = predicted[key]
    report["predicted"] = {
        "step_ns": prediction.step_ns, "scheduled_ns": prediction.scheduled_ns,
        "exposed_ns": prediction.exposed_ns}
    return report


def _change(predicted: Optional[int], measured: int) -> str:
    if not predicted:
        return "-"
    return f"{100 * (measured - predicted) / predicted:+.1f} %"


def _listed(names: list[str]) -> str:
    text = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return text + (f" and {more} more" if more > 0 else "")


def costs_text(report: dict[str, Any]) -> str:
    step, matched = report["step"], report["matched"]
    unknown = report["not_in_program"]
    parts = [
        f"{matched['operations']} operations matched by "
        f"{matched['activities']} activities of {report['steps']} steps on "
        f"{report['ranks']} ranks"]
    fused = report.get("fused")
    if fused:
        parts.append(f"{fused['operations']} of these operations by "
                     f"{fused['kernels']} fused kernels")
    if report["not_in_trace"]:
        parts.append(f"{len(report['not_in_trace'])} operations not in the "
                     f"trace: {_listed(report['not_in_trace'])}")
    if unknown:
        parts.append(
            f"{sum(unknown.values())} activities not in the program: "
            + _listed([f"{n} ({count})" for n, count in unknown.items()]))
    if report["outside_steps"]:
        parts.append(f"{report['outside_steps']} activities in no step")
    if report["pinned"]:
        parts.append(f"{report['pinned']} operations are pinned in the "
                     "program, which comes before what was measured")
    tax = report.get("tax")
    if tax:
        parts.append(f"tax {tax['tax']:g} from {tax['computations']} "
                     f"computations of {tax['operators']} operators")
    rows = [["", "model", "profile", "measured", "difference"],
            ["step", format_time(step["model_ns"]),
             format_time(step["predicted_ns"]),
             format_time(step["measured_ns"]),
             _change(step["predicted_ns"], step["measured_ns"])]]
    parts.append("\n" + table(rows, 0))
    if report["collectives"]:
        rows = [["collective", "kind", "model", "measured", "difference",
                 "least", "9th decile"]]
        rows += [[c["name"], c["kind"], format_time(c["model_ns"]),
                  format_time(c["measured_ns"]),
                  _change(c["model_ns"], c["measured_ns"]),
                  format_time(c["least_ns"]),
                  format_time(c["ninth_decile_ns"])]
                 for c in report["collectives"]]
        parts.append("\n" + table(rows, 0, 1))
    if report["operators"]:
        rows = [["operator", "operations", "model", "measured", "difference"]]
        rows += [[o["operator"], str(o["operations"]),
                  format_time(o["model_ns"]), format_time(o["measured_ns"]),
                  _change(o["model_ns"], o["measured_ns"])]
                 for o in report["operators"]]
        parts.append("\n" + table(rows, 0))
    return "\n".join(parts) + "\n"


def exposure_text(report: dict[str, Any]) -> str:
    rows = [["step", "computation", "communication", "exposed",
             "of it no collective"],
            [format_time(report[key]) for key in (
                "step_ns", "compute_ns", "comm_ns", "exposed_ns", "idle_ns")]]
    parts = [f"measured: median of the steps of {report['rank']}",
             table(rows)]
    causes = [("collectives", report["exposed_ns"] - report["idle_ns"]),
              *((key.removesuffix("_ns"), time)
                for key, time in report["idle"].items())]
    rows = [["nothing is computed", "time", "of the step"]]
    rows += [[name, format_time(time), _share(time, report["step_ns"])]
             for name, time in causes if time]
    parts.append("\n" + table(rows, 0))
    if report["collectives"]:
        rows = [["collective", "kind", "start", "end", "exposed", "reason"]]
        rows += [[c["name"], c["kind"],
                  format_time(c["start_ns"]), format_time(c["end_ns"]),
                  format_time(c["exposed_ns"]), _reason(c)]
                 for c in report["collectives"]]
        parts.append("\n" + table(rows, 0, 1, 5))
    if report["not_in_all_steps"]:
        parts.append(f"\n{report['not_in_all_steps']} collectives are not "
                     "listed, since not all steps have them")
    predicted = report.get("predicted")
    if predicted and predicted["scheduled_ns"] is not None:
        gain = predicted["step_ns"] - predicted["scheduled_ns"]
        parts.append(
            f"\nsimulated with these costs the step takes "
            f"{format_time(predicted['step_ns'])}, and "
            f"{format_time(predicted['scheduled_ns'])} behind "
            f"commsched-pipeline: {format_time(gain)} less")
    return "\n".join(parts) + "\n"


def _reason(collective: dict) -> str:
    if "limited_by" not in collective:
        return collective.get("reason_text", "")
    return f"{collective['limited_by']}; {collective.get('remedy', '')}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def to_json(report: dict[str, Any]) -> str:
    return json.dumps(report) + "\n"
