# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters that are gathered again in the backward.

A sharded parameter that the forward gathers is either saved whole for the
backward, or given back after its use and gathered again (FSDP's
`reshard_after_forward`). The marks are torch's own for activation
checkpointing, which all partitioners of a joint graph honour.
"""

from __future__ import annotations

import operator
from collections.abc import Collection

from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch.compiling.roles import is_parameter
from commsched.torch.importer.aliases import is_view
from commsched.torch.importer.targets import is_gather, is_wait, schema_name
from commsched.torch.rewriting.dependences import started_by

_COPIES = ("aten::cat", "aten::clone", "aten::_to_copy")


def reshard_after_forward(
    joint: fx.GraphModule, parameters: Collection[int] = ()
) -> int:
    """Marks every gathered parameter of `joint` to be gathered again in the
    backward, and returns how many gathers this are.

    `parameters` are the positions of parameters among the inputs of Dynamo's
    graph (:func:`roles.parameter_inputs`); parameters of a module that AOT
    autograd was given need not be in it. The marks are on each gather, on
    what prepares its operand, and on views and copies of its result; an
    operation that has a mark of its own keeps it.
    """
    gathered, gathers = _gathered(joint, parameters)
    _mark(gathered, _next_region(joint))
    return gathers


def keep_after_forward(
    joint: fx.GraphModule, parameters: Collection[int] = ()
) -> int:
    """Marks the result of every gather of a parameter to be saved for the
    backward, and returns how many gathers this are; an operation that has a
    mark of its own keeps it."""
    gathered, gathers = _gathered(joint, parameters)
    for node in gathered:
        if is_wait(node.target) and "recompute" not in node.meta:
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    return gathers


def repeat_collectives(joint: fx.GraphModule, names: Collection[str]) -> None:
    """Marks the collectives with these names to be launched again in the
    backward, with what prepares their operands and views of their results, and
    the results of all others to be saved, but for marked ones."""
    region = _next_region(joint)
    whole: set[fx.Node] = set()
    for node in joint.graph.nodes:
        if (
            node.op != "call_function"
            or node.meta.get("partitioner_tag") == "is_backward"
        ):
            continue
        inputs = node.all_input_nodes
        if is_wait(node.target):
            start = started_by(node)
            if start is None or start.name not in names:
                node.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)
                continue
            for each in (node, *inputs, start):
                each.meta.pop("recompute", None)
        elif not (
            inputs
            and all(source in whole for source in inputs)
            and _keeps_data(node)
        ):
            continue
        whole.add(node)
        _mark([node], region)


def _next_region(joint: fx.GraphModule) -> int:
    """Returns a region behind all others: partitioners save what a later one
    takes from an earlier one."""
    return 1 + max(
        (
            node.meta["ac_graph_id"]
            for node in joint.graph.nodes
            if "ac_graph_id" in node.meta
        ),
        default=-1,
    )


def _mark(nodes: list[fx.Node], region: int) -> None:
    """Marks `nodes`, and all that they depend on up to what is marked."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.op != "call_function" or "recompute" in node.meta:
            continue
        node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
        node.meta["ac_graph_id"] = region
        stack.extend(node.all_input_nodes)


def _gathered(
    joint: fx.GraphModule, parameters: Collection[int]
) -> tuple[list[fx.Node], int]:
    """Returns the gathers of parameters with their waits and views, in the
    order of the graph, and the number of gathers."""
    derived = {
        node
        for node in joint.graph.find_nodes(op="placeholder")
        if is_parameter(node, parameters)
    }
    gathered: dict[fx.Node, None] = {}
    gathers = 0
    for node in joint.graph.nodes:
        inputs = node.all_input_nodes
        if (
            node.op != "call_function"
            or node.meta.get("partitioner_tag") == "is_backward"
            or not inputs
            or any(source not in derived for source in inputs)
        ):
            continue
        is_whole = any(source in gathered for source in inputs)
        if is_whole and not _keeps_data(node):
            continue
        derived.add(node)
        gathers += is_gather(node.target)
        if is_gather(node.target) or is_whole:
            gathered[node] = None
    return list(gathered), gathers


def _keeps_data(node: fx.Node) -> bool:
    """Returns whether `node` delivers what its operands hold, in another
    place, shape or type: what follows the gather of an uneven shard."""
    return (
        is_wait(node.target)
        or node.target is operator.getitem
        or is_view(node)
        or schema_name(node.target) in _COPIES
    )
