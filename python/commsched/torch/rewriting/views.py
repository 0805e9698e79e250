# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that show the memory of another."""

from __future__ import annotations

import operator

import torch
from torch import fx


def is_view(node: fx.Node) -> bool:
    """Returns whether `node` shows its first operand's storage."""
    target = node.target
    if target is operator.getitem:
        return is_view(node.args[0])
    return isinstance(target, torch._ops.OpOverload) and (
        target.is_view or target is torch.ops.aten._unsafe_view.default
    )
