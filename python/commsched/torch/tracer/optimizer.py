# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizer of a traced step, as a graph of its own.

torch's AdamW updates this rank's shards; its states are in the parameters'
element type and sharded as they are. The number of the step is counted on the
device, once for all parameters. Gradients are optionally scaled to a greatest
norm over all shards, as ``torch.nn.utils.clip_grad_norm_`` does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.optim.adamw import adamw

from commsched.torch.importer.roles import innermost

c10d = torch.ops._c10d_functional

#: Optimizers, by the name of the tracer's option.
OPTIMIZERS = ("none", "adamw")

#: What the optimizer keeps of each parameter from one step to the next.
STATES = ("exp_avg", "exp_avg_sq")

#: The placeholder of a gradient ends with this.
GRADIENT = "grad"

#: The placeholder that counts steps.
STEP = "step"


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter that the optimizer updates.

    name:   its placeholder in the joint graph.
    path:   its name in the model.
    value:  this rank's shard, a fake tensor.
    groups: the process groups over which it is sharded.
    """

    name: str
    path: str
    value: torch.Tensor
    groups: tuple[str, ...] = ()

    def state(self, kind: str) -> str:
        """The placeholder of its gradient, or of a state."""
        return f"{self.name}_{kind}"


def updated_parameters(
    joint: fx.GraphModule, groups: dict[str, tuple[str, ...]]
) -> list[Parameter]:
    """The parameters that a joint graph has gradients of, in the gradients'
    order; ``groups`` are those that shard each parameter of the model."""
    nodes = {
        innermost(node.meta["desc"]): node
        for node in joint.graph.find_nodes(op="placeholder")
    }
    parameters = []
    for description in joint.graph.output_node().meta["desc"]:
        whose = getattr(innermost(description), "grad_of", None)
        if whose is not None:
            node, path = nodes[whose], whose.target
            parameters.append(
                Parameter(node.name, path, node.meta["val"], groups[path])
            )
    return parameters


def adamw_graph(
    parameters: Sequence[Parameter], max_norm: float | None = None
) -> fx.GraphModule:
    """Trace one step of AdamW, with torch's defaults.

    The inputs are the parameters, their gradients, both states and the number
    of the step; the outputs are what replaces all of these but the gradients,
    in the same order. With ``max_norm`` gradients are scaled down to that
    norm over all parameters and ranks.
    """
    values = [parameter.value for parameter in parameters]
    settings = torch.optim.AdamW([torch.zeros(())]).defaults

    def step(parameters, gradients, averages, squares, count):
        if max_norm is not None:
            factor = _clip_factor(gradients, groups, max_norm)
            gradients = [gradient * factor for gradient in gradients]
        # AdamW updates in place; what is given stays.
        parameters, averages, squares = (
            [tensor.clone() for tensor in tensors]
            for tensors in (parameters, averages, squares)
        )
        counts = [count.clone() for _ in parameters]
        adamw(
            parameters,
            gradients,
            averages,
            squares,
            [],
            counts,
            foreach=False,
            # The device counts, and the counter need not be on a GPU.
            differentiable=True,
            amsgrad=False,
            maximize=False,
            beta1=settings["betas"][0],
            beta2=settings["betas"][1],
            lr=settings["lr"],
            weight_decay=settings["weight_decay"],
            eps=settings["eps"],
        )
        return [*parameters, *averages, *squares, counts[0]]

    groups = [parameter.groups for parameter in parameters]
    with values[0].fake_mode:
        sets = [[torch.empty_like(v) for v in values] for _ in range(4)]
        count = torch.empty((), dtype=torch.float32)
    functional = torch.func.functionalize(step, remove="mutations_and_views")
    with torch.no_grad():
        traced = make_fx(functional, tracing_mode="fake")(*sets, count)
    return _Cleaner(parameters).run(traced.graph)


def _clip_factor(
    gradients: Sequence[torch.Tensor],
    groups: Sequence[tuple[str, ...]],
    max_norm: float,
) -> torch.Tensor:
    """By what to multiply gradients so that their norm is at most
    ``max_norm``; ``groups`` are those that each gradient is sharded over."""
    norms: dict[tuple[str, ...], list[torch.Tensor]] = {}
    for gradient, names in zip(gradients, groups, strict=True):
        norm = torch.linalg.vector_norm(gradient)
        norms.setdefault(names, []).append(norm)
    squares = {
        names: torch.linalg.vector_norm(torch.stack(own)).square()
        for names, own in norms.items()
    }
    # Those with most groups first: what is left of theirs may be others'.
    while names := max(squares, key=lambda names: (len(names), names)):
        square = squares.pop(names)
        reduced = c10d.all_reduce(square, "sum", names[-1])
        square = c10d.wait_tensor(reduced)
        rest = names[:-1]
        squares[rest] = squares[rest] + square if rest in squares else square
    return (max_norm / (squares[()].sqrt() + 1e-6)).clamp(max=1.0)


class _Cleaner:
    """Copies a traced step: names its inputs, computes what only depends on
    the number of the step once for all parameters, drops copies that
    functionalization makes superfluous, and says of each node which module's
    parameter it updates."""

    def __init__(self, parameters: Sequence[Parameter]):
        self._inputs = [(p.name, p.path) for p in parameters]
        for kind in (GRADIENT, *STATES):
            self._inputs += [(p.state(kind), p.path) for p in parameters]
        self._inputs.append((STEP, None))
        self._graph = fx.Graph()
        self._copies: dict[fx.Node, fx.Node] = {}
        self._paths: dict[fx.Node, str] = {}
        #: Nodes that only depend on the number of the step, by what they are.
        self._counted: dict[Any, fx.Node] = {}
        self._is_counted: set[fx.Node] = set()

    def run(self, graph: fx.Graph) -> fx.GraphModule:
        inputs = iter(self._inputs)
        for node in graph.nodes:
            if node.op == "placeholder":
                self._copies[node] = self._input(node, *next(inputs))
            elif node.target is torch.ops.aten.clone.default:
                self._copies[node] = self._copies[node.args[0]]
            elif node.op == "call_function":
                self._copies[node] = self._call(node)
            else:
                assert node.op == "output", node.op
                self._graph.output(self._mapped(list(node.args[0])))
        return fx.GraphModule(torch.nn.Module(), self._graph)

    def _input(self, node: fx.Node, name: str, path: str | None) -> fx.Node:
        copy = self._graph.placeholder(name)
        copy.meta = {"val": node.meta["val"]}
        if path is None:
            self._is_counted.add(copy)
        else:
            self._paths[copy] = path
        return copy

    def _call(self, node: fx.Node) -> fx.Node:
        args, kwargs = self._mapped(node.args), self._mapped(node.kwargs)
        sources = [self._copies[source] for source in node.all_input_nodes]
        is_counted = bool(sources) and self._is_counted.issuperset(sources)
        key = (node.target, args, tuple(sorted(kwargs.items())))
        if is_counted and key in self._counted:
            return self._counted[key]
        copy = self._graph.create_node(
            "call_function", node.target, args, kwargs, f"adamw_{node.name}"
        )
        if is_counted:
            self._counted[key] = copy
            self._is_counted.add(copy)
        paths = {self._paths[s] for s in sources if s in self._paths}
        module = "optimizer"
        if len(paths) == 1:
            (self._paths[copy],) = paths
            module += f".{self._paths[copy].rpartition('.')[0]}"
        copy.meta = {
            "val": node.meta["val"],
            "nn_module_stack": {module: (module, torch.optim.AdamW)},
        }
        return copy

    def _mapped(self, argument: Any) -> Any:
        return fx.map_arg(argument, self._copies.__getitem__)
