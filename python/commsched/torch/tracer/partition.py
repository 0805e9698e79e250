# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Split a captured joint graph into a forward and a backward graph.

torch's partitioners decide what the forward saves. Two things are added:
gathered parameters can be given back after their use and gathered again in the
backward, and what is saved is a storage, never two views of the same one.
"""

from __future__ import annotations

from torch import fx

from commsched.torch.importer.aliases import is_view
from commsched.torch.importer.joint import JointOutputs
from commsched.torch.private.names import (
    InputMutationAOTOutput,
    SavedForBackwardsAOTOutput,
    default_partition,
    min_cut,
)
from commsched.torch.rewriting.offload import offload_saved

#: Partitioners of the joint graph, by the name of the tracer's option.
PARTITIONERS = {
    "default": default_partition,
    "min-cut": min_cut,
}


def partition(
    joint: fx.GraphModule,
    partitioner: str = "min-cut",
    offload: int | None = None,
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Split a joint graph, which is consumed, into forward and backward.

    ``min-cut`` is what a compiler uses: it saves the fewest bytes and repeats
    pointwise operations; ``default`` saves what eager execution would. The
    forward returns the loss and then what is saved, which the backward takes
    in the same order, and then the tangent. What takes at least ``offload``
    MiB is sent to the host.
    """
    num_outputs = num_model_outputs(joint)
    forward, backward = PARTITIONERS[partitioner](
        joint, (), num_fwd_outputs=num_outputs
    )
    _save_storages(forward, backward, num_outputs)
    if offload is not None:
        names = [
            node.name
            for node in forward.graph.output_node().args[0][num_outputs:]
            if _size(node) >= offload << 20
        ]
        offload_saved(forward, backward, names, num_outputs, runs=False)
    return forward, backward


def num_model_outputs(joint: fx.GraphModule) -> int:
    """How many outputs of a joint graph, the first ones, are the model's:
    inputs that it updates, such as buffers, and the loss."""
    return len(JointOutputs(joint.graph).forward)


def updated_inputs(joint: fx.GraphModule) -> dict[str, int]:
    """The outputs of a joint graph that replace its inputs, by the names of
    their placeholders."""
    inputs = {
        node.meta["desc"]: node.name
        for node in joint.graph.find_nodes(op="placeholder")
    }
    return {
        inputs[descriptor.mutated_input]: index
        for index, descriptor in enumerate(joint.graph.output_node().meta["desc"])
        if isinstance(descriptor, InputMutationAOTOutput)
    }


def _size(node: fx.Node) -> int:
    """Bytes of a tensor; 0 for one whose size only the device knows."""
    size = getattr(node.meta["val"], "nbytes", 0)
    return size if isinstance(size, int) else 0


def _save_storages(
    forward: fx.GraphModule, backward: fx.GraphModule, num_outputs: int
) -> None:
    """Save what a view shows in place of the view, and view it again.

    A saved view keeps its whole storage alive, and two views of one storage
    would look like two: saving the storage itself says what is held.
    """
    output = forward.graph.output_node()
    saved = {node.name: node for node in output.args[0][num_outputs:]}
    known = {node.name: node for node in backward.graph.nodes}
    for name, node in saved.items():
        chain = []
        while node.op == "call_function" and is_view(node):
            chain.append(node)
            node = node.args[0]
        view, base = known[name], known.get(node.name)
        if not chain or base and base.op != "placeholder":
            continue  # Not a view, or one whose base the backward repeats.
        if not base:
            with backward.graph.inserting_before(view):
                base = backward.graph.placeholder(node.name)
            base.meta = dict(node.meta)
            known[node.name] = base
        _rebuild_view(backward.graph, view, base, chain)
    nodes = {node.name: node for node in forward.graph.nodes}
    inputs = backward.graph.find_nodes(op="placeholder")
    now_saved = [nodes[n.target] for n in inputs if n.target in nodes]
    output.args = (tuple(output.args[0][:num_outputs]) + tuple(now_saved),)
    output.meta["desc"] = output.meta["desc"][:num_outputs] + [
        SavedForBackwardsAOTOutput(i) for i in range(len(now_saved))
    ]
    for graph_module in (forward, backward):
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()


def _rebuild_view(
    graph: fx.Graph, view: fx.Node, base: fx.Node, chain: list[fx.Node]
) -> None:
    """Replace the placeholder ``view`` by ``chain``, last first."""
    first_user = min(view.users)
    with graph.inserting_before(first_user):
        value = base
        for link in reversed(chain):
            value = graph.node_copy(link, lambda _, value=value: value)
    view.replace_all_uses_with(value)
    graph.erase_node(view)
