# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that two halves together compute what their joint graph does.

Every value gets a number: two values have the same if they are the same
operation on values of the same numbers. Operations that draw random numbers,
write memory or have effects are equal to nothing but themselves, so each has
to be in exactly one half.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch.importer.aliases import (
    written_arguments,
    written_nodes,
)
from commsched.torch.importer.compute import is_random
from commsched.torch.private import storage_of
from commsched.torch.private.names import HigherOrderOperator, OpOverload
from commsched.torch.rewriting.errors import RewriteError


def verify_halves(
    joint: fx.GraphModule,
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    num_fwd_outputs: int,
) -> None:
    """Raises RewriteError unless the forward computes the first outputs of
    `joint` and the values that the backward takes, and the backward the other
    outputs."""
    numbers = _Numbers()
    known = numbers.of(joint.graph, {})
    names = {node.name: node for node in joint.graph.nodes}
    inputs = {
        node.name: known[node]
        for node in joint.graph.find_nodes(op="placeholder")
    }
    in_forward = numbers.of(forward.graph, inputs)
    given = joint.graph.output_node().args[0]
    outputs = forward.graph.output_node().args[0]
    _compare("output", given[:num_fwd_outputs], outputs, known, in_forward)

    saved = {
        in_forward[node]: node
        for node in outputs[num_fwd_outputs:]
        if isinstance(node, fx.Node)
    }
    taken = dict(inputs)
    for node in backward.graph.find_nodes(op="placeholder"):
        source = names.get(node.name)
        if source is None:
            raise RewriteError(
                f"the backward takes '{node.name}', which the graph lacks"
            )
        taken[node.name] = known[source]
        if source.op != "placeholder" and known[source] not in saved:
            raise RewriteError(
                f"the backward takes '{node.name}', which the forward does "
                "not save"
            )
    in_backward = numbers.of(backward.graph, taken)
    _compare(
        "gradient",
        given[num_fwd_outputs:],
        backward.graph.output_node().args[0],
        known,
        in_backward,
    )
    _check_effects(joint.graph, forward.graph, backward.graph)
    _check_writes(forward.graph, outputs[num_fwd_outputs:])


def writes(node: fx.Node) -> bool:
    return isinstance(node.target, OpOverload) and bool(
        written_arguments(node.target)
    )


def _compare(what, wanted, found, known, computed) -> None:
    if len(found) < len(wanted):
        raise RewriteError(
            f"a half has {len(found)} outputs of {len(wanted)}"
        )
    for index, (old, new) in enumerate(zip(wanted, found)):
        if isinstance(old, fx.Node) and isinstance(new, fx.Node):
            if known[old] == computed[new]:
                continue
        elif old is new or old == new:
            continue
        raise RewriteError(
            f"{what} {index} is '{old}' in the graph, but another value, "
            f"'{new}', in its half"
        )


class _Numbers:
    """Numbers values of several graphs alike."""

    def __init__(self):
        self._known: dict[Any, int] = {}

    def of(
        self, graph: fx.Graph, inputs: dict[str, int]
    ) -> dict[fx.Node, int]:
        """Returns the number of each node but the output; `inputs` are those
        of placeholders that are values of another graph, by name."""
        found: dict[fx.Node, int] = {}
        for node in graph.nodes:
            if node.op == "output":
                continue
            if node.op == "placeholder" and node.name in inputs:
                found[node] = inputs[node.name]
                continue
            key = _key(node, found)
            found[node] = self._known.setdefault(key, len(self._known))
        return found


def _key(node: fx.Node, numbers: dict[fx.Node, int]) -> Any:
    name = node.name if _is_unique(node) else ""
    if node.op in ("placeholder", "get_attr"):
        return (node.op, str(node.target), name)
    return (
        node.op,
        node.target,
        _freeze(node.args, numbers),
        _freeze(node.kwargs, numbers),
        name,
    )


def _freeze(value: Any, numbers: dict[fx.Node, int]) -> Any:
    """Returns arguments as something that is hashed, equal where they are."""
    if isinstance(value, fx.Node):
        return ("node", numbers[value])
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(item, numbers) for item in value)
    if isinstance(value, dict):
        return tuple(
            (str(key), _freeze(value[key], numbers)) for key in value
        )
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return ("slice", _freeze(parts, numbers))
    return (type(value).__name__, repr(value))


def _is_unique(node: fx.Node) -> bool:
    """Returns whether two runs of `node` differ from one."""
    if node.op != "call_function":
        return False
    if is_random(node):
        # Those that are marked get one state in both halves.
        return node.meta.get("recompute") is not CheckpointPolicy.MUST_RECOMPUTE
    return _has_effects(node)


def _has_effects(node: fx.Node) -> bool:
    if isinstance(node.target, HigherOrderOperator):
        return node.target.name() == "with_effects"
    return writes(node)


def _check_effects(
    joint: fx.Graph, forward: fx.Graph, backward: fx.Graph
) -> None:
    """Checks that what may not run twice runs once."""
    halves = [
        {node.name for node in half.nodes if _is_unique(node)}
        for half in (forward, backward)
    ]
    for node in joint.nodes:
        if not _is_unique(node):
            continue
        count = sum(node.name in names for names in halves)
        if count > 1 or (count == 0 and _has_effects(node)):
            raise RewriteError(
                f"'{node.name}' ({node.target}) has to run in one half, but "
                f"runs in {'both' if count else 'none'}"
            )


def _check_writes(forward: fx.Graph, saved: Iterable[Any]) -> None:
    """Checks that the forward does not write what it saves of its inputs: the
    backward would see what was written."""
    held = {
        storage_of(node): node
        for node in saved
        if isinstance(node, fx.Node) and not _has_effects(node)
    }
    held.pop(None, None)
    for node in forward.nodes:
        if node.op != "call_function" or not _has_effects(node):
            continue
        for written in written_nodes(node) if writes(node) else ():
            shown = held.get(storage_of(written))
            if shown is not None:
                raise RewriteError(
                    f"'{node.name}' writes '{written.name}' after "
                    f"'{shown.name}', which shares its memory, was saved"
                )
