# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user may ask of the scheduler in whatever frontend, checked."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

from commsched import native, opt

_CHOICES = {
    "target": ("a100", "h100", "h200", "gh200", "b200", None),
    "buckets": ("auto", "off"),
    "mode": ("auto", "copy", "coalesced"),
    "bitwise": (True, False),
}


class OptionsError(ValueError):
    """An option that there is not, or a value that it does not take."""


@dataclasses.dataclass(frozen=True)
class ScheduleOptions:
    """Options of a schedule.

    memory_budget: how much memory the step may take: a percentage over the
                   peak of the program as it comes ("5%"), or live bytes
                   ("64GiB", "4.5GiB", or a number).
    target:        the device that times are estimated for; by default what
                   the module says, else "h100".
    profile:       JSON file of measured times; they come before estimates.
    buckets:       "auto" merges collectives where that makes the step
                   shorter, "off" only reorders.
    mode:          how merged collectives travel: "copy" in one packed buffer,
                   "coalesced" side by side in one launch, or "auto".
    bitwise:       merge reductions only where that leaves every bit of the
                   result as it is.
    """

    memory_budget: Union[str, int] = "5%"
    target: Optional[str] = None
    profile: Optional[str] = None
    buckets: str = "auto"
    mode: str = "auto"
    bitwise: bool = True

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        limit_bytes("memory_budget", self.memory_budget, peak=0)
        if not isinstance(self.profile, (str, os.PathLike, type(None))):
            raise OptionsError(
                f"option 'profile' is {self.profile!r}; it takes the path of "
                "a file of measured times"
            )
        if self.profile is not None:
            # What os.PathLike gives, so that equal options compare equal.
            object.__setattr__(self, "profile", os.fspath(self.profile))

    @classmethod
    def of(cls, given: Union[None, ScheduleOptions, Mapping[str, Any]]):
        """Returns the options of a dictionary.

        Raises OptionsError, with all options there are, for a key that is
        none of them.
        """
        if isinstance(given, cls):
            return given
        known = [field.name for field in dataclasses.fields(cls)]
        for key in given or {}:
            if key not in known:
                raise OptionsError(
                    f"unknown option {key!r}; options are " + ", ".join(known)
                )
        return cls(**dict(given or {}))

    def pipeline_settings(self) -> dict[str, Any]:
        """Returns the options of `commsched-pipeline`. A frontend finds the
        operations of its own program again, and no chunks of them."""
        return {
            "memory-budget": self.memory_budget,
            "split": "off",
            "buckets": self.buckets,
            "mode": self.mode,
            "bitwise": self.bitwise,
        }

    def pipeline_flag(self, **more: Any) -> str:
        """Returns the flag of commsched-opt that schedules a module, with `more`
        options. A frontend's framework decides what carries out a collective."""
        settings = {**self.pipeline_settings(), **more}
        settings["choose-implementations"] = False
        return opt.flag("commsched-pipeline", settings)

    def cost_flags(self, **more: Any) -> tuple[str, ...]:
        """Returns the flags that say where all times come from that later
        passes and reports take; `more` are further options of that."""
        costs = {"target": self.target, "profile": self.profile, **more}
        if set(costs.values()) == {None}:
            return ()
        return (opt.flag("commsched-set-costs", costs),)


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """Raises OptionsError unless the value of an option is one of a few."""
    if value not in choices or isinstance(value, bool) != isinstance(
        choices[0], bool
    ):
        raise OptionsError(
            f"option '{name}' is {value!r}; it takes "
            + ", ".join(repr(choice) for choice in choices)
        )


def is_percentage(budget: Union[str, int]) -> bool:
    return str(budget).endswith("%")


def limit_bytes(
    name: str, given: Any, peak: Optional[int] = None
) -> Optional[int]:
    """Returns the bytes that the option `name` allows, as CommSched's passes
    read it; a percentage, which it may only be with a `peak`, is one over
    that. None where there is no extension that could say: the passes will.
    Raises OptionsError for what is no such text.
    """
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        raise OptionsError(
            f"option '{name}' is {given!r}; it takes bytes such as '64GiB'"
        )
    extension = native.find()
    if extension is None:
        return None
    try:
        if peak is None:
            return extension.parse_bytes(str(given))
        return extension.limit_bytes(str(given), peak)
    except ValueError as error:
        raise OptionsError(f"option '{name}' {error}") from None
