# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trace one training step of a named model, sharded over ranks not there.

Everything is a fake tensor: the largest model takes no more memory than its
graph, and no GPU is needed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import loss_parallel
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from commsched.torch.compiling.reshard import reshard_after_forward
from commsched.torch.importer.links import Source
from commsched.torch.sharding import shard_parameters
from commsched.torch.tracer import models
from commsched.torch.tracer.capture import capture_joint
from commsched.torch.tracer.expert_parallel import (
    expected_sizes,
    spread_experts,
)
from commsched.torch.tracer.links import link_step
from commsched.torch.tracer.mesh import fake_mesh, mesh_of_all
from commsched.torch.tracer.optimizer import (
    OPTIMIZERS,
    adamw_graph,
    updated_parameters,
)
from commsched.torch.tracer.partition import (
    PARTITIONERS,
    num_model_outputs,
    partition,
)
from commsched.torch.tracer.tensor_parallel import check_divides, parallelize


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """What to trace; a value that makes no sense is a ``ValueError``.

    model:       a name of ``models.CONFIGS`` or ``models.EXPERTS_CONFIGS``.
    shards:      ranks that each parameter is sharded over.
    replicas:    copies of such a group of ranks (hybrid sharding).
    tensor:      ranks that share a data-parallel rank's tensors (tensor and
                 sequence parallelism); it divides the model's sizes.
    experts:     ranks that the experts of a model are spread over (expert
                 parallelism); it divides their number. Each has its own batch.
                 ``shards`` ranks share each expert, and ``shards * experts``
                 each other parameter.
    imbalance:   rows that this rank's experts compute, by those that an
                 average rank's do; at least 1.
    sequence:    tokens of one sequence; batch: sequences of one rank, or of
                 the ranks that share its tensors.
    layers:      decoder layers, in place of the model's own number.
    joint:       keep forward and backward in one graph.
    partitioner: a name of ``PARTITIONERS``.
    reshard_after_forward: gather parameters again in the backward, rather
                 than keep them gathered.
    offload:     MiB from which on a saved activation is sent to the host,
                 unless forward and backward are one graph.
    optimizer:   a name of ``OPTIMIZERS``.
    clip_grad_norm: the greatest norm of all gradients that the optimizer
                 applies as they are; it scales larger ones down to this norm.
    """

    model: str
    shards: int
    replicas: int = 1
    tensor: int = 1
    experts: int = 1
    imbalance: float = 1.0
    sequence: int = 8192
    batch: int = 1
    layers: int | None = None
    joint: bool = False
    partitioner: str = "min-cut"
    reshard_after_forward: bool = True
    offload: int | None = None
    optimizer: str = "none"
    clip_grad_norm: float | None = None

    def __post_init__(self) -> None:
        known = (*models.CONFIGS, *models.EXPERTS_CONFIGS)
        if self.model not in known:
            raise ValueError(
                f"unknown model '{self.model}' (known: {', '.join(known)})"
            )
        if self.partitioner not in PARTITIONERS:
            raise ValueError(
                f"unknown partitioner '{self.partitioner}' (known: "
                f"{', '.join(PARTITIONERS)})"
            )
        if self.joint and self.offload is not None:
            raise ValueError(
                "offload is given, but joint keeps forward and backward in "
                "one graph, of which nothing is saved"
            )
        self._check_optimizer()
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")
        if self.model in models.EXPERTS_CONFIGS:
            self._check_experts(models.EXPERTS_CONFIGS[self.model])
        else:
            self._check_dense(models.CONFIGS[self.model])

    def _check_optimizer(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(
                f"unknown optimizer '{self.optimizer}' (known: "
                f"{', '.join(OPTIMIZERS)})"
            )
        norm = self.clip_grad_norm
        if norm is not None and not 0 < norm < math.inf:
            raise ValueError(f"clip_grad_norm must be positive, got {norm}")
        if norm is not None and self.optimizer == "none":
            raise ValueError(
                f"clip_grad_norm is {norm}, but the step has no optimizer, "
                "which would apply the gradients"
            )

    def _check_experts(self, config: models.ExpertsConfig) -> None:
        for name in ("tensor", "replicas"):
            if getattr(self, name) != 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, but model "
                    f"'{self.model}' has experts, with which it has to be 1"
                )
        if config.num_experts % self.experts:
            raise ValueError(
                f"experts {self.experts} does not divide the "
                f"{config.num_experts} experts of model '{self.model}'"
            )
        if not 1 <= self.imbalance <= self.experts:
            raise ValueError(
                f"imbalance {self.imbalance} is not between 1 and the "
                f"{self.experts} ranks of the experts"
            )

    def _check_dense(self, config: models.LlamaConfig) -> None:
        for name in ("experts", "imbalance"):
            if getattr(self, name) != 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, but model "
                    f"'{self.model}' has no experts"
                )
        check_divides(config, self.sequence, self.tensor)


_COUNTS = (
    "shards",
    "replicas",
    "tensor",
    "experts",
    "sequence",
    "batch",
    "layers",
    "offload",
)


@dataclasses.dataclass(frozen=True)
class TracedStep:
    """A traced step's graphs, by function name, in the order of execution.

    ``groups`` holds, for each process group that the collectives name, its
    rows of ranks: every member of the partition of all ranks that it is of.
    ``hints`` holds what to expect of sizes that are read from the device, by
    the names of their symbols. ``sources`` holds, of a step with an optimizer,
    what feeds each graph's inputs, by graph and placeholder.
    """

    graphs: dict[str, fx.GraphModule]
    groups: dict[str, list[list[int]]]
    hints: dict[str, int] = dataclasses.field(default_factory=dict)
    sources: dict[str, dict[str, Source]] = dataclasses.field(
        default_factory=dict
    )


def trace_step(options: StepOptions, rank: int = 0) -> TracedStep:
    """Trace the step that ``options`` describes, as ``rank`` runs it.

    The graphs are ``forward`` and ``backward``, or ``joint``, and behind them
    ``optimizer``, if it is asked for. Graphs of several ranks differ in
    constants only, such as a rank's first word of the vocabulary. Must not be
    called while a process group is initialized (``RuntimeError``).
    """
    sizes = (
        options.shards,
        options.replicas,
        options.tensor,
        options.experts,
    )
    with fake_mesh(*sizes, rank=rank) as mesh:
        everyone = mesh if options.experts == 1 else mesh_of_all(mesh)
        # The rows of an expert are known on the device alone.
        environment = ShapeEnv() if options.experts > 1 else None
        with FakeTensorMode(shape_env=environment):
            model, own = _parallel_model(options, mesh, everyone)
            shape = (options.batch, options.sequence)
            tokens = torch.empty(shape, dtype=torch.int64)
            labels = torch.empty(shape, dtype=torch.int64)
        with loss_parallel():
            joint = capture_joint(model, (tokens, labels))
        groups = {
            **_name_groups(joint, mesh),
            **_name_groups(joint, everyone),
        }
    hints = expected_sizes(joint, options.imbalance)
    parameters = updated_parameters(joint, dict(_sharding(model, own)))
    num_outputs = num_model_outputs(joint)
    if options.reshard_after_forward:
        reshard_after_forward(joint)
    graphs = {"joint": joint}
    if not options.joint:
        forward, backward = partition(
            joint, options.partitioner, options.offload
        )
        graphs = {"forward": forward, "backward": backward}
    if options.optimizer == "none":
        return TracedStep(graphs, groups, hints)
    graphs["optimizer"] = adamw_graph(parameters, options.clip_grad_norm)
    sources = link_step(graphs, parameters, num_outputs)
    return TracedStep(graphs, groups, hints, sources)


def _parallel_model(
    options: StepOptions, mesh: DeviceMesh, everyone: DeviceMesh
) -> tuple[nn.Module, dict[str, str]]:
    """The model, and the dimension of the mesh over which parameters are
    spread besides being sharded, by their names."""
    if options.model in models.EXPERTS_CONFIGS:
        experts = models.EXPERTS_CONFIGS[options.model]
        model = models.ExpertsModel(
            experts.with_layers(options.layers), options.sequence
        )
        spread = spread_experts(model, mesh, everyone)
        return model, dict.fromkeys(spread, "ep")
    config = models.CONFIGS[options.model].with_layers(options.layers)
    if options.tensor == 1:
        model = models.build(config, options.sequence)
        shard_parameters(model, mesh)
        return model, {}
    model = models.build(config, options.sequence, sequence_first=True)
    return model, dict.fromkeys(parallelize(model, mesh), "tp")


def _sharding(
    model: nn.Module, own: dict[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each parameter's name, and the dimensions of the mesh whose ranks have
    different parts of it, with several ranks each."""
    for name, parameter in model.named_parameters():
        mesh = parameter.device_mesh
        groups = tuple(
            dimension
            for dimension, size, placement in zip(
                mesh.mesh_dim_names, mesh.shape, parameter.placements
            )
            if size > 1 and placement.is_shard()
        )
        yield name, groups + ((own[name],) if name in own else ())


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
