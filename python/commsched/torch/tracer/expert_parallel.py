# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts that are spread over ranks, and what their collectives move.

Every rank has a batch of its own and computes the rows of all ranks that its
experts are chosen for. Other parameters are sharded over all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.distributed.device_mesh import DeviceMesh

from commsched.torch.sharding import shard_parameters
from commsched.torch.tracer.models import Experts, ExpertsModel


def spread_experts(
    model: ExpertsModel, mesh: DeviceMesh, everyone: DeviceMesh
) -> None:
    """Spread the experts of ``model`` over the dimension ``ep`` of ``mesh``,
    if it has one, and shard every rank's experts over ``dp``; shard all else
    over ``everyone``, a mesh of one dimension with all ranks."""
    model.ranks = mesh.size()
    for module in list(model.modules()):
        over = everyone
        if isinstance(module, Experts) and "ep" in mesh.mesh_dim_names:
            module.spread(mesh.get_group("ep"))
            over = mesh["dp"]
        if module._parameters:
            shard_parameters(module, over, reduction="sum")


def expected_sizes(
    graph_module: fx.GraphModule, imbalance: float
) -> dict[str, int]:
    """What to expect of the sizes that the all-to-alls of a joint graph read
    from the device, by symbol name: rows that one rank sends to another.

    This rank is the one whose experts are chosen most, ``imbalance`` times
    as often as those of an average rank: it receives so many rows more from
    everyone, and sends so many more of its own rows to itself. An imbalance
    of 1 is balanced routing.
    """
    sizes: dict[str, int] = {}
    for node in graph_module.graph.nodes:
        if getattr(node.target, "_opname", "") != "all_to_all_single":
            continue
        rows = node.args[0].meta["val"].shape[0]
        received, sent = map(_symbols, node.args[1:3])
        if not sent or not received or sent[0] in sizes:
            continue  # Of known sizes, or the way back.
        # The first exchange of a layer sends rows of a known number.
        sizes.update(_shares(int(rows), sent, received, imbalance))
    return sizes


def _shares(
    rows: int, sent: list[str], received: list[str], imbalance: float
) -> Iterator[tuple[str, int]]:
    ranks = len(sent)
    busy = min(rows, round(rows * imbalance / ranks))
    rest = rows - busy
    yield sent[0], busy
    for index, name in enumerate(sent[1:]):
        share, more = divmod(rest, ranks - 1)
        yield name, share + (index < more)
    for name in received:
        yield name, busy


def _symbols(sizes: Any) -> list[str]:
    """The symbols of the sizes that are read from the device."""
    values = [
        size.meta["val"] if isinstance(size, fx.Node) else size
        for size in sizes
    ]
    return [
        value.node.expr.name
        for value in values
        if isinstance(value, torch.SymInt)
    ]
