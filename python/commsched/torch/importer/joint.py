# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which outputs of a joint graph are the forward's."""

from __future__ import annotations

from typing import Any, Optional

import torch

from commsched.torch.importer.errors import GraphImportError
from commsched.torch.private.names import arg_tree_leaves


class JointOutputs:
    """The outputs of a joint graph.

    forward: those of the forward, in order; None if neither `given`, their
             number, nor AOT autograd's descriptions determine them.
    """

    def __init__(self, graph: torch.fx.Graph, given: Optional[int] = None):
        output = graph.output_node()
        outputs = arg_tree_leaves(*output.args)
        count = _described(output) if given is None else given
        if count is not None and not 0 <= count <= len(outputs):
            raise GraphImportError(
                f"{count} outputs are said to be the forward's, but the graph "
                f"has {len(outputs)}",
                output,
            )
        self.forward = None if count is None else outputs[:count]


def _described(output: torch.fx.Node) -> Optional[int]:
    """Returns how many outputs the descriptions count as the forward's; None
    if there are none."""
    descriptions = arg_tree_leaves(output.meta.get("desc") or ())
    if all(description is None for description in descriptions):
        return None
    count = len(descriptions)
    for index, description in enumerate(descriptions):
        if _is_backward(description):
            count = min(count, index)
        elif description is not None and count < index:
            raise GraphImportError(
                f"output {index} is the forward's, but output {count} before "
                "it is the backward's",
                output,
            )
    return count


def _is_backward(description: Any) -> bool:
    """Returns whether it describes a gradient, or what a backward gives back
    of its random state or its effects."""
    while hasattr(description, "base"):
        description = description.base
    return type(description).__name__.startswith(
        ("Grad", "PhiloxUpdatedBackward", "BackwardToken")
    )
