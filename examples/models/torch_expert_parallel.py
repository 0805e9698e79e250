# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts that are spread over ranks, and what their collectives move.

Every rank has a batch of its own and computes the rows of all ranks that its
experts are chosen for. Other parameters are sharded over all ranks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.distributed.device_mesh import DeviceMesh

from commsched.torch.importer.standins import shares
from commsched.torch.sharding import shard_parameters
from torch_experts import Experts, ExpertsModel


def spread_experts(
    model: ExpertsModel, mesh: DeviceMesh, everyone: DeviceMesh
) -> set[str]:
    """Spread the experts of ``model`` over the dimension ``ep`` of ``mesh``,
    if it has one, and shard every rank's experts over ``dp``; shard all else
    over ``everyone``, a mesh of one dimension with all ranks. Returns the
    names of the experts' parameters."""
    model.ranks = mesh.size()
    spread = set()
    for path, module in list(model.named_modules()):
        over = everyone
        if isinstance(module, Experts) and "ep" in mesh.mesh_dim_names:
            module.spread(mesh.get_group("ep"))
            over = mesh["dp"]
            spread.update(f"{path}.{name}" for name in module._parameters)
        if module._parameters:
            shard_parameters(module, over, reduction="sum")
    return spread


def mesh_of_all(mesh: DeviceMesh) -> DeviceMesh:
    """The ranks of ``mesh`` as one dimension, ``all``. Its process group is no
    other's, so that its collectives wait for no others."""
    group = dist.new_group(list(range(mesh.size())))
    with unset_fake_temporarily():  # The ranks of a mesh are a real tensor.
        return DeviceMesh.from_group(group, "cpu", mesh_dim_names=("all",))


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
        received, sent = map(_expressions, node.args[1:3])
        if not received or received[0].name in sizes:
            continue  # Of known sizes, or a later exchange of a layer.
        # The first exchange of a layer sends rows of a known number.
        ranks = len(received)
        busy = min(int(rows), round(int(rows) * imbalance / ranks))
        others = shares(int(rows) - busy, ranks - 1)
        _expect(sizes, sent, [busy, *others])
        _expect(sizes, received, [busy] * ranks)
    return sizes


def _expect(
    sizes: dict[str, int], expressions: list[Any], values: list[int]
) -> None:
    """Adds the symbols of all expressions but the last one, and that of the
    sum, which the last one is the rest of."""
    for symbol, value in zip(expressions[:-1], values):
        sizes[symbol.name] = value
    for symbol in expressions[-1].free_symbols:
        sizes.setdefault(symbol.name, sum(values))


def _expressions(sizes: Any) -> list[Any]:
    """The sizes as expressions; none if the graph knows them."""
    values = [
        size.meta["val"] if isinstance(size, fx.Node) else size
        for size in sizes
    ]
    return [
        value.node.expr for value in values if isinstance(value, torch.SymInt)
    ]
