# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's transfers of activations between a device and its host.

The operators `ao::offload`, `ao::reload` and `ao::wait_tensor` copy on a
stream of their own into pinned memory. Tested with 2.13.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import fx

from commsched.torch.private import names


class Operators(NamedTuple):
    offload: Any
    reload: Any
    wait: Any


def operators() -> Optional[Operators]:
    """Returns the operators of transfers, or None if this PyTorch has none
    (2.13: torch._functorch._activation_offloading.offload_ops)."""
    if not names.has("offload_ops"):  # Importing it defines them.
        return None
    ao = torch.ops.ao
    return Operators(
        ao.offload.default, ao.reload.default, ao.wait_tensor.default
    )


def has_transfers(graph: fx.Graph) -> bool:
    """Returns whether values of `graph` can be sent to the host: some input
    lives on a device with streams, which a CPU has not."""
    return operators() is not None and any(
        is_on_accelerator(node.meta.get("val"))
        for node in graph.find_nodes(op="placeholder")
    )


def is_on_accelerator(value: Any) -> bool:
    """Returns whether `value` is a tensor on a device with streams."""
    return isinstance(value, torch.Tensor) and value.device.type not in (
        "cpu",
        "meta",
    )
