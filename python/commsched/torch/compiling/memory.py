# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A memory budget in bytes: one limit for what is saved and when it runs.

`commsched-pipeline` decides what a forward saves, computes again, keeps
gathered and sends to the host, such that the step fits the device and is as
short as possible (docs/guide/whole-steps.md).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from commsched.figures import size_text
from commsched.options import OptionsError, is_percentage, limit_bytes


def check_memory(options: Any) -> None:
    """Raises OptionsError for sizes that do not parse, and for options that
    contradict a memory budget in bytes or need one."""
    reserved = limit_bytes("reserved_bytes", options.reserved_bytes)
    if options.host_memory is not None:
        limit_bytes("host_memory", options.host_memory)
    if is_percentage(options.memory_budget):
        _check_without_bytes(options)
        return
    total = limit_bytes("memory_budget", options.memory_budget)
    if total is not None and reserved >= total:
        raise OptionsError(
            f"option 'reserved_bytes' is {options.reserved_bytes!r}, which "
            f"leaves nothing of 'memory_budget', {options.memory_budget!r}"
        )
    if options.activation_memory_budget is not None:
        raise OptionsError(
            "options 'memory_budget' in bytes and 'activation_memory_budget' "
            "both limit what is saved: leave out one of the two"
        )
    if options.partition == "default":
        raise OptionsError(_default_saves("memory_budget"))


def _check_without_bytes(options: Any) -> None:
    given = {
        "host_memory": options.host_memory is not None,
        "reserved_bytes": str(options.reserved_bytes) != "0",
        "quantize_activations": options.quantize_activations == "auto",
    }
    for name in given:
        if given[name]:
            raise OptionsError(
                f"option '{name}' is {getattr(options, name)!r}, which needs "
                "a 'memory_budget' in bytes such as '64GiB', but that is "
                f"{options.memory_budget!r}"
            )
    is_limited = options.activation_memory_budget not in (None, 1)
    if options.partition == "default" and is_limited:
        raise OptionsError(_default_saves("activation_memory_budget"))


def _default_saves(limit: str) -> str:
    return (
        "option 'partition' is 'default', which saves what eager execution "
        f"saves, but '{limit}' limits what is saved: leave out one of the two"
    )


def fit_settings(options: Any, can_offload: bool) -> dict[str, Any]:
    """Returns what `commsched-pipeline` is told of joint functions beside its
    other options: it sends nothing to the host unless it is given memory there."""
    settings = {}
    if options.host_memory is not None and can_offload:
        settings["host-memory"] = options.host_memory
    if options.quantize_activations == "auto":
        settings["quantize"] = "auto"
    if options.collectives != "auto":
        settings["collectives"] = options.collectives
    if options.strict:
        settings["strict"] = True
    return settings


def beside(options: Any, size: int) -> Any:
    """Returns the options of a graph beside which `size` bytes live that it does
    not show: of a budget in bytes they are reserved too."""
    if not size or not options.fits_memory:
        return options
    total = limit_bytes("memory_budget", options.memory_budget)
    if total is None:
        return options
    reserved = limit_bytes("reserved_bytes", options.reserved_bytes) + size
    # Without anything left, what takes least is taken.
    return dataclasses.replace(options, reserved_bytes=min(reserved, total - 1))


def excess(options: Any, reports: Any) -> Optional[str]:
    """Returns by how much the step of which `reports` are does not fit, or
    None if it does. What was chosen then is the least that is known."""
    if is_percentage(options.memory_budget) or not reports:
        return None
    total = limit_bytes("memory_budget", options.memory_budget)
    reserved = limit_bytes("reserved_bytes", options.reserved_bytes)
    least = max(report["peak_memory_bytes"] for report in reports)
    if total is None or least <= total - reserved:
        return None
    text = f"the least is {size_text(least)}"
    if reserved:
        text += f" beside the {size_text(reserved)} of 'reserved_bytes'"
    return f"{text}, but 'memory_budget' is {options.memory_budget}"
