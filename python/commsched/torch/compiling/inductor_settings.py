# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of Inductor beside which a schedule lasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.options import Options, OptionsError

#: Settings that are on by default and would undo a schedule. The second came
#: with PyTorch 2.14.
_OFF: Mapping[str, Any] = {
    "reorder_for_peak_memory": False,
    "aten_distributed_optimizations.enable_simple_overlap": False,
}

#: Settings that only a user can have switched on.
_LEFT: Mapping[str, Any] = {
    "reorder_for_compute_comm_overlap": False,
    "bucket_all_gathers_fx": "none",
    "bucket_reduce_scatters_fx": "none",
    "bucket_all_reduces_fx": "none",
    "aten_distributed_optimizations.enable_overlap_scheduling": False,
    "aten_distributed_optimizations.enable_low_contention_collectives": False,
}

#: The passes of `reorder_for_compute_comm_overlap`, which is off.
_PASSES = "reorder_for_compute_comm_overlap_passes"


def required(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of this PyTorch that a schedule needs.

    Raises OptionsError if `given` has one of them at another value, or passes
    that would not run beside them, and warns once of each that
    torch._inductor.config has, by the user's hand.
    """
    if given.get(_PASSES):
        raise OptionsError(_conflict(_PASSES, given[_PASSES], []))
    settings = {
        name: value
        for name, value in {**_OFF, **_LEFT}.items()
        if private.has_inductor_setting(name)
    }
    for name, value in settings.items():
        if name in given and given[name] != value:
            raise OptionsError(_conflict(name, given[name], value))
        current = private.inductor_setting(name)
        if name in _LEFT and name not in given and current != value:
            records.warn_once(
                f"torch._inductor.config.{name} is {current!r}; graphs that "
                f"CommSched schedules are compiled with {value!r}, since "
                "both would order the same collectives"
            )
    return settings


def user_pass(name: str, given: Mapping[str, Any]) -> Any:
    """Returns what the user has for a hook of Inductor, or None.

    Raises OptionsError for what cannot be called.
    """
    found = given[name] if name in given else private.inductor_setting(name)
    for each in found if isinstance(found, (list, tuple)) else (found,):
        if each is not None and not callable(each):
            raise OptionsError(
                f"Inductor's option '{name}' is {found!r}; it takes what can "
                "be called"
            )
    return found


def check_effective(options: Options) -> None:
    """Checks the settings that the graph at hand is compiled with: the
    user's may have come after this package's.

    Warns, or with `options.strict` raises OptionsError.
    """
    problems = [
        _conflict(name, private.inductor_setting(name), value)
        for name, value in {**_OFF, **_LEFT}.items()
        if private.has_inductor_setting(name)
        and private.inductor_setting(name) != value
    ]
    for name in ("_pre_fusion_custom_pass", "_post_fusion_custom_pass"):
        own = type(private.inductor_setting(name)).__module__
        if not own.startswith("commsched."):
            problems.append(
                f"Inductor's option '{name}' was replaced after "
                "inductor_options() had set it, and nothing keeps the "
                "schedule's order; give it to inductor_options()"
            )
    for problem in problems:
        if options.strict:
            raise OptionsError(problem)
        records.warn_once(problem)


def _conflict(name: str, found: Any, needed: Any) -> str:
    return (
        f"Inductor's option '{name}' is {found!r}, which undoes CommSched's "
        f"schedule; it has to be {needed!r}: leave it out, or leave out "
        "CommSched"
    )
