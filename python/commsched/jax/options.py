# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user may ask of :func:`commsched.jax.schedule`, checked."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Optional

from commsched import opt
from commsched.options import OptionsError, ScheduleOptions, check_choice

# Processes cannot be waited for without limit, nor for a month.
_LONGEST = 10**6

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


@dataclasses.dataclass(frozen=True)
class Options(ScheduleOptions):
    """Options of :func:`commsched.jax.schedule`.

    The first six are those of :class:`commsched.options.ScheduleOptions`.

    slack:         by how many percent longer than they are collectives are
                   taken to be, in case that times are off; by default what
                   `commsched-pipeline` takes.
    ranks_per_node: consecutive devices that share a node.
    version:       version of StableHLO to write. Before 1.17 there are no
                   asynchronous collectives: each is written as a blocking one,
                   where it starts.
    scheduling_groups: let XLA's latency-hiding scheduler keep together what
                   the schedule puts between starts and waits. XLA fails if a
                   group needs more collectives in flight than it allows.
    timeout:       seconds after which scheduling is given up, up to 10^6.
    """

    slack: Optional[int] = None
    ranks_per_node: int = 8
    version: Optional[str] = None
    scheduling_groups: bool = False
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slack is not None:
            _check_number("slack", self.slack, int, 0)
        _check_number("ranks_per_node", self.ranks_per_node, int, 1)
        check_choice(
            "scheduling_groups", self.scheduling_groups, (True, False)
        )
        _check_number("timeout", self.timeout, (int, float), 0, _LONGEST)
        if self.version is not None and not (
            isinstance(self.version, str) and _VERSION.fullmatch(self.version)
        ):
            raise OptionsError(
                f"option 'version' is {self.version!r}; it takes a version of "
                "StableHLO such as '1.16'"
            )

    def pipeline_settings(self) -> dict[str, Any]:
        return {**super().pipeline_settings(), "slack": self.slack}

    def read_flags(self) -> tuple[str, ...]:
        """Returns the flags of commsched-opt that make its collectives of
        StableHLO's, and price the rest as XLA is going to fuse it."""
        return (
            opt.flag(
                "convert-stablehlo-to-commsched",
                {"ranks-per-node": self.ranks_per_node},
            ),
            *self.cost_flags(**{"assume-fusion": True}),
        )

    def write_flags(self) -> tuple[str, ...]:
        """Returns the flags that make StableHLO of a scheduled module."""
        settings = {
            "version": self.version,
            "scheduling-groups": self.scheduling_groups or None,
        }
        return (opt.flag("convert-commsched-to-stablehlo", settings),)


def _check_number(
    name: str, value: Any, kinds: Any, least: int, most: float = math.inf
) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, kinds)
        or not least <= value <= most
    ):
        limit = "" if most == math.inf else f" and at most {most}"
        raise OptionsError(
            f"option '{name}' is {value!r}; it takes a number of at least "
            f"{least}{limit}"
        )
