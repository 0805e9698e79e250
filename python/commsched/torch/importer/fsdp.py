# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of the bucket copies of FSDP.

`fsdp::all_gather_copy_in`, `fsdp::split_with_sizes_copy` and `fsdp::chunk_cat`
write into buffers that they are given; the operations of the dialect allocate
their results. The importer uses the operations of the dialect only where the
buffer is a fresh allocation, so that both are equivalent, and where the shapes
are those that the dialect requires. Otherwise the copies become opaque
computations.
"""

from __future__ import annotations

from collections import deque
from typing import Optional

import torch

from commsched.torch.importer.targets import overload_of, schema_name

COPIES = {
    "fsdp::all_gather_copy_in": "all_gather_copy_in",
    "fsdp::chunk_cat": "chunk_cat",
    "fsdp::split_with_sizes_copy": "split_with_sizes_copy",
}

# How many nodes to look at for the collective that a copy belongs to.
_SEARCH_LIMIT = 64


def copy_kind(target) -> Optional[str]:
    """Returns the operation of the dialect that `target` resembles."""
    return COPIES.get(schema_name(overload_of(target)))


def collective_near(
    node: torch.fx.Node, is_collective, backwards: bool
) -> Optional[torch.fx.Node]:
    """Returns the nearest collective among those that use `node`, directly or
    through others, or among those that it uses."""
    queue = deque([node])
    seen = {node}
    while queue and len(seen) < _SEARCH_LIMIT:
        current = queue.popleft()
        if current is not node and is_collective(current):
            return current
        near = current.all_input_nodes if backwards else list(current.users)
        for other in near:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return None
