# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits a joint graph into the halves that a partition says."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Optional

from torch import fx
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch.private import names
from commsched.torch.private import partition as private
from commsched.torch.importer.aliases import is_view, written_nodes
from commsched.torch.importer.compute import is_random
from commsched.torch.importer.roles import innermost
from commsched.torch.importer.targets import (
    communicates,
    is_gather,
    is_transfer_wait,
    is_wait,
    transfer_kind,
)
from commsched.torch.private.names import HigherOrderOperator
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.offload import offload_saved
from commsched.torch.rewriting.partition import Partition
from commsched.torch.rewriting.quantize import quantize_saved
from commsched.torch.rewriting.verify_halves import (
    verify_halves,
    writes,
)

_WITH_EFFECTS = ("with_effects", "run_and_save_rng_state")


def split_joint(
    joint: fx.GraphModule,
    partition: Partition,
    num_fwd_outputs: int,
    static_lifetime_input_indices: Optional[Sequence[int]] = None,
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Returns the forward and the backward of `joint`.

    The forward returns its `num_fwd_outputs` outputs and what is saved, in the
    order that AOT autograd asks for: tensors, objects, numbers. Names that
    the graph does not have are skipped, and what the backward needs but may
    not compute again is saved as well, so that the partition of a rank whose
    graph has other sizes fits. Raises RewriteError where the halves would not
    compute what `joint` does.
    """
    saved = _Saved(joint, partition, num_fwd_outputs)
    try:
        forward, backward, numbers = private.extract(
            joint,
            saved.tensors,
            saved.numbers,
            saved.opaque,
            num_fwd_outputs,
            static_lifetime_input_indices,
        )
    except (AssertionError, RuntimeError) as error:
        raise RewriteError(f"cannot split the graph: {error}") from error
    verify_halves(joint, forward, backward, num_fwd_outputs)
    forward, backward = private.finish(joint, forward, backward, numbers)
    converted: dict[str, str] = {}
    if partition.quantized:
        converted = quantize_saved(
            forward, backward, partition.quantized, num_fwd_outputs
        )
    if partition.offloaded:
        sent = [converted.get(name, name) for name in partition.offloaded]
        offload_saved(forward, backward, sent, num_fwd_outputs)
    return forward, backward


def mark_new_sizes(joint: fx.GraphModule) -> None:
    """Marks what gives a size that only the device knows, such as the indices
    of what is not zero: computed again it would be another size."""
    for node in joint.graph.nodes:
        if node.meta.get("unbacked_bindings"):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def mark_reads_of_written(joint: fx.GraphModule) -> None:
    """Marks what the forward computes from inputs that it writes: the backward
    would read what was written. Inputs are written in the graph or, as the
    descriptions of its outputs say, after it."""
    written = _written_inputs(joint.graph)
    shown = set(written)
    for node in joint.graph.nodes:
        if node.op != "call_function" or writes(node):
            continue
        if not any(source in shown for source in node.all_input_nodes):
            continue
        if is_view(node):
            shown.add(node)
        elif node.meta.get("partitioner_tag") != "is_backward":
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _written_inputs(graph: fx.Graph) -> list[fx.Node]:
    described = [
        innermost(description.mutated_input)
        for description in map(innermost, graph.output_node().meta["desc"])
        if hasattr(description, "mutated_input")
    ]
    found = [
        node
        for node in graph.find_nodes(op="placeholder")
        if innermost(node.meta.get("desc")) in described
    ]
    for node in graph.nodes:
        if node.op == "call_function" and writes(node):
            found += [n for n in written_nodes(node) if n.op == "placeholder"]
    return found


class _Saved:
    """What the forward saves, in the order of the graph."""

    def __init__(self, joint, partition: Partition, num_fwd_outputs: int):
        self._chosen = set(partition.saved)
        outputs = joint.graph.output_node().args[0]
        self._forward = forward_nodes(joint.graph)
        # An ordered set.
        self._saved: dict[fx.Node, None] = {}
        self._walk(outputs[num_fwd_outputs:])
        found = [node for node in joint.graph.nodes if node in self._saved]
        self.numbers = [n for n in found if private.is_number(n)]
        # Such as a device mesh.
        self.opaque = [n for n in found if names.is_opaque_node(n)]
        apart = {*self.numbers, *self.opaque}
        self.tensors = [n for n in found if n not in apart]

    def _walk(self, outputs) -> None:
        """Finds what is saved among all that `outputs` need."""
        stack = [node for node in outputs if isinstance(node, fx.Node)]
        seen = set(stack)
        while stack:
            node = stack.pop()
            if node in self._forward and self._is_saved(node):
                self._saved[node] = None
                continue
            for source in node.all_input_nodes:
                if source not in seen:
                    seen.add(source)
                    stack.append(source)

    def _is_saved(self, node: fx.Node) -> bool:
        if node.op == "get_attr":
            return False
        if isinstance(node.meta.get("val"), (list, tuple)):
            return False  # Its elements are.
        if node.op == "placeholder" or node.name in self._chosen:
            return True
        return private.is_number(node) or not _is_repeatable(node)


def forward_nodes(joint: fx.Graph) -> set[fx.Node]:
    """Returns what the forward can compute: all that depends on no tangent
    and is not kept in the backward."""
    backward: set[fx.Node] = set()
    found = set()
    for node in joint.nodes:
        if (
            private.is_backward_input(node)
            or _is_kept_in_backward(node)
            or any(source in backward for source in node.all_input_nodes)
        ):
            backward.add(node)
        elif node.op != "output":
            found.add(node)
    return found


def _is_kept_in_backward(node: fx.Node) -> bool:
    tag = node.meta.get("partitioner_tag")
    return tag == "must_be_in_backward" or (
        tag == "is_backward" and (writes(node) or is_random(node))
    )


def _is_repeatable(node: fx.Node) -> bool:
    """Returns whether the backward may compute `node` again whatever the
    partition says of it."""
    policy = node.meta.get("recompute")
    if policy is CheckpointPolicy.MUST_RECOMPUTE:
        return True
    if policy is CheckpointPolicy.MUST_SAVE or writes(node):
        return False
    target = node.target
    if target is operator.getitem:
        return _is_repeatable(node.args[0])
    if isinstance(target, HigherOrderOperator):
        return target.name() not in _WITH_EFFECTS
    if communicates(target):
        return is_gather(target) or is_wait(target)
    if transfer_kind(target) is not None or is_transfer_wait(target):
        return False
    return not is_random(node)
