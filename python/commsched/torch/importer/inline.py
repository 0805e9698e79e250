# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a graph that run it once become the operators of that graph.

Tools wrap operators in graphs of their own: a region that is compiled once
and called for every layer, a checkpointed block, a change of the gradient
mode, a part that a partitioner has split off, an operator that a scheduler
has tied behind others; or one operator starts collectives and waits for them.
What is inside is computed and communicated like the rest, so it is imported as
if it stood there. The ties of `control_deps` are one scheduler's choice and no
dependences: they are left out, the order of the graph stays.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from typing import Any, Callable, Optional

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.targets import (
    attribute_of,
    communication_inside,
    schema_name,
)
from commsched.torch.importer.types import has_value
from commsched.torch.private.names import (
    FakeTensor,
    HigherOrderOperator,
    tree_leaves,
)

# Higher-order operators that run one graph, exactly once, on their last
# arguments.
_RUN_ONCE = frozenset(
    {
        "control_deps",
        "hints_wrapper",
        "invoke_subgraph",
        "strict_mode",
        "tag_activation_checkpoint",
        "wrap",
        "wrap_activation_checkpoint",
        "wrap_with_autocast",
        "wrap_with_set_grad_enabled",
    }
)

# What a node of the inner graph has from the call if it lacks it.
_INHERITED = (
    "ac_graph_id",
    "fwd_nn_module_stack",
    "nn_module_stack",
    "partitioner_tag",
    "recompute",
    "seq_nr",
)


_c10d = torch.ops._c10d_functional


def _gather(x: torch.Tensor, dim: int, size: int, group: Any) -> torch.Tensor:
    started = _c10d.all_gather_into_tensor(x.contiguous(), size, group)
    whole = _c10d.wait_tensor(started)
    return torch.cat(whole.chunk(size), dim) if dim else whole


def _scatter(x: torch.Tensor, dim: int, size: int, group: Any) -> torch.Tensor:
    rows = torch.cat(x.chunk(size, dim)) if dim else x.contiguous()
    started = _c10d.reduce_scatter_tensor(rows, "sum", size, group)
    return _c10d.wait_tensor(started)


#: What operators on two tensors, a dimension and a group do to each tensor:
#: so context parallelism with flex attention gathers keys and values, and
#: reduces their gradients.
_COMPOSITES = {
    "cplib::flex_cp_allgather": _gather,
    "cplib::flex_cp_allgather_backward": _scatter,
}

_bodies: weakref.WeakKeyDictionary[fx.Node, Optional[fx.GraphModule]] = (
    weakref.WeakKeyDictionary()
)


def is_composite_collective(target: Any) -> bool:
    """Returns whether a call of `target` may have a body."""
    return schema_name(target) in _COMPOSITES


def body_of(node: fx.Node) -> Optional[fx.GraphModule]:
    """Returns the graph that `node` runs on its first two arguments, or None if
    their shapes are not known."""
    if node not in _bodies:
        _bodies[node] = _traced(node)
    return _bodies[node]


def _traced(node: fx.Node) -> Optional[fx.GraphModule]:
    if len(node.args) != 4:
        return None
    *operands, dim, group = node.args
    given = [operand.meta.get("val") for operand in operands]
    made = node.meta.get("val")
    values = [*given, *(made if isinstance(made, (list, tuple)) else [None])]
    if not all(_is_static(value) for value in values):
        return None
    dim %= given[0].dim()
    sizes = sorted((given[0].shape[dim], made[0].shape[dim]))
    size = sizes[1] // sizes[0]
    apply = _COMPOSITES[schema_name(node.target)]
    return make_fx(
        lambda *parts: tuple(apply(part, dim, size, group) for part in parts)
    )(*given)


def _is_static(value: Any) -> bool:
    return isinstance(value, FakeTensor) and all(
        isinstance(length, int) and length for length in value.shape
    )


def inlined(gm: torch.fx.GraphModule) -> torch.fx.Graph:
    """Returns the graph of `gm`, or a copy of it in which there is no call
    of a graph that could be replaced by what it runs."""
    copy, _ = _inlined(gm)
    return copy


def owners(gm: torch.fx.GraphModule) -> dict[str, str]:
    """Returns, by the name of a node that `inlined` makes of a call in the
    graph of `gm`, the name of the call."""
    _, owner = _inlined(gm)
    return owner


def _inlined(gm: torch.fx.GraphModule) -> tuple[torch.fx.Graph, dict]:
    owner: dict[str, str] = {}
    if not any(_callee(node) for node in gm.graph.nodes):
        return gm.graph, owner
    copy = torch.fx.Graph(owning_module=gm)
    known: dict[torch.fx.Node, Any] = {}
    taken = {node.name for node in gm.graph.nodes}
    for node in gm.graph.nodes:
        count = len(copy.nodes)
        known[node] = _copied(copy, node, known, node.name, "", {}, taken)
        if _callee(node):
            made = itertools.islice(reversed(copy.nodes), len(copy.nodes) - count)
            owner.update((inner.name, node.name) for inner in made)
    return copy, owner


def _copied(
    copy: torch.fx.Graph,
    node: torch.fx.Node,
    known: dict,
    name: str,
    path: str,
    inherited: dict,
    taken: set,
) -> Any:
    """Copies `node` under `name` and returns what stands for it; `path` is
    where the graph's module is in the outermost one."""

    def find(other: torch.fx.Node) -> Any:
        return known[other]

    if node.target is operator.getitem:
        source, key = node.args
        if isinstance(source, torch.fx.Node) and isinstance(
            known[source], (tuple, list, dict)
        ):
            try:
                return known[source][key]
            except (IndexError, KeyError):
                raise GraphImportError(
                    f"node '{source.name}' has no element {key}", node
                ) from None
    meta = {**inherited, **node.meta}
    callee = _callee(node)
    if callee is not None:
        return _body(copy, node, callee, find, name, path, meta, taken)
    made = copy.node_copy(node, find)
    made.meta = meta
    if made.op == "get_attr":
        made.target = path + str(node.target)
    if made.name != name:
        made.name = name
    return made


def _body(
    copy, call, callee, find: Callable, name, path, meta, taken
) -> Any:
    """Copies the graph that `call` runs and returns its result."""
    held, body, operands = callee
    given = iter(torch.fx.node.map_arg(operands, find))
    calls = [n for n in body.graph.nodes if n.op.startswith("call_")]
    inherited = {key: meta[key] for key in _INHERITED if key in meta}
    known: dict[torch.fx.Node, Any] = {}
    for node in body.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(given)
        elif node.op == "output":
            return torch.fx.node.map_arg(node.args[0], known.__getitem__)
        else:
            inner = name
            if calls != [node]:
                inner = _free(f"{name}_{node.name}", taken)
            known[node] = _copied(
                copy, node, known, inner, f"{path}{held}.", inherited, taken
            )
    return None


def _free(wanted: str, taken: set) -> str:
    """Returns `wanted`, with a number if a node is called so."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def _callee(node: torch.fx.Node) -> Optional[tuple]:
    """Returns, for a call that can be replaced, the path of the graph module,
    the module itself, and its operands; else None."""
    target = node.target
    if is_composite_collective(target):
        body = body_of(node)
        return body and _operands(node, "", body, node.args[:2])
    if node.op == "call_module":
        body = attribute_of(node.graph.owning_module, target)
        if isinstance(body, torch.fx.GraphModule):
            rest = (*node.args, *node.kwargs.values())
            return _operands(node, target, body, rest)
        return None
    if not isinstance(target, HigherOrderOperator):
        return None
    if target.name() not in _RUN_ONCE:
        return None
    for index, argument in enumerate(node.args):
        if not isinstance(argument, torch.fx.Node) or argument.op != "get_attr":
            continue
        body = attribute_of(node.graph.owning_module, argument.target)
        if isinstance(body, torch.fx.GraphModule):
            return _operands(node, argument.target, body, node.args[index + 1 :])
    return None


def _operands(node, held, body, rest) -> Optional[tuple]:
    count = sum(n.op == "placeholder" for n in body.graph.nodes)
    leaves = tree_leaves(list(rest))
    if len(leaves) < count:
        return None
    described = all(
        has_value(inner)
        for inner in body.graph.nodes
        if inner.op.startswith("call_")
    )
    # A body of which nothing is known can still be one opaque operator.
    if (
        not described
        and node.op != "call_module"
        and communication_inside(node) is None
    ):
        return None
    return held, body, leaves[len(leaves) - count :]
