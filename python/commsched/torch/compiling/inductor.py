# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way in through Inductor's own hooks.

Inductor calls a pass over its FX graphs last before it lowers them: there
the graph is scheduled. Two more passes over the nodes of Inductor's
scheduler keep that order: one before nodes are fused, which pins the starts,
waits and external calls, and one after, which puts the kernels between them
back to where the graph has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import torch
from torch._inductor.custom_graph_pass import (
    CustomGraphPass,
    CustomSchedulerPass,
)

from commsched.torch.compiling import private, private_scheduler
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import optimize_graph

Roles = dict[str, Optional[str]]
RolesOf = Callable[[torch.fx.Graph], Roles]


def inductor_options(**options: Any) -> dict[str, Any]:
    """Returns options of Inductor that schedule each graph's communication.

    They are for ``torch.compile(model, options=inductor_options(...))``;
    `options` are those of :class:`Options`.
    """
    return _settings(Options(**options))


def compile_graph(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    options: Options,
    roles_of: Optional[RolesOf] = None,
) -> Callable[..., Any]:
    """Compiles Dynamo's graph `gm` with Inductor and schedules its graphs.

    `roles_of` gives the roles of a graph's placeholders. Settings that only
    last while the forward is compiled would not reach the backward, so they
    go into Inductor's own configuration of this graph.
    """
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(
        gm, list(inputs), config_patches=_settings(options, roles_of)
    )


def _settings(
    options: Options, roles_of: Optional[RolesOf] = None
) -> dict[str, Any]:
    key = options.fingerprint()
    settings: dict[str, Any] = {
        name: value
        for name, value in REQUIRED.items()
        if private.has_inductor_setting(name)
    }
    settings["post_grad_custom_post_pass"] = SchedulePass(
        options, key, roles_of
    )
    settings["_pre_fusion_custom_pass"] = PinOrder(key)
    settings["_post_fusion_custom_pass"] = RestoreOrder(key)
    return settings


#: Settings of Inductor that would undo a schedule at other values. The last
#: came with PyTorch 2.14.
REQUIRED: Mapping[str, Any] = {
    "reorder_for_peak_memory": False,
    "reorder_for_compute_comm_overlap": False,
    "bucket_all_gathers_fx": "none",
    "bucket_reduce_scatters_fx": "none",
    "bucket_all_reduces_fx": "none",
    "aten_distributed_optimizations.enable_overlap_scheduling": False,
    "aten_distributed_optimizations.enable_low_contention_collectives": False,
    "aten_distributed_optimizations.enable_simple_overlap": False,
}


class SchedulePass(CustomGraphPass):
    """Schedules a graph just before Inductor lowers it."""

    def __init__(
        self,
        options: Options,
        key: str,
        roles_of: Optional[RolesOf] = None,
    ):
        self._options = options
        self._key = key
        self._roles_of = roles_of

    def uuid(self) -> Any:
        """What Inductor's caches know code by that this pass had part in."""
        return f"commsched {self._key}"

    def __call__(self, graph: torch.fx.Graph) -> None:
        gm = graph.owning_module
        kind = private.graph_kind() or "inference"
        roles = self._roles_of(graph) if self._roles_of else {}
        done = optimize_graph(gm, kind, self._options, roles)
        private_scheduler.mark(gm.graph, done)


class PinOrder(CustomSchedulerPass):
    """Pins starts, waits and external calls before nodes are fused."""

    def __init__(self, key: str):
        self._key = key

    def uuid(self) -> Any:
        return f"commsched {self._key}"

    def __call__(self, nodes: list[Any]) -> list[Any]:
        if not private_scheduler.is_scheduled():
            return nodes
        return private_scheduler.chain(nodes)


class RestoreOrder(CustomSchedulerPass):
    """Puts all nodes into the order of the graph after nodes were fused."""

    def __init__(self, key: str):
        self._key = key

    def uuid(self) -> Any:
        return f"commsched {self._key}"

    def __call__(self, nodes: list[Any]) -> list[Any]:
        if not private_scheduler.is_scheduled():
            return private_scheduler.sort_for_peak_memory(nodes)
        return private_scheduler.sort_by_graph(nodes)
