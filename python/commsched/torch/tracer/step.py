# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trace one training step of a named model, sharded over ranks not there.

Everything is a fake tensor: the largest model takes no more memory than its
graph, and no GPU is needed.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh

from commsched.torch.compiling.reshard import reshard_after_forward
from commsched.torch.sharding import shard_parameters
from commsched.torch.tracer import models
from commsched.torch.tracer.capture import capture_joint
from commsched.torch.tracer.mesh import fake_mesh
from commsched.torch.tracer.partition import PARTITIONERS, partition


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """What to trace; a value that makes no sense is a ``ValueError``.

    model:       a name of ``models.CONFIGS``.
    shards:      ranks that each parameter is sharded over.
    replicas:    copies of such a group of ranks (hybrid sharding).
    sequence:    tokens of one sequence; batch: sequences of one rank.
    layers:      decoder layers, in place of the model's own number.
    joint:       keep forward and backward in one graph.
    partitioner: a name of ``PARTITIONERS``.
    reshard_after_forward: gather parameters again in the backward, rather
                 than keep them gathered.
    """

    model: str
    shards: int
    replicas: int = 1
    sequence: int = 8192
    batch: int = 1
    layers: int | None = None
    joint: bool = False
    partitioner: str = "min-cut"
    reshard_after_forward: bool = True

    def __post_init__(self) -> None:
        if self.model not in models.CONFIGS:
            raise ValueError(
                f"unknown model '{self.model}' (known: "
                f"{', '.join(models.CONFIGS)})"
            )
        if self.partitioner not in PARTITIONERS:
            raise ValueError(
                f"unknown partitioner '{self.partitioner}' (known: "
                f"{', '.join(PARTITIONERS)})"
            )
        for name in ("shards", "replicas", "sequence", "batch", "layers"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")


@dataclasses.dataclass(frozen=True)
class TracedStep:
    """A traced step's graphs, by function name, in the order of execution.

    ``groups`` holds, for each process group that the collectives name, its
    rows of ranks: every member of the partition of all ranks that it is of.
    """

    graphs: dict[str, fx.GraphModule]
    groups: dict[str, list[list[int]]]


def trace_step(options: StepOptions) -> TracedStep:
    """Trace the step that ``options`` describes.

    The graphs are ``forward`` and ``backward``, or ``joint``. Must not be
    called while a process group is initialized (``RuntimeError``).
    """
    config = models.CONFIGS[options.model].with_layers(options.layers)
    with fake_mesh(options.shards, options.replicas) as mesh:
        with FakeTensorMode():
            model = models.build(config, options.sequence)
            shard_parameters(model, mesh)
            shape = (options.batch, options.sequence)
            tokens = torch.empty(shape, dtype=torch.int64)
            labels = torch.empty(shape, dtype=torch.int64)
        joint = capture_joint(model, (tokens, labels))
        groups = _name_groups(joint, mesh)
    if options.reshard_after_forward:
        reshard_after_forward(joint)
    if options.joint:
        return TracedStep({"joint": joint}, groups)
    forward, backward = partition(joint, options.partitioner)
    return TracedStep({"forward": forward, "backward": backward}, groups)


def _name_groups(
    graph_module: fx.GraphModule, mesh: DeviceMesh
) -> dict[str, list[list[int]]]:
    """Call each process group in the graph by its dimension of the mesh.

    Returns the rows of ranks of the dimensions that are in use.
    """
    names = {
        mesh.get_group(name).group_name: name for name in mesh.mesh_dim_names
    }
    used = set()
    for node in graph_module.graph.nodes:
        # The group is the last argument of every functional collective.
        if (
            node.op == "call_function"
            and getattr(node.target, "namespace", "") == "_c10d_functional"
            and node.args[-1] in names
        ):
            name = names[node.args[-1]]
            node.args = (*node.args[:-1], name)
            used.add(name)
    return {
        name: mesh.mesh.movedim(i, -1).flatten(0, -2).tolist()
        if mesh.ndim > 1
        else [mesh.mesh.tolist()]
        for i, name in enumerate(mesh.mesh_dim_names)
        if name in used
    }
