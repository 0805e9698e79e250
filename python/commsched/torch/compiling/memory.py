# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One limit for the memory of a device, as options and as passes.

`commsched-training-pipeline` decides what a forward saves, computes again, keeps
gathered and sends to the host, such that the step fits the device and is as
short as possible (docs/guide/memory-budget.md).
"""

from __future__ import annotations

import re
from typing import Any, Optional

from commsched.figures import size_text
from commsched.options import OptionsError

_SIZE = re.compile(r"(\d+)(?:([KMGT])(i?)B)?")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


def size_of(name: str, given: Any) -> int:
    """Returns the bytes that the option `name` gives as a number or with a
    unit, such as "80GiB". Raises OptionsError for anything else."""
    found = None
    if isinstance(given, (int, str)) and not isinstance(given, bool):
        found = _SIZE.fullmatch(str(given))
    if found is None:
        raise OptionsError(
            f"option '{name}' is {given!r}; it takes bytes such as '80GiB'"
        )
    count, unit, binary = found.groups()
    factor = 1024 if binary else 1000
    return int(count) * factor ** _POWERS.get(unit, 0)


def check_memory(options: Any) -> None:
    """Raises OptionsError for sizes that do not parse, and for options that
    contradict `device_memory` or need it."""
    reserved = size_of("reserved_bytes", options.reserved_bytes)
    if options.device_memory is None:
        given = (
            ("host_memory", options.host_memory),
            ("reserved_bytes", reserved),
        )
        if options.quantize_activations == "auto":
            raise OptionsError(
                "option 'quantize_activations' is 'auto', which is a choice "
                "within 'device_memory', but that is not given"
            )
        for name, value in given:
            if value:
                raise OptionsError(
                    f"option '{name}' is given, but 'device_memory', which it "
                    "belongs to, is not"
                )
        is_limited = options.activation_memory_budget not in (None, 1)
        if options.partition == "default" and is_limited:
            raise OptionsError(_default_saves("activation_memory_budget"))
        return
    total = size_of("device_memory", options.device_memory)
    if options.host_memory is not None:
        size_of("host_memory", options.host_memory)
    if reserved >= total:
        raise OptionsError(
            f"option 'reserved_bytes' is {options.reserved_bytes!r}, which "
            f"leaves nothing of 'device_memory', {options.device_memory!r}"
        )
    if options.activation_memory_budget is not None:
        raise OptionsError(
            "options 'device_memory' and 'activation_memory_budget' both "
            "limit what is saved: leave out one of the two"
        )
    if options.partition == "default":
        raise OptionsError(_default_saves("device_memory"))


def _default_saves(limit: str) -> str:
    return (
        "option 'partition' is 'default', which saves what eager execution "
        f"saves, but '{limit}' limits what is saved: leave out one of the two"
    )


def graph_memory(options: Any) -> Optional[int]:
    """Returns the bytes of the device that a graph may take, or None if no
    limit is given."""
    if options.device_memory is None:
        return None
    reserved = size_of("reserved_bytes", options.reserved_bytes)
    return size_of("device_memory", options.device_memory) - reserved


def fit_settings(options: Any, can_offload: bool) -> dict[str, Any]:
    """Returns the options of `commsched-training-pipeline`, which sends nothing to
    the host unless it is given memory there."""
    settings: dict[str, Any] = {
        **options.pipeline_settings(),
        "device-memory": size_of("device_memory", options.device_memory),
    }
    # It is that of each half.
    del settings["memory-budget"]
    if options.host_memory is not None and can_offload:
        settings["host-memory"] = size_of("host_memory", options.host_memory)
    if options.quantize_activations == "auto":
        settings["quantize"] = "auto"
    if size_of("reserved_bytes", options.reserved_bytes):
        settings["reserved-bytes"] = size_of(
            "reserved_bytes", options.reserved_bytes
        )
    if options.collectives != "auto":
        settings["collectives"] = options.collectives
    if options.strict:
        settings["strict"] = True
    return settings


def excess(options: Any, reports: Any) -> Optional[str]:
    """Returns by how much the step of which `reports` are does not fit, or
    None if it does. What was chosen then is the least that is known."""
    limit = graph_memory(options)
    if limit is None or not reports:
        return None
    least = max(report["peak_memory_bytes"] for report in reports)
    if least <= limit:
        return None
    text = f"the least is {size_text(least)}"
    reserved = size_of("reserved_bytes", options.reserved_bytes)
    if reserved:
        text += f" beside the {size_text(reserved)} of 'reserved_bytes'"
    return f"{text}, but 'device_memory' is {options.device_memory}"
