# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that the partitioner uses of PyTorch's own names.

AOT autograd asks much of the two halves of a joint graph: the order of saved
tensors and numbers, the state of random generators, marks of effects. PyTorch
has functions for each of these. Tested with 2.13 and 2.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from torch import fx

from commsched.torch.private import names, random_states


def simplify(joint: fx.GraphModule) -> None:
    """Removes what is dead or there twice, as PyTorch's partitioner does."""
    joint.graph.eliminate_dead_code()
    if names.functorch_config.cse:
        joint.graph = names.fx_graph_cse(joint.graph)
    joint.recompile()


def first_marked(joint: fx.GraphModule) -> Optional[fx.Node]:
    """Returns the first operator that is marked to be computed again, be it
    only by preference."""
    marked = filter(names.must_recompute, joint.graph.nodes)
    return next(marked, None)


def mark_what_has_to_be_saved(joint: fx.GraphModule) -> None:
    """Marks results of effects, and what both halves write in place."""
    names.force_save_effectful_ops(joint)
    names.force_save_bw_mutation_src(joint)


def refusal(joint: fx.GraphModule) -> Optional[str]:
    """Returns what there is, in the graph or in PyTorch's settings, that only
    PyTorch's own partitioner knows about; None if there is nothing."""
    if names.functorch_config.enable_activation_offloading:
        return "torch._functorch.config.enable_activation_offloading is set"
    for node in joint.graph.find_nodes(op="placeholder"):
        if names.is_backward_state(node):
            return f"'{node.name}' is the state of a compiled backward hook"
    return None


def is_backward_input(node: fx.Node) -> bool:
    return names.is_tangent(node) or (
        names.is_bwd_seed_offset(node)
    )


def is_number(node: Any) -> bool:
    """Returns whether `node` is a symbolic number that a half may take over
    from the other; those that only assertions read are not."""
    return names.is_sym_node(node) and not (
        names.is_assert_only_symbool(node)
    )


def extract(
    joint: fx.GraphModule,
    tensors: Sequence[fx.Node],
    numbers: Sequence[fx.Node],
    opaque: Sequence[fx.Node],
    num_fwd_outputs: int,
    static_lifetime_input_indices: Optional[Sequence[int]],
) -> tuple[fx.GraphModule, fx.GraphModule, int]:
    """Returns the halves of `joint` that save these values, and how many of
    the forward's last outputs are numbers.

    Raises AssertionError if the backward needs what is neither saved nor
    can be computed from saved values.
    """
    numbers = list(numbers)
    static = set(static_lifetime_input_indices or ())
    primals = [
        node
        for node in joint.graph.find_nodes(op="placeholder")
        if names.is_primal(node)
    ]
    forward, backward = names.extract_fwd_bwd_modules(
        joint,
        list(tensors),
        saved_sym_nodes=numbers,
        saved_opaque_nodes=list(opaque),
        num_fwd_outputs=num_fwd_outputs,
        static_lifetime_input_nodes=names.OrderedSet(
            node for index, node in enumerate(primals) if index in static
        ),
    )
    for half, is_backward in ((forward, False), (backward, True)):
        half.graph.eliminate_dead_code(
            is_impure_node=lambda node: _is_kept(node, is_backward)
        )
        half.recompile()
    return forward, backward, len(numbers)


def finish(
    joint: fx.GraphModule,
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    numbers: int,
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Gives random operators that both halves run one state, and moves what
    the backward computes again to its first use."""
    if names.has_recomputable_rng_ops(joint):
        forward, backward = random_states.functionalize(
            joint, forward, backward, numbers
        )
    backward = names.reordering_to_mimic_autograd_engine(backward)
    forward = names.raise_getitems(forward)
    backward = names.raise_getitems(backward)
    forward = names.thread_graphsafe_rng_from_hops(
        forward, is_backward=False
    )
    backward = names.thread_graphsafe_rng_from_hops(
        backward, is_backward=True
    )
    return forward, backward


def set_outputs(
    forward: fx.GraphModule, outputs: Sequence[Any], num_fwd_outputs: int
) -> None:
    """Gives a forward other outputs: its own and those it saves, described as
    AOT autograd does."""
    node = forward.graph.output_node()
    node.args = (tuple(outputs),)
    # An output that was made anew for the state of random operators has none.
    if "desc" in node.meta:
        own = list(node.meta["desc"][:num_fwd_outputs])
        node.meta["desc"] = own + [
            _describe(index, output)
            for index, output in enumerate(outputs[num_fwd_outputs:])
        ]
    node.meta["output_stack_traces"] = [
        output.meta.get("stack_trace") if isinstance(output, fx.Node) else None
        for output in outputs
    ]


def _describe(index: int, saved: fx.Node) -> Any:
    if saved.meta.get("saved_tensor_with_no_vc_check", False):
        return names.SavedForBackwardsNoVcCheckAOTOutput(index)
    return names.SavedForBackwardsAOTOutput(index)


def _is_kept(node: fx.Node, is_backward: bool) -> bool:
    """Returns whether a node without users stays: each half still holds what
    it could compute of the other, among that collectives and draws of random
    numbers that it does not need."""
    if getattr(node.target, "namespace", "") == "_c10d_functional":
        return False
    if node.is_impure(impure_random=False):
        return True
    tag = node.meta.get("partitioner_tag")
    return node.is_impure() and (tag == "is_backward") == is_backward
