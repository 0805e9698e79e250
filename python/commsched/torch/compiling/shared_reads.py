# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of adopted models that a graph of Dynamo reads more than once.

Each read gathers the parameter and reduces its gradient. `fully_shard` and
`DistributedDataParallel` do that once, after the gradients of all uses are added up,
which rounds otherwise. So one read is kept, outside of checkpointed functions if it
is used in several, and one more where no gradients are recorded.
"""

from __future__ import annotations

import operator
import weakref
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import torch
from torch import fx
from torch.distributed.tensor import DTensor

from commsched.torch.private import names

#: Objects that read a parameter, with it as their attribute `parameter`, and its
#: adopted model as `model`.
_READS: weakref.WeakSet[Any] = weakref.WeakSet()

_CHECKPOINT = torch.ops.higher_order.tag_activation_checkpoint
#: What a read consists of, by methods of tensors and names of functions.
_METHODS = frozenset({"detach", "redistribute", "to_local"})
_FUNCTIONS = frozenset({"autograd_function_apply", "from_local"})


def register_read(read: Any) -> None:
    _READS.add(read)


def list_reads() -> list[Any]:
    return list(_READS)


def share_reads(gm: fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Makes `gm` read each parameter of adopted models once. `inputs` are those of
    the graph."""
    adopted = {id(read.parameter): read for read in _READS}
    placeholders = gm.graph.find_nodes(op="placeholder")
    sharded = {
        node: adopted[id(value)]
        for node, value in zip(placeholders, inputs)
        if id(value) in adopted and isinstance(value, DTensor)
    }
    _check_unchanged(gm, sharded)
    repeated = {
        node
        for node, value in zip(placeholders, inputs)
        if id(value) in adopted and max(_count(gm, node).values(), default=0) > 1
    }
    if not repeated:
        return
    _take_out(gm, repeated)
    _merge(gm, repeated)
    gm.graph.lint()
    gm.recompile()


def _check_unchanged(gm: fx.GraphModule, sharded: dict[fx.Node, Any]) -> None:
    """Raises RuntimeError if `gm` changes in place what it has gathered: other reads
    would not see that. `sharded` has what reads each parameter."""
    known = dict(sharded)
    for node in _list_reads(gm, sharded):
        read = known[node] = next(known[n] for n in node.all_input_nodes if n in known)
        for user in node.users:
            name = str(user.target)
            if (
                user.op == "call_method"
                and name.endswith("_")
                and not name.endswith("__")
                and user.args[0] is node
            ):
                raise RuntimeError(
                    f"a forward changes the parameter '{read.name}' of a "
                    f"{type(read.owner).__name__} by {name}, but has a gathered copy "
                    "of it: change it between steps"
                )


def _count(gm: fx.GraphModule, node: fx.Node) -> Counter:
    """How often `node` is read, by the first operation of the read."""
    counts: Counter = Counter()
    for user in node.users:
        if user.target is _CHECKPOINT:
            body, operands = _parts(gm, user)
            for inner, operand in operands.items():
                if operand is node:
                    counts += _count(body, inner)
        elif _is_part(user):
            counts[user.target] += 1
    return counts


def _is_part(node: fx.Node) -> bool:
    """Whether a node may be a part of a read."""
    if node.op == "call_method":
        return node.target in _METHODS
    if node.target is operator.getitem:
        # A result of a function that has several, not a slice of a tensor.
        return isinstance(node.args[1], int)
    return (
        node.op == "call_function"
        and getattr(node.target, "__name__", None) in _FUNCTIONS
    )


def _parts(
    gm: fx.GraphModule, node: fx.Node
) -> tuple[fx.GraphModule, dict[fx.Node, Any]]:
    """The graph of a checkpointed function, and its operands by its placeholders."""
    body = getattr(gm, node.args[0].target)
    return body, dict(zip(body.graph.find_nodes(op="placeholder"), node.args[1:]))


def _list_reads(gm: fx.GraphModule, roots: Iterable[fx.Node]) -> list[fx.Node]:
    """The nodes that are computed from `roots` and other inputs by what reads of
    `roots` consist of."""
    known = set(gm.graph.find_nodes(op="placeholder"))
    known.update(gm.graph.find_nodes(op="get_attr"))
    derived, found = set(roots), []
    for node in gm.graph.nodes:
        operands = node.all_input_nodes
        if (
            _is_part(node)
            and not derived.isdisjoint(operands)
            and known.issuperset(operands)
        ):
            known.add(node)
            derived.add(node)
            found.append(node)
    return found


def _take_out(gm: fx.GraphModule, roots: Iterable[fx.Node]) -> None:
    """Moves the reads of `roots` out of checkpointed functions."""
    for node in gm.graph.find_nodes(op="call_function", target=_CHECKPOINT):
        body, operands = _parts(gm, node)
        inner = [p for p, operand in operands.items() if operand in roots]
        if not inner:
            continue
        _take_out(body, inner)
        _take_out_of(gm, node, _list_reads(body, inner))
        body.graph.lint()
        body.recompile()


def _take_out_of(gm: fx.GraphModule, node: fx.Node, reads: list[fx.Node]) -> None:
    """Moves `reads` from the checkpointed function that `node` calls before it."""
    body, outside = _parts(gm, node)
    placeholders = list(outside)

    def get_outside(inner: fx.Node) -> fx.Node:
        if inner.op == "get_attr":
            name = f"{node.args[0].target}_{inner.target}"
            setattr(gm, name, getattr(body, inner.target))
            return gm.graph.get_attr(name)
        return outside[inner]

    for read in reads:
        with gm.graph.inserting_before(node):
            outside[read] = gm.graph.node_copy(read, get_outside)
    for read in reads:
        if all(user in outside for user in read.users):
            continue
        with body.graph.inserting_after(placeholders[-1]):
            placeholder = body.graph.placeholder(f"{read.name}_outside")
        placeholder.meta.update(read.meta)
        placeholders.append(placeholder)
        read.replace_all_uses_with(placeholder, lambda user: user not in outside)
        node.args = (*node.args, outside[read])
    for read in reversed(reads):
        body.graph.erase_node(read)


def _merge(gm: fx.GraphModule, roots: Iterable[fx.Node]) -> None:
    """Keeps the first of the reads of `roots` that are equal."""
    first: dict[Hashable, fx.Node] = {}
    for node in _list_reads(gm, roots):
        arguments = _freeze(gm, (node.args, node.kwargs))
        results = names.tree_leaves(node.meta.get("example_value"))
        has_gradient = any(getattr(r, "requires_grad", False) for r in results)
        kept = first.setdefault((node.target, has_gradient, arguments), node)
        if kept is not node:
            node.replace_all_uses_with(kept)
            gm.graph.erase_node(node)


def _freeze(gm: fx.GraphModule, value: Any) -> Hashable:
    """`value` as what is equal if it means the same."""
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(gm, item) for item in value)
    if isinstance(value, dict):
        return tuple((key, _freeze(gm, item)) for key, item in value.items())
    if isinstance(value, fx.Node) and value.op == "get_attr":
        return _freeze_graph(getattr(gm, value.target))
    return value


def _freeze_graph(gm: fx.GraphModule) -> Hashable:
    """The graph, with positions of nodes in place of their names."""
    positions = {node: index for index, node in enumerate(gm.graph.nodes)}
    return tuple(
        (
            node.op,
            None if node.op == "placeholder" else node.target,
            _freeze(gm, fx.map_arg((node.args, node.kwargs), positions.get)),
        )
        for node in gm.graph.nodes
    )
