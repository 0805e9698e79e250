# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""States of random generators, among what a forward saves for its backward.

Where the backward computes a random operator again, PyTorch saves the state that the
generator had (2.13, 2.15: functionalize_rng_ops in torch/_functorch/partitioners.py).
It puts states behind objects such as device meshes, where AOT autograd expects no
tensors any more. Graphs whose parameters are DTensors have such objects.
"""

from __future__ import annotations

import functools
from itertools import takewhile

from torch import fx

from commsched.torch.private import names

_functionalize = names.functionalize_rng_ops


def functionalize(
    joint: fx.GraphModule,
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    numbers: int,
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Gives random operators that both halves run one state. The last `numbers`
    outputs of the forward are symbolic numbers."""
    objects = [node for node in _list_saved(backward) if names.is_opaque_node(node)]
    forward, backward = _functionalize(
        joint, forward, backward, numbers + len(objects)
    )
    for node in objects:
        _list_saved(backward)[-1].append(node)
    backward.recompile()
    return forward, backward


def _list_saved(backward: fx.GraphModule) -> list[fx.Node]:
    """What a backward gets of its forward."""
    inputs = backward.graph.find_nodes(op="placeholder")
    return list(takewhile(lambda node: not names.is_tangent(node), inputs))


@functools.cache
def put_before_objects() -> None:
    """Makes all compilers put states before objects."""
    if not names.missing("partition"):
        names.partitioners.functionalize_rng_ops = functionalize
