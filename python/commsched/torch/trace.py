# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trace a model's training step over ranks that are not there.

    def make(mesh):
        model = Model()
        shard_parameters(model, mesh)
        return Sharded(model, (tokens, labels))

    module = import_step(trace_step(make, {"dp": 64}))

Everything is a fake tensor: the largest model takes no more memory than its
graph, and no GPU is needed. examples/models traces models of several kinds of
parallelism.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import fx, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import loss_parallel
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from commsched import ir
from commsched.torch import GraphSpec, ImportOptions, import_graphs
from commsched.torch.compiling.reshard import reshard_after_forward
from commsched.torch.importer.links import Source
from commsched.torch.private.names import FakeTensorMode
from commsched.torch.tracer.capture import capture_joint
from commsched.torch.tracer.mesh import fake_mesh
from commsched.torch.tracer.optimizer import (
    GRADIENT,
    OPTIMIZERS,
    Parameter,
    STATES,
    STEP,
    adamw_graph,
    updated_parameters,
)
from commsched.torch.tracer.partition import (
    PARTITIONERS,
    num_model_outputs,
    partition,
    updated_inputs,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """What to make of a joint graph; a value that makes no sense is a
    ``ValueError``.

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

    joint: bool = False
    partitioner: str = "min-cut"
    reshard_after_forward: bool = True
    offload: int | None = None
    optimizer: str = "none"
    clip_grad_norm: float | None = None

    def __post_init__(self) -> None:
        for name, known in (
            ("partitioner", PARTITIONERS),
            ("optimizer", OPTIMIZERS),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} '{getattr(self, name)}' (known: "
                    f"{', '.join(known)})"
                )
        if self.joint and self.offload is not None:
            raise ValueError(
                "offload is given, but joint keeps forward and backward in "
                "one graph, of which nothing is saved"
            )
        if self.offload is not None and self.offload <= 0:
            raise ValueError(f"offload must be positive, got {self.offload}")
        norm = self.clip_grad_norm
        if norm is not None and not 0 < norm < math.inf:
            raise ValueError(f"clip_grad_norm must be positive, got {norm}")
        if norm is not None and self.optimizer == "none":
            raise ValueError(
                f"clip_grad_norm is {norm}, but the step has no optimizer, "
                "which would apply the gradients"
            )


@dataclasses.dataclass(frozen=True)
class Sharded:
    """A model on one of the ranks of a mesh.

    model:  a module whose parameters are sharded, and whose ``forward``
            returns a scalar loss.
    args:   what ``forward`` takes.
    spread: the dimension of the mesh over which a parameter is spread besides
            being sharded, by its name.
    meshes: meshes whose process groups the model uses besides.
    hints:  gives, for the joint graph, what to expect of sizes that are read
            from the device, by the names of their symbols.
    """

    model: nn.Module
    args: Sequence[torch.Tensor]
    spread: Mapping[str, str] = dataclasses.field(default_factory=dict)
    meshes: Sequence[DeviceMesh] = ()
    hints: Callable[[fx.GraphModule], dict[str, int]] = lambda joint: {}


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


def trace_step(
    make: Callable[[DeviceMesh], Sharded],
    sizes: Mapping[str, int],
    options: TraceOptions = TraceOptions(),
    rank: int = 0,
) -> TracedStep:
    """Trace the step of the model that ``make`` builds of fake tensors for a
    mesh with the dimensions ``sizes``, as ``rank`` runs it.

    The graphs are ``forward`` and ``backward``, or ``joint``, and behind them
    ``optimizer``, if it is asked for. Graphs of several ranks differ in
    constants only, such as a rank's first word of the vocabulary. Must not be
    called while a process group is initialized (``RuntimeError``).
    """
    with fake_mesh(sizes, rank) as mesh:
        with FakeTensorMode(shape_env=ShapeEnv()):
            sharded = make(mesh)
        with loss_parallel():
            joint = capture_joint(sharded.model, sharded.args)
        groups = {}
        for each in (mesh, *sharded.meshes):
            groups.update(_name_groups(joint, each))
    hints = sharded.hints(joint)
    parameters = updated_parameters(joint, dict(_sharding(sharded)))
    num_outputs, updated = num_model_outputs(joint), updated_inputs(joint)
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
    sources = link_step(graphs, parameters, num_outputs, updated)
    return TracedStep(graphs, groups, hints, sources)


#: The sources of a graph's inputs, by the names of their placeholders.
Sources = dict[str, Source]


def link_step(
    graphs: dict[str, fx.GraphModule],
    parameters: Sequence[Parameter],
    num_outputs: int,
    updated: Mapping[str, int],
) -> dict[str, Sources]:
    """The sources of every graph's inputs, by the graphs' names.

    The backward takes what the forward saves, and the optimizer the gradients
    and its own states. The forward and the optimizer take the parameters that
    the optimizer of the step before updated, and the forward the buffers that
    it did.

    ``graphs`` are ``forward`` and ``backward``, or ``joint``, and
    ``optimizer``. Of the outputs of the first the first ``num_outputs`` are the
    model's, and those of ``updated`` replace its inputs of these names.
    """
    first, *others = (name for name in graphs if name != "optimizer")
    links: dict[str, Sources] = {
        first: {name: Source(first, k, 1) for name, k in updated.items()},
        "optimizer": {},
    }
    gradients, behind = first, num_outputs
    for name in others:
        saved = len(graphs[first].graph.output_node().args[0]) - num_outputs
        inputs = graphs[name].graph.find_nodes(op="placeholder")
        # The last inputs are the tangents.
        links[name] = {
            node.name: Source(first, num_outputs + index)
            for index, node in enumerate(inputs[:saved])
        }
        gradients, behind = name, 0
    own = links["optimizer"]
    for index, parameter in enumerate(parameters):
        updated = Source("optimizer", index, 1)
        links[first][parameter.name] = own[parameter.name] = updated
        own[parameter.state(GRADIENT)] = Source(gradients, behind + index)
        for number, kind in enumerate(STATES, start=1):
            output = number * len(parameters) + index
            own[parameter.state(kind)] = Source("optimizer", output, 1)
    count = (1 + len(STATES)) * len(parameters)
    own[STEP] = Source("optimizer", count, 1)
    return links


def import_step(step: TracedStep, ranks_per_node: int = 8) -> ir.Module:
    """Import a traced step: a function for each of its graphs, and one that
    calls them, ``step``, if there is an optimizer."""
    return import_graphs(
        [_spec(step, name) for name in step.graphs],
        ImportOptions(
            groups=step.groups,
            ranks_per_node=ranks_per_node,
            hints=step.hints,
        ),
    )


def _spec(step: TracedStep, name: str) -> GraphSpec:
    sources = step.sources.get(name, {})
    if name != "optimizer":
        forward = step.graphs.get("forward") if name == "backward" else None
        return GraphSpec(
            name, step.graphs[name], name, forward=forward, sources=sources
        )
    roles = {
        node: None if node.endswith(f"_{GRADIENT}") else "parameter"
        for node in sources
    }
    return GraphSpec(
        name,
        step.graphs[name],
        roles=roles,
        sources=sources,
        # It is the last to use gradients, and replaces the others.
        freeable=frozenset(sources),
    )


def _sharding(sharded: Sharded) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each parameter's name, and the dimensions of the mesh whose ranks have
    different parts of it, with several ranks each."""
    own = sharded.spread
    for name, parameter in sharded.model.named_parameters():
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


def _main() -> None:
    """Traces a known model: examples/models/torch_step.py of the source tree."""
    script = pathlib.Path(__file__).parents[3] / "examples/models/torch_step.py"
    if not script.exists():
        sys.exit(
            "commsched.torch.trace: the known models are examples of the source "
            f"tree, and {script} is not there; trace_step() traces any model"
        )
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    _main()
