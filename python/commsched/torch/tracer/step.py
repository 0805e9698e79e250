# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trace one training step of a named model, sharded over ranks not there.

Everything is a fake tensor: the largest model takes no more memory than its
graph, and no GPU is needed.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import loss_parallel

from commsched.torch.compiling.reshard import reshard_after_forward
from commsched.torch.sharding import shard_parameters
from commsched.torch.tracer import models
from commsched.torch.tracer.capture import capture_joint
from commsched.torch.tracer.mesh import fake_mesh
from commsched.torch.tracer.partition import PARTITIONERS, partition
from commsched.torch.tracer.tensor_parallel import check_divides, parallelize


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """What to trace; a value that makes no sense is a ``ValueError``.

    model:       a name of ``models.CONFIGS``.
    shards:      ranks that each parameter is sharded over.
    replicas:    copies of such a group of ranks (hybrid sharding).
    tensor:      ranks that share a data-parallel rank's tensors (tensor and
                 sequence parallelism); it divides the model's sizes.
    sequence:    tokens of one sequence; batch: sequences of one rank, or of
                 the ranks that share its tensors.
    layers:      decoder layers, in place of the model's own number.
    joint:       keep forward and backward in one graph.
    partitioner: a name of ``PARTITIONERS``.
    reshard_after_forward: gather parameters again in the backward, rather
                 than keep them gathered.
    """

    model: str
    shards: int
    replicas: int = 1
    tensor: int = 1
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
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and value <= 0 and value is not False:
                raise ValueError(
                    f"{field.name} must be positive, got {value}"
                )
        check_divides(
            models.CONFIGS[self.model], self.sequence, self.tensor
        )


@dataclasses.dataclass(frozen=True)
class TracedStep:
    """A traced step's graphs, by function name, in the order of execution.

    ``groups`` holds, for each process group that the collectives name, its
    rows of ranks: every member of the partition of all ranks that it is of.
    """

    graphs: dict[str, fx.GraphModule]
    groups: dict[str, list[list[int]]]


def trace_step(options: StepOptions, rank: int = 0) -> TracedStep:
    """Trace the step that ``options`` describes, as ``rank`` runs it.

    The graphs are ``forward`` and ``backward``, or ``joint``. Graphs of
    several ranks differ in constants only, such as a rank's first word of the
    vocabulary. Must not be called while a process group is initialized
    (``RuntimeError``).
    """
    sizes = (options.shards, options.replicas, options.tensor)
    with fake_mesh(*sizes, rank=rank) as mesh:
        with FakeTensorMode():
            model = _parallel_model(options, mesh)
            shape = (options.batch, options.sequence)
            tokens = torch.empty(shape, dtype=torch.int64)
            labels = torch.empty(shape, dtype=torch.int64)
        with loss_parallel():
            joint = capture_joint(model, (tokens, labels))
        groups = _name_groups(joint, mesh)
    if options.reshard_after_forward:
        reshard_after_forward(joint)
    if options.joint:
        return TracedStep({"joint": joint}, groups)
    forward, backward = partition(joint, options.partitioner)
    return TracedStep({"forward": forward, "backward": backward}, groups)


def _parallel_model(options: StepOptions, mesh: DeviceMesh) -> nn.Module:
    config = models.CONFIGS[options.model].with_layers(options.layers)
    if options.tensor == 1:
        model = models.build(config, options.sequence)
        shard_parameters(model, mesh)
    else:
        model = models.build(config, options.sequence, sequence_first=True)
        parallelize(model, mesh)
    return model


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
