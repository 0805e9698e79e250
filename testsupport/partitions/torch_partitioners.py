# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the partitioners of torch._functorch."""

import contextlib
import tempfile
from unittest import mock

import torch
from torch._functorch import config, partitioners

from cases import copied
from commsched.torch.importer.roles import Roles
from commsched.torch.importer.types import Values

#: The default of this version of PyTorch, with marks as without.
OWN_DEFAULT = "default of PyTorch 2.13"

PARTITIONERS = {
    "default": partitioners.default_partition,
    OWN_DEFAULT: partitioners.default_partition,
    "min-cut": partitioners.min_cut_rematerialization_partition,
}


#: What autograd could not do with the forward.
SEVERAL = "saves several results as one, and fails"


class Refusal(Exception):
    """The reference does not partition the graph."""


def find_static(graph):
    """The places of parameters and buffers among the forward's arguments, as
    AOT autograd gives them."""
    roles = Roles(graph.graph, "joint", Values({}))
    primals = filter(partitioners._is_primal, graph.graph.nodes)
    return [i for i, p in enumerate(primals) if roles.of(p) == "parameter"]


def run(case, strategy, budget=1.0, is_simplified=False):
    """Partitions a copy: what is saved, and the names of the nodes of both
    halves.

    The strategy is a key of PARTITIONERS, but on a graph with marks to compute
    again: there the default is the minimum cut, whatever the version of
    PyTorch. OWN_DEFAULT is this version's. `is_simplified` says that the graph
    has no repeated operators, which then are not looked for."""
    if strategy == "default" and case.is_marked:
        strategy = "min-cut"
    graph = copied(case.graph)
    static = find_static(graph)
    patch = {
        "activation_memory_budget": budget,
        "activation_memory_budget_runtime_estimator": "flops",
        "activation_memory_budget_solver": "dp",
        "cse": not is_simplified,
    }
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(config.patch(patch))
            stack.enter_context(_without_states())
            # Of a graph that it cannot partition it leaves a file behind.
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stack.enter_context(contextlib.chdir(folder))
            forward, backward = PARTITIONERS[strategy](
                graph,
                (),
                num_fwd_outputs=case.num_forward,
                static_lifetime_input_indices=static,
            )
    except (AssertionError, RuntimeError) as error:
        raise Refusal(f"the reference: {str(error).splitlines()[0]}") from error
    outputs = forward.graph.output_node().args[0]
    saved = [node.name for node in outputs[case.num_forward :]]
    whole = [n for n in outputs[case.num_forward :] if _is_several(n)]
    if whole:
        raise Refusal(f"the reference {SEVERAL}: {whole[0]}")
    return saved, find_live(forward), find_live(backward)


def _is_several(node):
    return isinstance(node.meta.get("val"), (list, tuple))


def _without_states():
    """Random operators keep their names: what is decided is compared, not the
    states that are saved for it afterwards."""
    return mock.patch.object(
        partitioners, "functionalize_rng_ops", lambda _, *halves: halves[:2]
    )


def find_live(half):
    """The names of the operators that the results need or that write. The
    default partitioner leaves operators that draw random numbers in both
    halves, dead or not."""
    live = set()
    for node in reversed(half.graph.nodes):
        writes = (
            isinstance(node.target, torch._ops.OpOverload)
            and node.target._schema.is_mutable
        )
        if node.op == "output" or writes or node in live:
            live.add(node)
            live.update(node.all_input_nodes)
    return {node.name for node in live if node.op == "call_function"}


def get_skip_reason():
    if not torch.__version__.startswith("2.13."):
        return f"the reference is PyTorch 2.13, not {torch.__version__}"
    return None
