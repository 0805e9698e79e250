# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random states of both halves and marks of activation checkpointing, added to
joint graphs that have neither."""

import operator
import random

import torch
import torch._prims.rng_prims  # Defines the operator.
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch.importer.aliases import is_view

aten = torch.ops.aten
_philox = torch.ops.rngprims.philox_rand.default

#: The names that AOT autograd gives to the arguments, in its order.
SEEDS = ("fwd_seed_0", "fwd_base_offset_0", "bwd_seed_0", "bwd_base_offset_0")

#: The policies of a region of checkpointing, with their weights.
POLICIES = {
    CheckpointPolicy.MUST_RECOMPUTE: 6,
    CheckpointPolicy.PREFER_RECOMPUTE: 2,
    CheckpointPolicy.MUST_SAVE: 1,
    CheckpointPolicy.PREFER_SAVE: 1,
    None: 2,
}


#: Those that ask to compute again.
AGAIN = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class Seeder:
    """Adds the arguments and what reads them to a graph, as `draw` says."""

    def __init__(self, graph: torch.fx.Graph, draw: random.Random):
        self._graph = graph
        self._draw = draw
        nodes = [n for n in graph.nodes if n.op == "call_function"]
        nodes = list(filter(_is_matrix, nodes))
        self._forward = [node for node in nodes if not is_backward(node)]
        self._backward = list(filter(is_backward, nodes))
        last = graph.find_nodes(op="placeholder")[-1]
        self._mode = last.meta["val"].fake_mode
        self._seeds = []
        for name in SEEDS:
            with graph.inserting_after(last):
                last = graph.placeholder(name)
            with self._mode:
                last.meta["val"] = torch.empty((), dtype=torch.int64)
            self._seeds.append(last)

    def add(self) -> None:
        draw = self._draw
        for node in self._pick(self._forward, 3):
            mask = self._drop_forward(node)
            later = [g for g in self._backward if _is_like(g, node)]
            if later and draw.random() < 0.8:
                self._scale(draw.choice(later), mask)
        for node in self._pick(self._backward, 2):
            self._scale(node, self._noise(node, self._seeds[2:], node))
        # What reads a seed of the backward and a value of the forward, but no
        # gradient.
        for node in self._pick(self._backward, 1):
            alike = [f for f in self._forward if _is_like(f, node)]
            if alike:
                source = draw.choice(alike)
                last = max(source, node)
                mixed = self._emit(
                    last, node, aten.mul.Tensor, (source, self._seeds[3])
                )
                later = [g for g in self._backward if g > mixed]
                later = [g for g in later if _is_like(g, node)]
                self._scale(draw.choice(later) if later else node, mixed)

    def _pick(self, nodes, most):
        count = self._draw.randint(1, most)
        return self._draw.sample(nodes, min(count, len(nodes)))

    def _drop_forward(self, node):
        """Multiplies `node` with random numbers for its users in the forward;
        returns these. At times the seed itself is computed with."""
        users = [u for u in node.users if not is_backward(u)]
        if self._draw.random() < 0.3:
            seed = self._draw.choice(self._seeds[:2])
            mask = self._emit(node, node, aten.add.Tensor, (node, seed))
        else:
            mask = self._noise(node, self._seeds[:2], node)
        dropped = self._emit(mask, node, aten.mul.Tensor, (node, mask))
        for user in users:
            if user.op != "output" or self._draw.random() < 0.5:
                user.replace_input_with(node, dropped)
        return mask

    def _scale(self, node, factor):
        """Multiplies `node` with `factor` for all of its users."""
        last = max(node, factor)
        users = [user for user in node.users if user > last]
        scaled = self._emit(last, node, aten.mul.Tensor, (node, factor))
        for user in users:
            user.replace_input_with(node, scaled)

    def _noise(self, behind, seeds, like):
        value = like.meta["val"]
        drawn = self._emit(
            behind,
            like,
            _philox,
            (list(value.shape), *seeds, None, value.device, value.dtype),
        )
        return self._emit(drawn, like, operator.getitem, (drawn, 0))

    def _emit(self, behind, like, target, args):
        with self._graph.inserting_after(behind):
            node = self._graph.call_function(target, args)
        values = torch.fx.map_arg(args, lambda source: source.meta["val"])
        with self._mode:
            node.meta["val"] = target(*values)
        if isinstance(node.meta["val"], torch.Tensor):
            node.meta["tensor_meta"] = like.meta.get("tensor_meta")
        if "partitioner_tag" in like.meta:
            node.meta["partitioner_tag"] = like.meta["partitioner_tag"]
        return node


def _is_matrix(node):
    value = node.meta.get("val")
    return (
        isinstance(value, torch.Tensor)
        and value.dtype.is_floating_point
        and value.dim() == 2
    )


def _is_like(node, other):
    return node.meta["val"].shape == other.meta["val"].shape


def is_backward(node):
    return node.meta.get("partitioner_tag") == "is_backward"


def add_seeds(graph_module, seed):
    """Adds the random states of both halves, and what draws from them."""
    Seeder(graph_module.graph, random.Random(seed)).add()
    compute_values(graph_module.graph)
    graph_module.graph.lint()
    graph_module.recompile()


def compute_values(graph):
    """Computes all values anew: views show what they have as operands now. An
    operand that cannot be viewed any more is copied, as a reshape does."""
    (first, *_) = graph.find_nodes(op="placeholder")
    with first.meta["val"].fake_mode:
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            try:
                node.meta["val"] = _compute(node)
            except ValueError:
                if node.target is not aten.view.default:
                    raise
                _copy_operand(graph, node)
                node.meta["val"] = _compute(node)


def _compute(node):
    args, kwargs = torch.fx.map_arg(
        (node.args, node.kwargs), lambda source: source.meta["val"]
    )
    return node.target(*args, **kwargs)


def _copy_operand(graph, view):
    source = view.args[0]
    with graph.inserting_before(view):
        copy = graph.call_function(
            aten.clone.default,
            (source,),
            {"memory_format": torch.contiguous_format},
        )
    # The half is that of the view.
    copy.meta = {**view.meta, "val": _compute(copy)}
    view.args = (copy, *view.args[1:])


def add_marks(graph_module, seed):
    """Marks parts of the forward as regions of activation checkpointing."""
    draw = random.Random(seed)
    forward = [
        n
        for n in graph_module.graph.nodes
        if n.op == "call_function" and not is_backward(n)
    ]
    ends = sorted(draw.sample(range(len(forward) + 1), min(4, len(forward))))
    for region, (first, last) in enumerate(zip(ends[::2], ends[1::2])):
        for node in forward[first:last]:
            owner = node.args[0] if node.target is operator.getitem else node
            policy = (
                owner.meta.get("recompute")
                if owner is not node
                else draw.choices(list(POLICIES), POLICIES.values())[0]
            )
            # PyTorch saves no view, whatever the mark.
            if policy is not None and (policy in AGAIN or not is_view(node)):
                node.meta["recompute"] = policy
                node.meta["ac_graph_id"] = region
